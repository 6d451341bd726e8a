"""Maintains metadata.managedFields, the manager of every field, on every write.

`track` is for creates, updates and patches, `apply` for server-side apply. Sets of fields keep
their wire format. Arguments are never changed: an unchanged entry is the same object, and an
unchanged list is the same list.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/
{fieldmanager,managedfieldsupdater,stripmeta}.go and sigs.k8s.io/structured-merge-diff
merge/update.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.patch import managers, serverapply, typedvalues
from apiserver_app.machinery.patch.managers import APPLY, UPDATE, Entries, Manager
from apiserver_app.machinery.types import fieldsets, fieldshapes
from apiserver_app.machinery.types.fieldsets import Trie
from apiserver_app.machinery.types.schema import Schema


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
    """The managedFields of `new` after `manager` changed `old` (None for a create) into it.

    An update that changes no field leaves the entries as they are, and so does one of an object
    that has none."""
    entries = _before(old, new, subresource)
    shapes = fieldshapes.of(schema)
    skip = managers.reset_fields(schema, subresource)
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
    me = Manager(manager or "unknown", operation, api_version, subresource)
    return _updated(entries, me, time, changed, removed)


def fits(schema: Schema, new: Object, old: Object | None) -> bool:
    """Whether undecoded objects match the schema; only then can their fields be tracked."""
    root = typedvalues.root(schema)
    problems = typedvalues.findings(root, new)
    return not problems and (old is None or not typedvalues.findings(root, old))


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
    """The result of a server-side apply to `old` (None for a create), with its managedFields; not
    yet decoded. Raises 409 with all conflicts, 400 or 500 if it cannot be applied."""
    return serverapply.apply(
        old, body, manager=manager, force=force, subresource=subresource, now=now, schema=schema
    )


def _before(old: Object | None, new: Object, subresource: str) -> Entries:
    """The entries to start from: the new object's, else the old one's; an empty list resets."""
    before: Entries = old["metadata"].get("managedFields") or [] if old is not None else []
    if subresource:
        return before
    sent = new.get("metadata", {}).get("managedFields")
    if sent is None or sent is before:
        return before
    if not sent or sent == [{}]:
        return []
    valid: Entries = before if finding(sent) else sent
    return valid


def finding(entries: Any) -> str:
    """The error of entries that a client sent; empty if they are valid."""
    for index, entry in enumerate(entries or ()):
        if entry.get("operation") not in (UPDATE, APPLY):
            return "operation must be `Apply` or `Update`"
        if not entry.get("apiVersion"):
            return "apiVersion must not be empty"
        kind = entry.get("fieldsType", "")
        if not kind:
            return f"missing fieldsType in managed fields entry {index}"
        if kind != "FieldsV1":
            return f'invalid fieldsType "{kind}" in managed fields entry {index}'
    return ""


def _updated(
    entries: Entries, me: Manager, time: str, changed: Trie | None, removed: Trie | None
) -> Entries:
    """Assigns changed fields to `me` and removes removed fields from all managers."""
    out: Entries = []
    mine: Object | None = None
    updaters = 1
    for entry in entries:
        if mine is None and me.owns(entry):
            mine = entry
            continue
        fields = entry.get("fieldsV1") or None
        remaining = fieldsets.subtract(fieldsets.subtract(fields, changed), removed)
        if remaining is fields:
            out.append(entry)
        elif remaining is not None:
            out.append({**entry, "fieldsV1": remaining})
        updaters += entry["operation"] == UPDATE
    fields = (mine.get("fieldsV1") or None) if mine is not None else None
    total = fieldsets.union(fieldsets.subtract(fields, removed), changed)
    if total is not None:
        if changed is None and mine is not None:
            out.append(mine if total is fields else {**mine, "fieldsV1": total})
        else:
            out.append(me.entry(time, total))
    if updaters > managers.UPDATE_MANAGERS_MAX:
        out = managers.capped(out)
    if len(out) > 1:
        out.sort(key=managers.order)
    return out
