"""Entries of metadata.managedFields: identity, order and maximum number.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/
{managedfields,buildmanagerinfo,capmanagers}.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import fieldsets
from apiserver_app.machinery.types.fieldsets import Trie
from apiserver_app.machinery.types.schema import Schema

UPDATE, APPLY = "Update", "Apply"
UPDATE_MANAGERS_MAX = 10
ANCIENT = "ancient-changes"

Entries = list[Object]


class Manager(NamedTuple):
    """The identity of an entry."""

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
        out: Object = {"manager": self.name} if self.name else {}
        out["operation"] = self.operation
        out["apiVersion"] = self.api_version
        if time:
            out["time"] = time
        out["fieldsType"] = "FieldsV1"
        out["fieldsV1"] = fields
        if self.subresource:
            out["subresource"] = self.subresource
        return out


def reset_fields(schema: Schema, subresource: str) -> tuple[str, ...]:
    """The fields that an endpoint never changes: status for the object, spec for its status."""
    if subresource == "status" or schema.name == "CertificateSigningRequest":
        return ("spec",) if subresource else ("spec", "status")
    resets = not subresource and schema.resets_status and "status" in schema.fields
    return ("status",) if resets else ()


def order(entry: Object) -> tuple[str, str, str, str, str]:
    """Sort key: applies first, then by time, then by name."""
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def capped(entries: Entries) -> Entries:
    """Limits the updaters to ten: merges the oldest of an API version into one entry."""
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
        bucket = Manager(ANCIENT, UPDATE, version, "")
        fields = fieldsets.union(entry.get("fieldsV1") or None, before.get("fieldsV1") or None)
        gone += [id(entry), id(first[version])]
        buckets[version] = bucket.entry(entry.get("time", ""), fields or {})
        excess -= 1
    kept = [entry for entry in entries if id(entry) not in gone]
    return kept + list(buckets.values())
