"""Estimates a request's work: its seats while it executes, and how long watches that get its event
occupy seats afterwards.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/request/{width,
list_work_estimator,mutating_work_estimator,config}.go and pkg/util/flowcontrol/watch_tracker.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.input import readpath
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names

WIDEST = 10
OBJECTS_PER_SEAT = 100
WATCHES_PER_SEAT = 10
EVENT_MICROS = 5000  # per event and group of watches
SERVICE_SECONDS = 0.003  # the assumed duration of a request
_CHANGES = frozenset(("create", "update", "patch", "delete"))
_SNAPSHOTLESS = Release(33)  # estimates as if the cache had no snapshots


@dataclass(slots=True)
class Work:
    """`initial` seats while it executes; `final` seats for `extra` µs after its answer. Never
    changed."""

    initial: int = 1
    final: int = 0
    extra: int = 0
    seats: int = field(init=False)
    seat_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        self.seats = max(self.initial, self.final)
        self.seat_seconds = self.initial * SERVICE_SECONDS + self.final * self.extra / SECOND


ONE = Work()


class Estimator:
    """`objects` returns the number of objects of a resource, `watches` the number of watchers of a
    change to (resource, namespace, name)."""

    def __init__(
        self,
        objects: Callable[[ResourceInfo], int],
        watches: Callable[[ResourceInfo, str, str], int],
        version: Release,
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._version = min(version, _SNAPSHOTLESS)
        self._lists_in_watches = version.has("WatchList")

    def of(self, call: Call, widest: int) -> tuple[Work, int | None]:
        """Returns the work, and for a change the number of watchers."""
        info, verb = call.info, call.verb
        if info is None:
            return ONE, None
        if verb in _CHANGES:
            if call.subresource == "token" and info.plural == "serviceaccounts":
                return ONE, None
            count = self._watches(info, call.namespace, call.name)
            return (ONE if count < WATCHES_PER_SEAT else _watch_work(count, widest)), count
        if verb == "list" or (verb == "watch" and self._lists_in_watches):
            return self._list(call, info, widest), None
        return ONE, None

    def _list(self, call: Call, info: ResourceInfo, widest: int) -> Work:
        if call.name:
            return ONE
        if call.verb == "watch" and call.param("sendInitialEvents") not in ("true", "1"):
            return ONE
        stored = self._objects(info)
        text = call.param("limit")
        limit = min(int(text), stored) if names.is_number(text) and int(text) else stored
        if readpath.of(call, self._version).by == readpath.CACHE:
            looked_at = stored
        elif call.param("labelSelector") or call.param("fieldSelector"):
            looked_at = stored + limit
        else:
            looked_at = 2 * limit
        seats = -(-looked_at // OBJECTS_PER_SEAT)
        return Work(min(seats, widest)) if seats > 1 else ONE


def _watch_work(count: int, widest: int) -> Work:
    """Returns the watchers' work: the same area, narrower and longer, when too wide."""
    seats = -(-count // WATCHES_PER_SEAT)
    final = min(seats, widest)
    return Work(1, final, seats * EVENT_MICROS // final)
