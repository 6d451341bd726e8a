"""Server-side apply: an applier owns the fields it sends; fields it no longer sends are removed.

Changing a field of another manager is a conflict, unless forced. The result is not yet decoded or
defaulted. Arguments are never changed. Managers of different API versions of a kind are compared
field by field, without conversion.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/
{structuredmerge,lastappliedmanager,lastappliedupdater,skipnonapplied,conflict}.go and
sigs.k8s.io/structured-merge-diff merge/{update,conflict}.go.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.patch import managers, typedvalues
from apiserver_app.machinery.patch.managers import APPLY, UPDATE, Entries
from apiserver_app.machinery.types import fieldsets, fieldshapes
from apiserver_app.machinery.types.fieldsets import LEAF, Trie
from apiserver_app.machinery.types.schema import Field, Schema

KUBECTL = "kubectl"
BEFORE_FIRST_APPLY = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_STRIPPED: Trie = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {
        fieldsets.SELF: LEAF,
        **{fieldsets.field_element(name): LEAF for name in sorted(fieldshapes.METADATA)},
    },
}


class _Conflict(NamedTuple):
    entry: Object
    path: tuple[str, ...]


class _Conflicts(Exception):
    def __init__(self, conflicts: list[_Conflict]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


class _Applier(NamedTuple):
    """The manager, the applied object and its type."""

    body: Object
    manager: str
    subresource: str
    now: str
    schema: Schema
    type: Field
    skip: tuple[str, ...]

    def owns(self, entry: Object) -> bool:
        return bool(
            entry["operation"] == APPLY
            and entry.get("manager", "") == self.manager
            and entry.get("subresource", "") == self.subresource
        )


def apply(
    old: Object | None,
    body: Object,
    *,
    manager: str,
    force: bool,
    subresource: str,
    now: str,
    schema: Schema,
) -> Object:
    """The resulting object with its managedFields. Raises 409 with all conflicts, 400 or 500."""
    skip = managers.reset_fields(schema, subresource)
    me = _Applier(body, manager, subresource, now, schema, typedvalues.root(schema), skip)
    _check(me, old)
    live, entries = _live(me, old)
    try:
        new, entries = _apply(me, live, entries, force)
    except _Conflicts as error:
        conflicts = error.conflicts
        if manager != KUBECTL or (allowed := _allowed(me, live)) is None:
            raise _refusal(conflicts) from None
        not_allowed = [
            conflict for conflict in conflicts if not fieldsets.has(allowed, conflict.path)
        ]
        if not_allowed:
            raise _refusal(not_allowed) from None
        new, entries = _apply(me, live, entries, True)
    metadata = dict(new.get("metadata") or {})
    if manager == KUBECTL and (metadata.get("annotations") or {}).get(LAST_APPLIED):
        metadata["annotations"] = {**metadata["annotations"], LAST_APPLIED: _last_applied(body)}
    if entries:
        metadata["managedFields"] = entries
    return {**new, "metadata": metadata}


def _check(me: _Applier, old: Object | None) -> None:
    body = me.body
    metadata = body.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    group_version, kind = body.get("apiVersion", ""), body.get("kind", "")
    shown = f"{group_version}, Kind={kind}"
    if "/" not in str(group_version):
        shown = f"/{shown}"
    if old is not None:
        wanted = old.get("apiVersion", group_version), old.get("kind", kind)
        if (group_version, kind) != wanted:
            raise errors.bad_request(f"invalid object type: {shown}")
    if _are_entries(me.type, named.get("managedFields")):
        raise errors.bad_request("metadata.managedFields must be nil")
    problems = typedvalues.findings(me.type, body)
    if problems:
        space, name = (
            value if isinstance(value, str) else ""
            for value in (named.get("namespace"), named.get("name"))
        )
        place = f"{space}/{name}; {shown}"
        message = f"failed to create typed patch object ({place}): {_listed(problems)}"
        raise errors.unclassified(message)


def _are_entries(root: Any, sent: Any) -> bool:
    """Whether managedFields were sent that can be read as such."""
    managed = {"metadata": {"managedFields": sent}}
    return isinstance(sent, list) and not typedvalues.findings(root, managed)


def _listed(problems: list[str]) -> str:
    return (
        problems[0] if len(problems) == 1 else "\n".join(["errors:", *(f"  {x}" for x in problems)])
    )


def _live(me: _Applier, old: Object | None) -> tuple[Object, Entries]:
    """(live object, its entries); fields without a manager get `before-first-apply`."""
    if old is None:
        return fieldshapes.of(me.schema).zero, []
    metadata = old["metadata"]
    entries: Entries = metadata.get("managedFields") or []
    if "managedFields" in metadata:
        metadata = {name: item for name, item in metadata.items() if name != "managedFields"}
        old = {**old, "metadata": metadata}
    if not entries:
        version = old.get("apiVersion") or me.body["apiVersion"]
        try:
            fields = fieldshapes.of(me.schema).created(old, me.skip)
        except fieldshapes.NoKey:
            raise _unusable(me, old, version) from None
        if fields is not None:
            who = managers.Manager(BEFORE_FIRST_APPLY, UPDATE, version, me.subresource)
            entries = [who.entry(me.now, fields)]
    return old, entries


def _unusable(me: _Applier, old: Object, version: str) -> errors.ApiError:
    """A stored list that must have keys has an item without: the fields' owners are unknown."""
    metadata = old["metadata"]
    shown = version if "/" in version else f"/{version}"
    place = f"{metadata.get('namespace', '')}/{metadata['name']}; {shown}, Kind={me.body['kind']}"
    return errors.unclassified(
        "failed to create manager for existing fields: failed to convert new object "
        f"({place}) to smd typed: {_listed(typedvalues.findings(me.type, old))}"
    )


