"""What a claim's volume is filled from: `dataSource`, the old field, and `dataSourceRef`.

Both are kept equal; what the old one never could name is dropped from it.

Models kubernetes pkg/api/persistentvolumeclaim/util.go and
pkg/apis/core/validation/validation.go (validateDataSource, validateDataSourceRef).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks

CLAIM = "PersistentVolumeClaim"
_OLD_KINDS = (("", CLAIM), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_PARTS = ("apiGroup", "kind", "name")


def prepare(spec: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Make the two fields one. `before` is empty on creation."""
    reference = spec.get("dataSourceRef")
    # sources of other namespaces are behind a gate that is off
    if reference and reference.get("namespace") and before.get("dataSourceRef") is None:
        reference = spec.pop("dataSourceRef") and None
    source = spec.get("dataSource")
    if reference is None and source is not None and _is_new(before):
        if (source.get("apiGroup") or "", source.get("kind")) not in _OLD_KINDS:
            source = spec.pop("dataSource") and None
    if source is not None and reference is None:
        spec["dataSourceRef"] = {part: source[part] for part in _PARTS if part in source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {part: reference[part] for part in _PARTS if part in reference}


def validate(
    spec: Mapping[str, Any], path: str, errs: list[FieldError], before: Mapping[str, Any] = {}
) -> None:
    """A group that was there before is not looked at again."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    known = any(
        (before.get(field) or {}).get("apiGroup") is not None
        for field in ("dataSource", "dataSourceRef")
    )
    for field, value in (("dataSource", source), ("dataSourceRef", reference)):
        if value is not None:
            _validate(value, f"{path}.{field}", known, errs)
    namespace = (reference or {}).get("namespace")
    if namespace:
        at = f"{path}.dataSourceRef.namespace"
        checks.named(namespace, at, names.dns1123_label_errors, errs)
    if source is None or reference is None:
        return
    printed = errors.GoText(f"{path}.dataSource")  # a path prints itself
    if namespace:
        text = "may not be specified when dataSourceRef.namespace is specified"
        errs.append(errors.invalid_value(path, printed, text))
    elif any(source.get(part) != reference.get(part) for part in _PARTS):
        errs.append(errors.invalid_value(path, printed, "must match dataSourceRef"))


# -- inside -------------------------------------------------------------------------------------


def _is_new(before: Mapping[str, Any]) -> bool:
    return before.get("dataSource") is None and before.get("dataSourceRef") is None


def _validate(value: Mapping[str, Any], path: str, known: bool, errs: list[FieldError]) -> None:
    for part in ("name", "kind"):
        if not value.get(part):
            errs.append(errors.required(f"{path}.{part}"))
    group, kind = value.get("apiGroup") or "", value.get("kind") or ""
    if not group and kind != CLAIM:
        text = f"must be '{CLAIM}' when referencing the default apiGroup"
        errs.append(errors.invalid_value(path, kind, text))
    if group and not known:
        checks.named(group, f"{path}.apiGroup", names.dns1123_subdomain_errors, errs)
