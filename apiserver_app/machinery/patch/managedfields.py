"""Maintains metadata.managedFields, the manager of every field, on every write.

`track` is for creates, updates and patches, `apply` for server-side apply. Sets of fields keep
their wire format. Arguments are never changed: an unchanged entry is the same object, and an
unchanged list is the same list.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/
{fieldmanager,managedfieldsupdater,stripmeta}.go and sigs.k8s.io/structured-merge-diff
merge/update.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.patch import managers, sententries, serverapply, typedvalues
from apiserver_app.machinery.patch.managers import UPDATE, Entries, Manager
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
    versions: Sequence[str] = (),
) -> Entries:
    """The managedFields of `new` after `manager` changed `old` (None for a create) into it.

    An update that changes no field leaves the entries as they are, and so does one of an object
    that has none. Of entries that were sent, those of other API versions than `versions` go."""
    before: Entries = old["metadata"].get("managedFields") or [] if old is not None else []
    sent = None if subresource else new.get("metadata", {}).get("managedFields")
    entries = before if sent is None else _read(sent, before)
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
    if entries is not before:
        entries = [entry for entry in entries if _counts(entry, versions)]
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


def _read(sent: Entries, before: Entries) -> Entries:
    """The entries that were sent, if they can be read; an empty list resets."""
    if sent == before:
        return before
    if not sent or sent == [{}]:
        return []
    try:
        return sententries.decoded(sent)
    except sententries.Unreadable:
        return before


def _counts(entry: Object, versions: Sequence[str]) -> bool:
    return bool(entry["fieldsV1"]) and (not versions or entry["apiVersion"] in versions)


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
