"""Validation of the variables of a container: their names, and where their values come from.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom,
validateFileKeyRefVolumes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core.pod import volumes as podvolumes
from apiserver_app.registry.validation import checks

Source = Mapping[str, Any]

_ENV_FIELDS = tuple(
    """
    metadata.name metadata.namespace metadata.uid spec.nodeName spec.serviceAccountName
    status.hostIP status.hostIPs status.podIP status.podIPs
    """.split()
)


def validate(
    variables: Sequence[Source], path: str, release: Release, errs: list[FieldError]
) -> None:
    for index, variable in enumerate(variables):
        name = variable.get("name") or ""
        if not name:
            errs.append(errors.required(f"{path}[{index}].name"))
        else:
            checks.named(name, f"{path}[{index}].name", checks.env_name_errors, errs)
        source = variable.get("valueFrom")
        if source is not None:
            _value_from(source, variable, f"{path}[{index}].valueFrom", release, errs)


def _value_from(
    source: Source, variable: Source, path: str, release: Release, errs: list[FieldError]
) -> None:
    count = 0
    if source.get("fieldRef") is not None:
        count += 1
        podvolumes.object_field(source["fieldRef"], _ENV_FIELDS, f"{path}.fieldRef", errs)
    if source.get("resourceFieldRef") is not None:
        count += 1
        at = f"{path}.resourceFieldRef"
        podvolumes.resource_field(source["resourceFieldRef"], at, False, errs)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        reference = source.get(kind)
        if reference is None:
            continue
        count += 1
        name, key = reference.get("name") or "", reference.get("key") or ""
        checks.named(name, f"{path}.{kind}.name", names.dns1123_subdomain_errors, errs)
        if not key:
            errs.append(errors.required(f"{path}.{kind}.key"))
        else:
            checks.named(key, f"{path}.{kind}.key", checks.config_key_errors, errs)
    if source.get("fileKeyRef") is not None:
        count += 1
        _file_key(source["fileKeyRef"], f"{path}.fileKeyRef", errs)
    if count == 0:
        last = (
            ", `secretKeyRef` or `fileKeyRef`" if release.has("EnvFiles") else " or `secretKeyRef`"
        )
        text = f"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`{last}"
        errs.append(errors.invalid_value(path, "", text))
    elif variable.get("value"):
        text = "may not be specified when `value` is not empty"
        errs.append(errors.invalid_value(path, "", text))
    elif count > 1:
        text = "may not have more than one field specified at a time"
        errs.append(errors.invalid_value(path, "", text))


def from_whole(sources: Sequence[Source], path: str, errs: list[FieldError]) -> None:
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if source.get("prefix"):
            checks.named(source["prefix"], f"{at}.prefix", checks.env_name_errors, errs)
        count = 0
        for kind in ("configMapRef", "secretRef"):
            reference = source.get(kind)
            if reference is None:
                continue
            count += 1
            name = reference.get("name") or ""
            if not name:
                errs.append(errors.required(f"{at}.{kind}.name"))
            else:
                checks.named(name, f"{at}.{kind}.name", names.dns1123_subdomain_errors, errs)
        if count == 0:
            text = "must specify one of: `configMapRef` or `secretRef`"
            errs.append(errors.invalid_value(path, "", text))
        elif count > 1:
            text = "may not have more than one field specified at a time"
            errs.append(errors.invalid_value(path, "", text))


def file_volumes(spec: Source, path: str, errs: list[FieldError]) -> None:
    """A variable is read of a file in an empty directory only."""
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            for position, variable in enumerate(container.get("env") or ()):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if reference is None:
                    continue
                name = reference.get("volumeName") or ""
                at = f"{path}.{group}[{index}].env[{position}].valueFrom.fileKeyRef.volumeName"
                volumes = [
                    volume for volume in spec.get("volumes") or () if volume.get("name") == name
                ]
                if not volumes:
                    errs.append(errors.not_found_value(at, name))
                elif volumes[-1].get("emptyDir") is None:
                    text = "referenced volume must be of type emptyDir"
                    errs.append(errors.invalid_value(at, name, text))


def _file_key(reference: Source, path: str, errs: list[FieldError]) -> None:
    for field, rule in (
        ("key", checks.env_name_errors),
        ("volumeName", names.dns1123_label_errors),
    ):
        value, at = reference.get(field) or "", f"{path}.{field}"
        if not value:
            errs.append(errors.required(at))
        else:
            checks.named(value, at, rule, errs)
    where = reference.get("path") or ""
    if not where:
        errs.append(errors.required(f"{path}.path"))
    else:
        checks.no_backsteps(where, f"{path}.path", errs)
