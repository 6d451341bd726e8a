"""Flow control of one API server: levels from their configuration, seats for requests.

`admit` gives a place at once while seats are free, and something to be awaited when they are not;
`leave` gives the place back. Requests that last (exec, logs, port forwards) are not counted; a
watch is until it has begun.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/{apf_controller,apf_filter}.go,
pkg/util/flowcontrol/request/list_work_estimator.go and
pkg/server/filters/{priority-and-fairness,maxinflight}.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from apiserver_app.flags import Flags
from apiserver_app.flowcontrol.classify import LEVELS, SCHEMAS, Schemas
from apiserver_app.flowcontrol.levels import Level, Refused, Shape, Taken, deal
from apiserver_app.handlers.call import Call
from apiserver_app.handlers.cluster import Place
from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.machinery.reader import Reader

EXEMPT, CATCH_ALL = "exempt", "catch-all"
LASTING = frozenset(("attach", "exec", "proxy", "log", "portforward"))
KNOWN_MAX = 4096
OBJECTS_PER_SEAT = 100
WAIT_SECONDS_MAX = 15.0  # a quarter of the time a request is given
SHARES_DEFAULT = 30
QUEUES_DEFAULT, HAND_DEFAULT, LENGTH_DEFAULT = 64, 8, 50
READS = frozenset(("get", "list", "watch"))


@dataclass(slots=True)
class Flow:
    """What all requests of one sort share."""

    schema: str
    level: Level
    distinguisher: str
    hand: tuple[int, ...]
    detail: Object
    uids: tuple[str, str]
    single: Place  # of a request that takes one seat and did not wait


class Control:
    """`count` says how many objects of a resource there are: a list is as wide as they are many."""

    def __init__(
        self,
        reader: Reader,
        kernel: Kernel,
        count: Callable[[ResourceInfo], int],
        seats: int,
    ) -> None:
        self.levels: dict[str, Level] = {}
        self.schemas = Schemas()
        self.executing = {"mutating": 0, "readOnly": 0}
        self.rejected: dict[tuple[str, str, str], int] = {}  # level, schema, why
        self.dispatched: dict[tuple[str, str], int] = {}
        self._reader = reader
        self._kernel = kernel
        self._count = count
        self._seats = seats
        self._generation = (-1, -1)
        self._known: dict[tuple[object, ...], Flow] = {}

    def admit(self, user: User, call: Call) -> Place | Awaitable[Place]:
        """Where the request is served, or what to await for it. Raises 429."""
        if call.subresource in LASTING:
            return UNCOUNTED
        flow = self._flow(user, call)
        call.flow = flow.uids
        wide = call.verb == "list" or call.verb == "watch"
        seats = self._width(flow.level, call) if wide and call.info is not None else 1
        if flow.level.take(seats):
            if seats == 1:
                return flow.single
            return Place({**flow.detail, "seats": seats}, Taken(flow.level, seats))
        return self._wait(flow, seats, user, call)

    def leave(self, place: Place) -> None:
        if place.taken is not None:
            place.taken.level.leave(place.taken)

    def refresh(self) -> None:
        """Follow the configuration objects, if they changed."""
        generation = (self._reader.generation(SCHEMAS), self._reader.generation(LEVELS))
        if generation != self._generation:
            self._generation = generation
            self._digest()

    async def _wait(self, flow: Flow, seats: int, user: User, call: Call) -> Place:
        level = flow.level
        about = (user.name, call.verb, call.path)
        try:
            taken = await level.wait(
                seats, flow.hand, flow.schema, flow.distinguisher, about, _patience(call)
            )
        except Refused as refused:
            key = (level.name, flow.schema, refused.why)
            self.rejected[key] = self.rejected.get(key, 0) + 1
            error = level.refused()
            error.about = {
                **flow.detail, "word": "429", "why": refused.why, "executing": level.executing,
                "waiting": level.waiting, "retryAfter": error.retry_after,
            }  # fmt: skip
            raise error from refused
        detail = {
            **flow.detail, "seats": seats, "queue": taken.index, "position": taken.position,
            "waited": taken.waited,
        }  # fmt: skip
        return Place(detail, taken)

    def _width(self, level: Level, call: Call) -> int:
        assert call.info is not None
        if call.name:
            return 1
        if call.verb == "watch":
            initial = call.param("sendInitialEvents") == "true"
            if not initial and call.param("resourceVersion") not in ("", "0"):
                return 1
        wide = -(-self._count(call.info) // OBJECTS_PER_SEAT)
        return max(1, min(wide, level.shape.widest))

    def _flow(self, user: User, call: Call) -> Flow:
        self.refresh()
        info = call.info
        resource = (info.group, info.plural, call.subresource) if info else ("", call.path, "")
        key = (user.name, user.groups, call.verb, resource, bool(info), call.namespace)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            found = self._known[key] = self._match(user, call)
        return found

    def _match(self, user: User, call: Call) -> Flow:
        schema = self.schemas.match(user, call)
        wanted = schema["spec"]["priorityLevelConfiguration"]["name"]
        level = self.levels[wanted]
        name = meta.name_of(schema)
        method = (schema["spec"].get("distinguisherMethod") or {}).get("type", "")
        told = {"ByUser": user.name, "ByNamespace": call.namespace}.get(method, "")
        shape = level.shape
        hand: tuple[int, ...] = ()
        if shape.queues:
            digest = hashlib.sha256(name.encode() + b"\0" + told.encode()).digest()
            hand = deal(int.from_bytes(digest[:8], "little"), shape.queues, shape.hand)
        detail: Object = {
            "word": level.name, "flowSchema": name, "priorityLevel": level.name,
        }  # fmt: skip
        if shape.limit is not None:
            detail["limit"] = shape.limit
        uids = (meta.uid_of(schema), level.uid)
        single = Place(detail, Taken(level, 1))
        return Flow(name, level, told, hand, detail, uids, single)

    # -- configuration --------------------------------------------------------------------------

    def _digest(self) -> None:
        """Divide the server's seats among the levels, by their shares."""
        self._known.clear()
        specs = {meta.name_of(one): one for one in self._reader.list(LEVELS) if _is_sound(one)}
        for name in (EXEMPT, CATCH_ALL):
            specs.setdefault(name, MANDATORY[name])
        for name in sorted(set(self.levels) - set(specs)):
            if not self.levels[name].executing and not self.levels[name].waiting:
                del self.levels[name]
        total = sum(_shares(one) for one in specs.values())
        for name, one in sorted(specs.items()):
            shape = self._shape(one, total)
            level = self.levels.get(name)
            if level is None:
                level = self.levels[name] = Level(self._kernel, name, shape)
            elif level.shape != shape:
                level.reshape(shape)
            level.uid = meta.uid_of(one) if one["metadata"].get("uid") else ""
        self.schemas.digest(self._reader.list(SCHEMAS), specs)

    def _shape(self, level: Object, total: int) -> Shape:
        spec = level["spec"]
        if spec.get("type") == "Exempt":
            return Shape(None)
        limit = -(-self._seats * _shares(level) // total) if total else 1
        response = (spec.get("limited") or {}).get("limitResponse") or {}
        queuing = response.get("queuing") or {}
        if response.get("type") != "Queue":
            return Shape(limit)
        queues = queuing.get("queues") or QUEUES_DEFAULT
        hand = min(queuing.get("handSize") or HAND_DEFAULT, queues)
        return Shape(limit, queues, hand, queuing.get("queueLengthLimit") or LENGTH_DEFAULT)


UNCOUNTED = Place({"word": "lasting", "why": "requests that last take no seat"}, None)
MANDATORY: dict[str, Object] = {
    EXEMPT: {"metadata": {"name": EXEMPT}, "spec": {"type": "Exempt", "exempt": {}}},
    CATCH_ALL: {
        "metadata": {"name": CATCH_ALL},
        "spec": {
            "type": "Limited",
            "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
        },
    },
}


def _is_sound(level: Object) -> bool:
    """Whether the kind of level and what it is given fit together; others are passed over."""
    spec = level.get("spec") or {}
    kind = spec.get("type")
    if kind == "Exempt":
        return meta.name_of(level) == EXEMPT
    return kind == "Limited" and meta.name_of(level) != EXEMPT and bool(spec.get("limited"))


def _shares(level: Object) -> int:
    spec = level["spec"]
    if spec.get("type") == "Exempt":
        return int((spec.get("exempt") or {}).get("nominalConcurrencyShares") or 0)
    limited = spec.get("limited") or {}
    # before 1.26 the field had another name
    for name in ("nominalConcurrencyShares", "assuredConcurrencyShares"):
        if limited.get(name) is not None:
            return int(limited[name])
    return SHARES_DEFAULT


def _patience(call: Call) -> float:
    """A quarter of the time that the request is given, at most a quarter of a minute."""
    text = call.param("timeout").removesuffix("s") if call.verb != "watch" else ""
    if text.isdigit() and int(text) > 0:
        return min(int(text) / 4, WAIT_SECONDS_MAX)
    return WAIT_SECONDS_MAX


class MaxInFlight:
    """What stands here when flow control is switched off: two plain limits, one for writes."""

    def __init__(self, kernel: Kernel, reads: int, writes: int) -> None:
        self._levels = {
            False: Level(kernel, "readOnly", Shape(reads or None)),
            True: Level(kernel, "mutating", Shape(writes or None)),
        }
        self.levels: dict[str, Level] = {}  # no priority levels
        self.rejected: dict[tuple[str, str, str], int] = {}

    def admit(self, user: User, call: Call) -> Place | Awaitable[Place]:
        if call.subresource in LASTING or call.verb == "watch":
            return UNCOUNTED
        level = self._levels[call.verb not in READS]
        if level.take(1):
            return Place({"word": f"{level.executing} in flight"}, Taken(level, 1))
        if "system:masters" in user.groups:
            return Place({"word": "over the limit", "why": "of system:masters"}, None)
        error = level.refused()
        error.about = {"word": "429", "why": f"{level.executing} {level.name} requests in flight"}
        raise error

    def leave(self, place: Place) -> None:
        if place.taken is not None:
            place.taken.level.leave(place.taken)

    def refresh(self) -> None:
        """It follows nothing."""


def build(
    given: Flags, reader: Reader, kernel: Kernel, count: Callable[[ResourceInfo], int]
) -> Control | MaxInFlight:
    """What --enable-priority-and-fairness and --max-*requests-inflight ask for."""
    reads, writes = given.max_requests_inflight, given.max_mutating_requests_inflight
    if given.enable_priority_and_fairness and reads + writes > 0:
        return Control(reader, kernel, count, reads + writes)
    return MaxInFlight(kernel, reads, writes)
