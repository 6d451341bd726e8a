"""Indexes and counts that an informer maintains beside its cache.

Each change of an object updates a view in O(1), so that a reconcile never walks all objects.

Models kubernetes staging/src/k8s.io/client-go/tools/cache/thread_safe_store.go (the indexers).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

ValuesOf = Callable[[Object], Sequence[str]]
ValueOf = Callable[[Object], str]
FactsOf = Callable[[Object], Hashable]
NamedIndex = tuple[str, ValuesOf]

# the controller index keeps objects without a controller under ORPHANS + namespace
ORPHANS = "orphans/"

_NONE: dict[str, Object] = {}
_NO_COUNTS: dict[Hashable, int] = {}


class View(Protocol):
    """A structure derived from the cache. `old` is None on an addition, `new` on a removal."""

    def move(self, key: str, old: Object | None, new: Object | None) -> None: ...


class Index:
    """Objects grouped by value: value -> key -> object."""

    __slots__ = ("_groups", "_of")

    def __init__(self, of: ValuesOf) -> None:
        self._of = of
        self._groups: dict[str, dict[str, Object]] = {}

    def group(self, value: str) -> Mapping[str, Object]:
        return self._groups.get(value, _NONE)

    def move(self, key: str, old: Object | None, new: Object | None) -> None:
        before = self._of(old) if old is not None else ()
        after = self._of(new) if new is not None else ()
        groups = self._groups
        if before != after:
            for value in before:
                group = groups[value]
                group.pop(key, None)
                if not group:
                    del groups[value]
        if new is not None:
            for value in after:
                known = groups.get(value)
                if known is None:
                    groups[value] = {key: new}
                else:
                    known[key] = new


class Census:
    """Numbers of objects by value and facts: value -> facts -> count."""

    __slots__ = ("_facts", "_groups", "_of")

    def __init__(self, of: ValueOf, facts: FactsOf) -> None:
        self._of = of
        self._facts = facts
        self._groups: dict[str, dict[Hashable, int]] = {}

    def group(self, value: str) -> Mapping[Hashable, int]:
        return self._groups.get(value, _NO_COUNTS)

    def move(self, key: str, old: Object | None, new: Object | None) -> None:
        groups = self._groups
        if old is not None:
            value = self._of(old)
            facts = self._facts(old)
            group = groups[value]
            if group[facts] > 1:
                group[facts] -= 1
            else:
                del group[facts]
                if not group:
                    del groups[value]
        if new is not None:
            value = self._of(new)
            facts = self._facts(new)
            group = groups.setdefault(value, {})
            group[facts] = group.get(facts, 0) + 1


def by_namespace(obj: Object) -> Sequence[str]:
    return (meta.namespace_of(obj),)


def by_controller(obj: Object) -> Sequence[str]:
    return (controller_uid(obj),)


BY_NAMESPACE: NamedIndex = ("namespace", by_namespace)
BY_CONTROLLER: NamedIndex = ("controller", by_controller)


def controller_uid(obj: Object) -> str:
    """The uid of the controlling owner, or ORPHANS + namespace when there is none."""
    metadata = obj["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner["uid"])
    return ORPHANS + str(metadata.get("namespace", ""))
