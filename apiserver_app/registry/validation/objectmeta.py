"""Validation of ObjectMeta for every kind: names, labels, owners, finalizers, immutability.

Runs before the strategy's own validation; a strategy provides only the `name_rule`. Nothing here
changes an object.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go and
pkg/apis/meta/v1/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver_app.apis import initializers
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import gosyntax

# (name, whether it is a prefix) -> messages
NameRule = Callable[[str, bool], list[str]]

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"
ANNOTATIONS_SIZE = 256 * 1024
FIELD_MANAGER_LENGTH = 128
SUBRESOURCE_LENGTH = 256
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_IMMUTABLE_FIELDS = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
# matches nearly every key; a key that does not match is validated in full
_is_plain_key = re.compile(
    r"(?:[a-z0-9]+(?:[-.][a-z0-9]+){0,20}/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
).fullmatch


def dns_subdomain(name: str, prefix: bool) -> list[str]:
    """The name rule of most kinds."""
    return names.dns1123_subdomain_errors(_masked(name) if prefix else name)


def dns_label(name: str, prefix: bool) -> list[str]:
    return names.dns1123_label_errors(_masked(name) if prefix else name)


def dns1035_label(name: str, prefix: bool) -> list[str]:
    return names.dns1035_label_errors(_masked(name) if prefix else name)


def path_segment(name: str, prefix: bool) -> list[str]:
    """The name rule of roles and bindings: any valid segment of a URL path."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{mark}'" for mark in ("/", "%") if mark in name]


def validate_object_meta(obj: Object, namespaced: bool, name_rule: NameRule) -> list[FieldError]:
    """Validates the metadata of a create, but for the words of finalizers."""
    metadata = obj["metadata"]
    errs = generate_name_errors(metadata.get("generateName") or "", name_rule)
    name = metadata.get("name")
    if not name:
        errs.append(errors.required("metadata.name", "name or generateName is required"))
    else:
        for text in name_rule(name, False):
            errs.append(errors.invalid_value("metadata.name", name, text))
    namespace = metadata.get("namespace")
    if namespaced:
        if not namespace:
            errs.append(errors.required("metadata.namespace"))
        else:
            for text in names.dns1123_label_errors(namespace):
                errs.append(errors.invalid_value("metadata.namespace", namespace, text))
    elif namespace:
        errs.append(errors.forbidden_value("metadata.namespace", "not allowed on this type"))
    fresh(metadata, errs)
    return errs


def generate_name_errors(prefix: str, name_rule: NameRule) -> list[FieldError]:
    """Validates what a name may be generated from."""
    return [
        errors.invalid_value("metadata.generateName", prefix, text)
        for text in (name_rule(prefix, True) if prefix else ())
    ]


def fresh(metadata: Mapping[str, Any], errs: list[FieldError]) -> None:
    """Validates what a new object's metadata has but names."""
    generation = metadata.get("generation")
    if generation and generation < 0:
        errs.append(errors.invalid_value("metadata.generation", generation, NOT_NEGATIVE))
    _common(metadata, errs)
    if metadata.get("initializers") is not None:
        initializers.validate(metadata["initializers"], errs)
    if metadata.get("finalizers"):
        _finalizers(metadata["finalizers"], errs)
    _managed_fields(metadata.get("managedFields") or (), errs)


def validate_object_meta_update(new: Object, old: Object) -> list[FieldError]:
    """Validates the metadata of an update; skips parts that are identical to the old ones."""
    after, before = new["metadata"], old["metadata"]
    errs: list[FieldError] = []
    _unchanged(after, before, errs)
    changed = {
        key: value
        for key, value in after.items()
        if value and key in _CHECKED and value != before.get(key)
    }
    if changed:
        fresh(changed, errs)
        finalizer_words(changed, errs)
    return errs


def changes(after: Mapping[str, Any], before: Mapping[str, Any], errs: list[FieldError]) -> None:
    """Validates all of the metadata of an update."""
    _unchanged(after, before, errs)
    _common(after, errs)
    _managed_fields(after.get("managedFields") or (), errs)


def _unchanged(after: Mapping[str, Any], before: Mapping[str, Any], errs: list[FieldError]) -> None:
    if before.get("deletionTimestamp"):
        _no_new_finalizers(after.get("finalizers") or (), before.get("finalizers") or (), errs)
    if not after.get("resourceVersion"):
        errs.append(
            errors.invalid_value("metadata.resourceVersion", "", "must be specified for an update")
        )
    generation = after.get("generation") or 0
    if generation < (before.get("generation") or 0):
        errs.append(
            errors.invalid_value("metadata.generation", generation, "must not be decremented")
        )
    if after.get("initializers") is not None:
        initializers.validate_change(after["initializers"], before.get("initializers"), errs)
    for field in _IMMUTABLE_FIELDS:
        value = after.get(field)
        if value != before.get(field):
            printed = value if value is not None else _zero(field)
            if printed and field.endswith("Timestamp"):
                printed = gosyntax.time(printed)
            errs.append(errors.invalid_value(f"metadata.{field}", printed, IMMUTABLE))


def label_errors(labels: Mapping[str, str], path: str, errs: list[FieldError]) -> None:
    """Validates keys and values; errors name the path of the map."""
    for key, value in labels.items():
        if errors.has_enough(errs):
            return
        if not _is_plain_key(key):
            for text in names.qualified_name_errors(key):
                errs.append(errors.invalid_value(path, key, text))
        for text in names.label_value_errors(value):
            errs.append(errors.invalid_value(path, value, text))


