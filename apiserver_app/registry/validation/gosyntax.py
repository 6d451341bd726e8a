"""Values in Go's %#v syntax: up to 1.33 a field error prints a struct so."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver_app.machinery import errors
from apiserver_app.machinery.syntax import quantity as quantities

LOCAL, UTC = "time.Local", "time.UTC"
_ZERO = "0001-01-01T00:00:00Z"


def string_map(value: Mapping[str, str] | None) -> Any:
    """A map[string]string as a bad value; one that was left out is a nil map."""
    return errors.GoText("map[string]string(nil)") if value is None else dict(value)


def label_selector(value: Mapping[str, Any] | None) -> errors.GoText:
    """A *metav1.LabelSelector as a bad value."""
    if value is None:
        return errors.GoText('"null"')
    labels = errors.go_value(string_map(value.get("matchLabels")))
    expressions = value.get("matchExpressions")
    if not expressions:
        printed = "[]v1.LabelSelectorRequirement(nil)"
    else:
        printed = f"[]v1.LabelSelectorRequirement{{{', '.join(map(_requirement, expressions))}}}"
    return errors.GoText(f"v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{printed}}}")


def strings(value: Sequence[str] | None) -> Any:
    """A []string as a bad value."""
    return errors.GoText("[]string(nil)") if value is None else list(value)


def of_words(
    kind: str, value: Mapping[str, Any], fields: Sequence[tuple[str, str]]
) -> errors.GoText:
    """A struct of strings as a bad value; `fields` are pairs of Go's name and JSON's."""
    words = ", ".join(f"{go}:{errors.go_value(value.get(name) or '')}" for go, name in fields)
    return errors.GoText(f"{kind}{{{words}}}")


def object_meta(value: Mapping[str, Any], zone: str = LOCAL) -> errors.GoText:
    """A metav1.ObjectMeta that no server has stored, as a bad value.

    `zone` is that of the times of its managed fields, which are the server's in a review.
    """
    words = ", ".join(
        f"{go}:{errors.go_value(value.get(name) or '')}"
        for go, name in (
            ("Name", "name"),
            ("GenerateName", "generateName"),
            ("Namespace", "namespace"),
            ("SelfLink", "selfLink"),
            ("UID", "uid"),
            ("ResourceVersion", "resourceVersion"),
        )
    )
    owners = value.get("ownerReferences")
    printed = "[]v1.OwnerReference(nil)" if owners is None else owner_references(owners)
    fields = value.get("managedFields")
    managers = f"{{{', '.join(_manager(entry, zone) for entry in fields)}}}" if fields else "(nil)"
    created, deleted = value.get("creationTimestamp"), value.get("deletionTimestamp")
    return errors.GoText(
        f"v1.ObjectMeta{{{words}, Generation:{value.get('generation') or 0}, "
        f"CreationTimestamp:{_time(created, LOCAL) if created else _time(_ZERO, UTC)}, "
        f"DeletionTimestamp:{_time(deleted, LOCAL)}, DeletionGracePeriodSeconds:"
        f"{pointer('int64', value.get('deletionGracePeriodSeconds'))}, "
        f"Labels:{errors.go_value(string_map(value.get('labels')))}, "
        f"Annotations:{errors.go_value(string_map(value.get('annotations')))}, "
        f"OwnerReferences:{printed}, Finalizers:{errors.go_value(strings(value.get('finalizers')))}"
        f", ManagedFields:[]v1.ManagedFieldsEntry{managers}}}"
    )


def time(text: str) -> errors.GoText:
    """A *metav1.Time as a bad value."""
    return errors.GoText(f"{datetime.datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} +0000 UTC")


def _manager(entry: Mapping[str, Any] | None, zone: str) -> str:
    entry = entry or {}
    words = ("Manager", "manager"), ("Operation", "operation"), ("APIVersion", "apiVersion")
    known = ", ".join(f"{go}:{errors.go_value(entry.get(name) or '')}" for go, name in words)
    return (
        f"v1.ManagedFieldsEntry{{{known}, Time:{_time(entry.get('time'), zone)}, "
        f"FieldsType:{errors.go_value(entry.get('fieldsType') or '')}, "
        f"FieldsV1:{pointer('v1.FieldsV1', entry.get('fieldsV1'))}, "
        f"Subresource:{errors.go_value(entry.get('subresource') or '')}}}"
    )


def _time(text: str | None, zone: str) -> str:
    """A *metav1.Time: those of a request are in the local zone, the server's own in UTC."""
    if text is None:
        return "<nil>"
    moment = datetime.datetime.fromisoformat(text)
    return (
        f"time.Date({moment.year}, {moment:time.%B}, {moment.day}, {moment.hour}, "
        f"{moment.minute}, {moment.second}, 0, {zone})"
    )


def owner_reference(owner: Mapping[str, Any]) -> errors.GoText:
    fields = (("APIVersion", "apiVersion"), ("Kind", "kind"), ("Name", "name"), ("UID", "uid"))
    words = of_words("v1.OwnerReference", owner, fields).removesuffix("}")
    return errors.GoText(
        f"{words}, Controller:{pointer('bool', owner.get('controller'))}, "
        f"BlockOwnerDeletion:{pointer('bool', owner.get('blockOwnerDeletion'))}}}"
    )


def owner_references(owners: Sequence[Mapping[str, Any]]) -> errors.GoText:
    return errors.GoText(f"[]v1.OwnerReference{{{', '.join(map(owner_reference, owners))}}}")


def raw_extension(value: Any) -> errors.GoText:
    """A runtime.RawExtension as a bad value."""
    raw = "[]uint8(nil)"
    if value is not None:
        raw = f"[]uint8{{{', '.join(f'0x{byte:x}' for byte in orjson.dumps(value))}}}"
    return errors.GoText(f"runtime.RawExtension{{Raw:{raw}, Object:runtime.Object(nil)}}")


def quantity(value: Any) -> errors.GoText:
    """A resource.Quantity as a bad value: its Go struct."""
    amount = quantities.parse(quantities.canonical(value))
    number, scale, decimal = amount.value, amount.scale, "nil"
    if amount.is_decimal:
        number, scale, decimal = 0, 0, "0xc000000000"
    return errors.GoText(
        f"resource.Quantity{{i:resource.int64Amount{{value:{number}, scale:{scale}}}, "
        f"d:resource.infDecAmount{{Dec:(*inf.Dec)({decimal})}}, "
        f's:"{amount.text}", Format:"{amount.format}"}}'
    )


def pointer(text: str, value: Any) -> str:
    """A pointer field inside a struct: Go prints its address, and there are no addresses here."""
    return f"(*{text})(nil)" if value is None else f"(*{text})(0xc000000000)"


def pointers(kind: str, fields: Sequence[tuple[str, str, Any]]) -> errors.GoStruct:
    """A struct of pointers as a bad value; `fields` are Go's names, types and the values."""
    words = ", ".join(f"{name}:{pointer(type_, value)}" for name, type_, value in fields)
    return errors.GoStruct(f"{kind}{{{words}}}", {name: value for name, _, value in fields})


def _requirement(value: Mapping[str, Any]) -> str:
    key, operator = (errors.go_value(value.get(name) or "") for name in ("key", "operator"))
    values = errors.go_value(strings(value.get("values")))
    return f"v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"