def _apply(me: _Applier, live: Object, entries: Entries, force: bool) -> tuple[Object, Entries]:
    mine = next((entry for entry in entries if me.owns(entry)), None)
    others = [entry for entry in entries if entry is not mine]
    fields = typedvalues.to_set(me.type, me.body)
    if fields is not None and me.skip:
        reset = [fieldsets.field_element(name) for name in me.skip]
        fields = {key: child for key, child in fields.items() if key not in reset} or None
    last = (mine.get("fieldsV1") or None) if mine else None
    new = typedvalues.merge(me.type, live, me.body)
    new = _pruned(me, new, last, fields, others)
    changed, removed = fieldshapes.of(me.schema).compare(live, new, me.skip)
    if not force:
        conflicts = _conflicts(others, changed)
        if conflicts:
            raise _Conflicts(conflicts)
    out: Entries = []
    for entry in others:
        before = entry.get("fieldsV1") or None
        left = fieldsets.subtract(fieldsets.subtract(before, changed), removed)
        if left is not None:
            out.append(entry if left is before else {**entry, "fieldsV1": left})
    owned = fieldsets.subtract(fields, _STRIPPED)
    if owned is not None:
        same = new == live
        time = mine.get("time", "") if same and mine else "" if same else me.now
        who = managers.Manager(me.manager, APPLY, me.body["apiVersion"], me.subresource)
        out.append(who.entry(time, owned))
    out.sort(key=managers.order)
    return live if new == live else new, out


def _pruned(
    me: _Applier, merged: Object, last: Trie | None, fields: Trie | None, others: Entries
) -> Object:
    """Drops fields that the applier sent last time, not this time, and no other manager owns."""
    if last is None:
        return merged
    type_ = me.type
    named = typedvalues.with_named_fields
    managed = fields
    for entry in others:
        managed = fieldsets.union(managed, entry.get("fieldsV1") or None)
    pruned = typedvalues.without(type_, merged, named(type_, last))
    everything = named(type_, typedvalues.to_set(type_, merged))
    kept = fieldsets.union(named(type_, typedvalues.to_set(type_, pruned)), named(type_, managed))
    pruned = typedvalues.without(type_, merged, fieldsets.subtract(everything, kept))
    left = named(type_, typedvalues.to_set(type_, pruned))
    gone = fieldsets.intersect(fieldsets.subtract(everything, left), named(type_, last))
    out: Object = typedvalues.without(type_, merged, gone)
    return out


def _conflicts(others: Entries, changed: Trie | None) -> list[_Conflict]:
    return [
        _Conflict(entry, path)
        for entry in others
        for path in fieldsets.paths(fieldsets.intersect(entry.get("fieldsV1") or None, changed))
    ]


def _refusal(conflicts: list[_Conflict]) -> errors.ApiError:
    """409 with a cause for every field in conflict."""
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_shown(conflict.entry)}",
            "field": fieldsets.path_text(conflict.path),
        }
        for conflict in conflicts
    ]
    if len(conflicts) == 1:
        text = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines: dict[str, list[str]] = {}
        for conflict in sorted(conflicts, key=_by_manager):
            head = f"conflicts with {_shown(conflict.entry)}:"
            lines.setdefault(head, []).append(f"- {fieldsets.path_text(conflict.path)}")
        listed = "\n".join(line for head, rest in lines.items() for line in (head, *rest))
        text = f"{len(conflicts)} conflicts: {listed}"
    message = f"Apply failed with {text}"
    return errors.ApiError(409, "Conflict", message, details={"causes": causes})


def _by_manager(conflict: _Conflict) -> tuple[str, ...]:
    entry = conflict.entry
    version = "" if entry["operation"] == APPLY else entry["apiVersion"]
    return (entry.get("manager", ""), entry["operation"], version, entry.get("subresource", ""))


def _shown(entry: Object) -> str:
    shown = json.dumps(entry.get("manager", ""), ensure_ascii=False)
    if entry.get("subresource"):
        shown += f" with subresource {json.dumps(entry['subresource'])}"
    return f"{shown} using {entry['apiVersion']}" if entry["operation"] == UPDATE else shown


def _allowed(me: _Applier, live: Object) -> Trie | None:
    """The fields of kubectl's last client-side apply, which cause no conflict."""
    text = (live.get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED)
    try:
        last = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != me.body["apiVersion"]:
        return None
    if typedvalues.findings(me.type, last):
        return None
    changed, removed = fieldshapes.of(me.schema).compare(last, live)
    fields = fieldsets.subtract(typedvalues.to_set(me.type, last), changed)
    return fieldsets.subtract(fields, removed)


def _last_applied(body: Object) -> str:
    metadata: dict[str, Any] = dict(body.get("metadata") or {})
    annotations = metadata.get("annotations")
    if annotations is not None:
        metadata["annotations"] = {
            name: value for name, value in annotations.items() if name != LAST_APPLIED
        }
    text = fieldsets.go_json({**body, "metadata": metadata}, sort_keys=True)
    return f"{text}\n"
