"""Entries of metadata.managedFields as a client sent them, which may say anything.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go
and sigs.k8s.io/structured-merge-diff fieldpath/{serialize,serialize-pe}.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from apiserver_app.machinery.patch import managers
from apiserver_app.machinery.patch.managers import APPLY, UPDATE, Entries
from apiserver_app.machinery.types import fieldsets
from apiserver_app.machinery.types.fieldsets import LEAF, SELF, Trie

_INDEX = re.compile(r"[-+]?[0-9]{1,18}")
_JSON = json.JSONDecoder()


class Unreadable(Exception):
    """In upstream's words: none of the entries counts."""


def decoded(entries: Sequence[Any]) -> Entries:
    """The entries as the server writes them; of several of one manager the last counts."""
    kept: dict[tuple[str, ...], Any] = {}
    for index, entry in enumerate(entries):
        fields = _fields_of(entry, index)
        operation, version = entry["operation"], entry["apiVersion"]
        manager, subresource = entry.get("manager") or "", entry.get("subresource") or ""
        identity = manager, operation, "" if operation == APPLY else version, subresource
        kept.pop(identity, None)
        made = managers.Manager(manager, operation, version, subresource).entry(
            entry.get("time") or "", fields
        )
        kept[identity] = entry if entry == made else made
    return sorted(kept.values(), key=managers.order)


def finding(entries: Sequence[Any]) -> str:
    """Why the entries cannot be read; empty if they can."""
    try:
        decoded(entries)
    except Unreadable as error:
        return str(error)
    return ""


def _fields_of(entry: Any, index: int) -> Trie:
    entry = entry or {}
    if entry.get("operation") not in (UPDATE, APPLY):
        raise Unreadable("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise Unreadable("apiVersion must not be empty")
    kind = entry.get("fieldsType") or ""
    if not kind:
        raise Unreadable(f"missing fieldsType in managed fields entry {index}")
    if kind != "FieldsV1":
        raise Unreadable(f'invalid fieldsType "{kind}" in managed fields entry {index}')
    children, _ = _set(entry.get("fieldsV1"))
    return children


def _set(value: Any) -> tuple[Trie, bool]:
    """(what is below a path element, whether the element itself is in the set)."""
    if value is None:
        return {}, True
    if not isinstance(value, dict):
        raise Unreadable("error decoding set: expect object")
    children: Trie = {}
    for key, inside in value.items():
        element = key if key == SELF else _element(key)
        if key == SELF or not element:
            continue
        below, is_member = _set(inside)
        if below:
            children[element] = {SELF: LEAF, **below} if is_member else below
        else:
            children[element] = LEAF
    return fieldsets.in_order(children), SELF in value or not children


def _element(key: str) -> str:
    """A path element as the server writes it; empty for one of a later version."""
    if len(key) < 2 or key[1] != ":":
        raise Unreadable(f"error decoding set: parsing key as path element: {key}")
    text = key[2:]
    if key[0] == "f":
        return key
    if key[0] == "i":
        if not _INDEX.fullmatch(text):
            raise Unreadable(f"error decoding set: parsing key as path element: {key}")
        return f"i:{int(text)}"
    if key[0] not in "kv":
        return ""
    try:
        value, _ = _JSON.raw_decode(text.lstrip())
    except ValueError:
        raise Unreadable(f"error decoding set: parsing key as path element: {key}") from None
    if key[0] == "v":
        return f"v:{fieldsets.go_json(value)}"
    if not isinstance(value, dict):
        raise Unreadable(f"error decoding set: parsing key as path element: {key}")
    names = tuple(sorted(value))
    pairs = ",".join(
        f"{fieldsets.go_json(name)}:{fieldsets.go_json(value[name])}" for name in names
    )
    return f"k:{{{pairs}}}"