def annotation_errors(annotations: Mapping[str, str], path: str, errs: list[FieldError]) -> None:
    size = 0
    for key, value in annotations.items():
        if errors.has_enough(errs):
            return
        if not _is_plain_key(key):
            for text in names.qualified_name_errors(key.lower()):
                errs.append(errors.invalid_value(path, key, text))
        size += names.size(key) + names.size(value)
    if size > ANNOTATIONS_SIZE:
        errs.append(errors.too_long(path, "", ANNOTATIONS_SIZE))


def immutable(new: Any, old: Any, path: str, errs: list[FieldError], printed: Any = None) -> None:
    """`shown` is the new value as upstream prints it, where that is not the value itself."""
    if new is not old and new != old:
        errs.append(errors.invalid_value(path, new if printed is None else printed, IMMUTABLE))


# -- inside -------------------------------------------------------------------------------------

_CHECKED = {
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "initializers",
    "finalizers",
    "managedFields",
}


def _masked(name: str) -> str:
    """Masks a trailing dash, which a prefix may have."""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


def _zero(field: str) -> Any:
    return "" if field in ("name", "namespace", "uid") else None


def _common(metadata: Mapping[str, Any], errs: list[FieldError]) -> None:
    labels = metadata.get("labels")
    if labels:
        label_errors(labels, "metadata.labels", errs)
    annotations = metadata.get("annotations")
    if annotations:
        annotation_errors(annotations, "metadata.annotations", errs)
    owners = metadata.get("ownerReferences")
    if owners:
        _owners(owners, errs)


def _owners(owners: Sequence[Object], errs: list[FieldError]) -> None:
    controller, printed = "", errors.GoText()
    for owner in owners:
        if errors.has_enough(errs):
            return
        version = owner.get("apiVersion") or ""
        kind, name = owner.get("kind") or "", owner.get("name") or ""
        if not (version and kind and name and owner.get("uid")) or version.count("/") > 1:
            _owner(owner, errs)
        if version == "v1" and kind == "Event":
            errs.append(
                errors.invalid_value(
                    "metadata.ownerReferences",
                    gosyntax.owner_reference(owner),
                    "/v1, Kind=Event is disallowed from being an owner",
                )
            )
        if owner.get("controller"):
            if controller:
                printed = printed or gosyntax.owner_references(owners)
                errs.append(
                    errors.invalid_value(
                        "metadata.ownerReferences",
                        printed,
                        "Only one reference can have Controller set to true. Found "
                        f'"true" in references for {controller} and {kind}/{name}',
                    )
                )
            else:
                controller = f"{kind}/{name}"


def _owner(owner: Object, errs: list[FieldError]) -> None:
    path = "metadata.ownerReferences"
    version = owner.get("apiVersion") or ""
    _, slash, number = version.partition("/")
    if not version or "/" in number or (slash and not number):
        errs.append(
            errors.invalid_value(f"{path}.apiVersion", version, "version must not be empty")
        )
    for field in ("kind", "name", "uid"):
        if not owner.get(field):
            errs.append(errors.invalid_value(f"{path}.{field}", "", f"{field} must not be empty"))


def _finalizers(finalizers: Sequence[str], errs: list[FieldError]) -> None:
    for finalizer in finalizers:
        for text in names.qualified_name_errors(finalizer):
            errs.append(errors.invalid_value("metadata.finalizers", finalizer, text))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errs.append(
            errors.invalid_value(
                "metadata.finalizers",
                list(finalizers),
                "finalizer orphan and foregroundDeletion cannot be both set",
            )
        )


def finalizer_words(metadata: Mapping[str, Any], errs: list[FieldError]) -> None:
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            errs.append(
                errors.invalid_value(
                    f"metadata.finalizers[{index}]",
                    finalizer,
                    "name is neither a standard finalizer name nor is it fully qualified",
                )
            )


def _no_new_finalizers(after: Sequence[str], before: Sequence[str], errs: list[FieldError]) -> None:
    added = sorted(set(after) - set(before))
    if added:
        errs.append(
            errors.forbidden_value(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers {errors.go_value(added)}",
            )
        )


def _managed_fields(managed: Sequence[Object], errs: list[FieldError]) -> None:
    for index, entry in enumerate(managed):
        operation = entry.get("operation")
        if operation not in ("Apply", "Update"):
            errs.append(
                errors.invalid_value(
                    f"metadata.managedFields[{index}].operation",
                    operation or "",
                    "must be `Apply` or `Update`",
                )
            )
        fields_type = entry.get("fieldsType")
        if fields_type and fields_type != "FieldsV1":
            errs.append(
                errors.invalid_value(
                    f"metadata.managedFields[{index}].fieldsType", fields_type, "must be `FieldsV1`"
                )
            )
        manager = entry.get("manager") or ""
        if len(manager) > FIELD_MANAGER_LENGTH:
            path = f"metadata.managedFields[{index}].manager"
            errs.append(errors.too_long(path, manager, FIELD_MANAGER_LENGTH))
        if len(entry.get("subresource") or "") > SUBRESOURCE_LENGTH:
            path = f"metadata.managedFields[{index}].subresource"
            errs.append(errors.too_long(path, "", SUBRESOURCE_LENGTH))
