"""Equal parts of the objects of a resource are kept once: where there are thousands, most of a pod
is as in its neighbours. Nobody may change an object that is cached, so nobody sees a difference.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from apiserver_app.machinery.meta import Object

KNOWN_MAX = 8192


class Sharing:
    """What was seen of late, by what is equal in it."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Any] = {}
        self._kept: set[int] = set()  # the identities of all that is known and holds something

    def share(self, obj: Object) -> None:
        """Replaces parts of an object by equal ones that were seen before."""
        if len(self.known) > KNOWN_MAX:
            self.known.clear()
            self._kept.clear()
        for name, value in obj.items():
            obj[name] = self._shared(value)

    def _shared(self, value: Any) -> Any:
        """The one to keep. What it holds has been replaced before, so a part is recognized by the
        identity of what is in it, which stays while the part is known."""
        kind = type(value)
        if kind is str:
            return self.known.setdefault(value, value)
        if id(value) in self._kept:  # a newer revision has most of what the last one had
            return value
        if kind is dict:
            for name, item in value.items():
                value[name] = self._shared(item)
            key: Hashable = (dict, *value, *map(_identity, value.values()))
        elif kind is list:
            value[:] = map(self._shared, value)
            key = (list, *map(_identity, value))
        else:
            return value
        shared = self.known.setdefault(key, value)
        self._kept.add(id(shared))
        return shared


def _identity(value: Any) -> Hashable:
    kind = type(value)
    return (kind, value) if kind in (int, bool) else id(value)
