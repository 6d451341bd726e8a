"""metadata.managedFields: who set which field, kept on every write.

`track` is for creates, updates and patches, `apply` for server-side apply. Sets of fields stay in
the form they have on the wire. Nothing given is changed: an entry that stays the same is the same
object, and when nothing changed so is the whole list.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/
{fieldmanager,managedfieldsupdater,capmanagers,managedfields}.go and
sigs.k8s.io/structured-merge-diff merge/update.go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from apiserver_app.machinery import fieldsets, fieldshapes, serverapply
from apiserver_app.machinery.fieldsets import Trie
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types_schema import Schema

UPDATE, APPLY = "Update", "Apply"
UPDATE_MANAGERS_MAX = 10
ANCIENT = "ancient-changes"

Entries = list[Object]


def track(
    old: Object | None,
    new: Object,
    *,
    manager: str,
    operation: str = UPDATE,
    api_version: str,
    time: str,
    subresource: str = "",
    schema: Schema,
) -> Entries:
    """The managedFields of `new` once `manager` made it of `old` (None for a create).

    An update that changes no field leaves the entries as they are, and so does one of an object
    that has none."""
    entries = _before(old, new, subresource)
    shapes = fieldshapes.of(schema)
    skip = reset_field(schema, subresource)
    changed: Trie | None
    removed: Trie | None
    if old is None:
        changed, removed = shapes.created(new, skip), None
    elif not entries:
        return entries
    else:
        changed, removed = shapes.compare(old, new, skip)
    if changed is None and removed is None:
        return entries
    me = _Manager(manager or "unknown", operation, api_version, subresource)
    return _updated(entries, me, time, changed, removed)


def apply(
    old: Object | None,
    body: Object,
    *,
    manager: str,
    force: bool,
    subresource: str = "",
    now: str,
    schema: Schema,
) -> Object:
    """The object that a server-side apply makes of `old` (None for a create), with its entries;
    not yet decoded. Raises 409 with every conflict, 400 or 500 for what cannot be applied."""
    return serverapply.apply(
        old, body, manager=manager, force=force, subresource=subresource, now=now, schema=schema
    )


def reset_field(schema: Schema, subresource: str) -> str:
    """The field that an endpoint never changes: status for the object, spec for its status."""
    if subresource == "status":
        return "spec"
    return "status" if not subresource and "status" in schema.fields else ""


class _Manager(NamedTuple):
    """What tells one entry from another."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def owns(self, entry: Object) -> bool:
        return bool(
            entry.get("manager", "") == self.name
            and entry.get("operation") == self.operation
            and entry.get("subresource", "") == self.subresource
            and entry.get("apiVersion") == self.api_version
        )

    def entry(self, time: str, fields: Trie) -> Object:
        out: Object = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        if self.subresource:
            out["subresource"] = self.subresource
        return out


def _before(old: Object | None, new: Object, subresource: str) -> Entries:
    """The entries to go on from: the new object's, else the old one's; an empty list resets."""
    before: Entries = (old or {}).get("metadata", {}).get("managedFields") or []
    if subresource:
        return before
    given = new.get("metadata", {}).get("managedFields")
    if given is None or given is before:
        return before
    if not given or given == [{}]:
        return []
    return given if all(map(_is_valid, given)) else before


def _is_valid(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("operation") in (UPDATE, APPLY)
        and bool(entry.get("apiVersion"))
        and entry.get("fieldsType") == "FieldsV1"
        and isinstance(entry.get("fieldsV1") or {}, dict)
    )


def _updated(
    entries: Entries, me: _Manager, time: str, changed: Trie | None, removed: Trie | None
) -> Entries:
    """Changed fields go to their changer, removed ones to nobody."""
    out: Entries = []
    mine: Object | None = None
    updaters = 1
    for entry in entries:
        if mine is None and me.owns(entry):
            mine = entry
            continue
        fields = entry.get("fieldsV1") or None
        left = fieldsets.subtract(fieldsets.subtract(fields, changed), removed)
        if left is fields:
            out.append(entry)
        elif left is not None:
            out.append({**entry, "fieldsV1": left})
        updaters += entry["operation"] == UPDATE
    fields = (mine.get("fieldsV1") or None) if mine is not None else None
    total = fieldsets.union(fieldsets.subtract(fields, removed), changed)
    if total is not None:
        if changed is None and mine is not None:
            out.append(mine if total is fields else {**mine, "fieldsV1": total})
        else:
            out.append(me.entry(time, total))
    if updaters > UPDATE_MANAGERS_MAX:
        out = capped(out)
    if len(out) > 1:
        out.sort(key=order)
    return out


def order(entry: Object) -> tuple[str, str, str, str, str]:
    """Applies first, then by time, then by name."""
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def capped(entries: Entries) -> Entries:
    """No more than ten updaters: the oldest of one API version are merged into one entry."""
    updaters = sorted((entry for entry in entries if entry["operation"] == UPDATE), key=order)
    excess = len(updaters) - UPDATE_MANAGERS_MAX
    if excess <= 0:
        return entries
    buckets: dict[str, Object] = {}
    first: dict[str, Object] = {}
    gone: list[int] = []
    for entry in updaters:
        if excess <= 0:
            break
        version = entry["apiVersion"]
        if version not in first:
            first[version] = entry
            continue
        before = buckets.get(version) or first[version]
        bucket = _Manager(ANCIENT, UPDATE, version, "")
        fields = fieldsets.union(entry.get("fieldsV1") or None, before.get("fieldsV1") or None)
        gone += [id(entry), id(first[version])]
        buckets[version] = bucket.entry(entry.get("time", ""), fields or {})
        excess -= 1
    kept = [entry for entry in entries if id(entry) not in gone]
    return kept + list(buckets.values())
