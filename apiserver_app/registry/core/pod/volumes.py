"""Validation of a pod's volumes, one type of source each.

Returns the volumes by name, against which mounts are checked.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateVolumes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core import persistentvolumeclaim, resources, volumesources
from apiserver_app.registry.validation import checks

Source = Mapping[str, Any]
Volumes = dict[str, Source]

_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_ORDER = """
emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker
persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc flexVolume configMap azureFile
vsphereVolume photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi
ephemeral image
""".split()  # upstream's order of checking sources
_AS_SECOND = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}  # upstream's names for a second one
_VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)


def validate(
    volumes: Sequence[Source], pod_name: str, path: str, is_pod: bool, errs: list[FieldError]
) -> Volumes:
    """`pod_name` is empty for templates."""
    good: Volumes = {}
    created = {
        f"{pod_name}-{volume.get('name')}"
        for volume in volumes
        if pod_name and volume.get("ephemeral") is not None
    }
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        before = len(errs)
        name = volume.get("name") or ""
        _source(volume, name, pod_name, at, is_pod, errs)
        checks.label_name(name, f"{at}.name", errs)
        if name in good:
            errs.append(errors.duplicate(f"{at}.name", name))
        if len(errs) == before:
            good[name] = volume
        claim = volume.get("persistentVolumeClaim")
        if created and claim is not None and claim.get("claimName") in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errs.append(
                errors.invalid_value(
                    f"{at}.persistentVolumeClaim.claimName", claim["claimName"], text
                )
            )
    return good


def object_field(
    reference: Source, allowed: Sequence[str], path: str, errs: list[FieldError]
) -> None:
    """Validates a fieldRef, which puts a field of the pod into a variable or a file."""
    if not reference.get("apiVersion"):
        errs.append(errors.required(f"{path}.apiVersion"))
        return
    field = reference.get("fieldPath") or ""
    if not field:
        errs.append(errors.required(f"{path}.fieldPath"))
        return
    if reference["apiVersion"] != "v1":
        text = f"error converting fieldPath: unsupported pod version: {reference['apiVersion']}"
        errs.append(errors.invalid_value(f"{path}.fieldPath", field, text))
        return
    name, bracket, key = field.partition("['")
    if bracket and key.endswith("']"):
        key = key[:-2]
        if name == "metadata.annotations":
            checks.named(key.lower(), path, names.qualified_name_errors, errs)
        elif name == "metadata.labels":
            checks.named(key, path, names.qualified_name_errors, errs)
        else:
            errs.append(errors.invalid_value(path, name, "does not support subscript"))
    elif field not in _KNOWN_FIELDS:
        text = f"error converting fieldPath: field label not supported: {field}"
        errs.append(errors.invalid_value(f"{path}.fieldPath", field, text))
    elif field not in allowed:
        errs.append(errors.not_supported(f"{path}.fieldPath", field, allowed))


def resource_field(reference: Source, path: str, volume: bool, errs: list[FieldError]) -> None:
    """Validates a resourceFieldRef, which puts a limit or request into a variable or a file."""
    name = reference.get("resource") or ""
    if volume and not reference.get("containerName"):
        errs.append(errors.required(f"{path}.containerName"))
    elif not name:
        errs.append(errors.required(f"{path}.resource"))
    elif name not in _RESOURCE_FIELDS and "s.hugepages-" not in name:
        errs.append(errors.not_supported(f"{path}.resource", name, _RESOURCE_FIELDS))
    divisor = resources.canonical(reference.get("divisor") or "0")
    if divisor == "0":
        return
    kind = name.partition(".")[2]
    if kind == "cpu" and divisor not in ("1", "1m"):
        text = "only divisor's values 1m and 1 are supported with the cpu resource"
        errs.append(errors.invalid_value(f"{path}.divisor", name, text))
    words = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    word = "hugepages" if kind.startswith("hugepages-") else words.get(kind)
    if word and divisor not in _DIVISORS:
        allowed = ", ".join(_DIVISORS)
        text = f"only divisor's values {allowed} are supported with the {word} resource"
        errs.append(errors.invalid_value(f"{path}.divisor", name, text))


# -- inside -------------------------------------------------------------------------------------

_KNOWN_FIELDS = {
    *_VOLUME_FIELDS,
    *"spec.nodeName spec.restartPolicy spec.serviceAccountName spec.schedulerName".split(),
    *"spec.hostNetwork spec.host status.phase status.hostIP status.hostIPs".split(),
    *"status.podIP status.podIPs".split(),
}
_RESOURCE_FIELDS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def _source(
    volume: Source, name: str, pod_name: str, path: str, is_pod: bool, errs: list[FieldError]
) -> None:
    kinds = [kind for kind in volume if kind != "name" and volume[kind] is not None]
    if not kinds:
        errs.append(errors.required(path, "must specify a volume type"))
        return
    if len(kinds) > 1:
        kinds.sort(key=lambda kind: _PLACE.get(kind, len(_PLACE)))
    kind = kinds[0]
    source = volume[kind]
    check = _CHECKS.get(kind)
    if check is not None:
        check(source, f"{path}.{kind}", errs)
    else:
        volumesources.check(kind, source, path, errs)
    if kind == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        for text in names.dns1123_subdomain_errors(claim):
            text = f'PVC name "{claim}": {text}'
            errs.append(errors.invalid_value(f"{path}.name", name, text))
    if kind == "image" and is_pod and not source.get("reference"):
        errs.append(errors.required(f"{path}.image.reference"))
    for kind in kinds[1:]:
        text = "may not specify more than 1 volume type"
        errs.append(errors.forbidden_value(f"{path}.{_AS_SECOND.get(kind, kind)}", text))


_PLACE = {kind: place for place, kind in enumerate(_ORDER)}


def _empty_dir(source: Source, path: str, errs: list[FieldError]) -> None:
    if source.get("sizeLimit") is not None and resources.nano(source["sizeLimit"]) < 0:
        text = "SizeLimit field must be a valid resource quantity"
        errs.append(errors.forbidden_value(f"{path}.sizeLimit", text))


def _secret(source: Source, path: str, errs: list[FieldError]) -> None:
    if not source.get("secretName"):
        errs.append(errors.required(f"{path}.secretName"))
    _files(source, path, errs)


def _config_map(source: Source, path: str, errs: list[FieldError]) -> None:
    if not source.get("name"):
        errs.append(errors.required(f"{path}.name"))
    _files(source, path, errs)


def _files(source: Source, path: str, errs: list[FieldError]) -> None:
    _file_mode(source.get("defaultMode"), f"{path}.defaultMode", errs)
    for index, item in enumerate(source.get("items") or ()):
        _key_to_path(item, f"{path}.items[{index}]", errs)


def _file_mode(mode: int | None, path: str, errs: list[FieldError]) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        errs.append(errors.invalid_value(path, mode, _MODE))


def _key_to_path(item: Source, path: str, errs: list[FieldError]) -> None:
    if not item.get("key"):
        errs.append(errors.required(f"{path}.key"))
    if not item.get("path"):
        errs.append(errors.required(f"{path}.path"))
    checks.local_unreserved_path(item.get("path") or "", f"{path}.path", errs)
    _file_mode(item.get("mode"), f"{path}.mode", errs)


def _claim(source: Source, path: str, errs: list[FieldError]) -> None:
    if not source.get("claimName"):
        errs.append(errors.required(f"{path}.claimName"))


def _downward(source: Source, path: str, errs: list[FieldError]) -> None:
    _file_mode(source.get("defaultMode"), f"{path}.defaultMode", errs)
    for item in source.get("items") or ():
        _downward_file(item, path, errs)


def _downward_file(item: Source, path: str, errs: list[FieldError]) -> None:
    if not item.get("path"):
        errs.append(errors.required(f"{path}.path"))
    checks.local_unreserved_path(item.get("path") or "", f"{path}.path", errs)
    field, amount = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        object_field(field, _VOLUME_FIELDS, f"{path}.fieldRef", errs)
        if amount is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errs.append(errors.invalid_value(path, "resource", text))
    elif amount is not None:
        resource_field(amount, f"{path}.resourceFieldRef", True, errs)
    else:
        text = "one of fieldRef and resourceFieldRef is required"
        errs.append(errors.required(path, text))
    _file_mode(item.get("mode"), f"{path}.mode", errs)


def _projected(source: Source, path: str, errs: list[FieldError]) -> None:
    _file_mode(source.get("defaultMode"), f"{path}.defaultMode", errs)
    taken: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        kinds = [kind for kind, value in projection.items() if value is not None]
        for kind in kinds:
            value = projection[kind]
            if kind in ("secret", "configMap"):
                if not value.get("name"):
                    errs.append(errors.required(f"{at}.{kind}.name"))
                for position, item in enumerate(value.get("items") or ()):
                    _key_to_path(item, f"{at}.{kind}.items[{position}]", errs)
                    _take(item.get("path"), value.get("name"), taken, path, errs)
            elif kind == "downwardAPI":
                for item in value.get("items") or ():
                    _downward_file(item, f"{at}.downwardAPI", errs)
                    _take(item.get("path"), item.get("path"), taken, path, errs)
            elif kind == "serviceAccountToken":
                _token(value, f"{at}.serviceAccountToken", path, errs)
        if len(kinds) > 1:
            text = "may not specify more than 1 volume type per source"
            errs.append(errors.forbidden_value(at, text))


def _ephemeral(source: Source, path: str, errs: list[FieldError]) -> None:
    template, at = source.get("volumeClaimTemplate"), f"{path}.volumeClaimTemplate"
    if template is None:
        errs.append(errors.required(at))
    else:
        persistentvolumeclaim.validate_template(template, at, errs)


def _take(
    name: str | None, printed: Any, taken: set[str], path: str, errs: list[FieldError]
) -> None:
    if not name:
        return
    if name in taken:
        errs.append(errors.invalid_value(path, printed, "conflicting duplicate paths"))
    taken.add(name)


def _token(source: Source, path: str, volume_path: str, errs: list[FieldError]) -> None:
    seconds = source.get("expirationSeconds") or 0
    if seconds < 600:
        text = "may not specify a duration less than 10 minutes"
        errs.append(errors.invalid_value(f"{path}.expirationSeconds", seconds, text))
    if seconds > 1 << 32:
        text = "may not specify a duration larger than 2^32 seconds"
        errs.append(errors.invalid_value(f"{path}.expirationSeconds", seconds, text))
    if not source.get("path"):
        errs.append(errors.required(f"{volume_path}.path"))
    else:
        checks.local_unreserved_path(source["path"], f"{volume_path}.path", errs)


_CHECKS: dict[str, Callable[[Source, str, list[FieldError]], None]] = {
    "emptyDir": _empty_dir,
    "secret": _secret,
    "configMap": _config_map,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward,
    "projected": _projected,
    "ephemeral": _ephemeral,
}
