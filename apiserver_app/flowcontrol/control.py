"""Flow control of one API server: priority levels, and seats for requests.

`admit` gives a place at once while seats are free, and something to be awaited when they are not;
its level takes it back. Requests that last (exec, logs, port forwards) are not counted; a
watch is until it has begun. Every 10 s the levels' limits follow what was asked of them.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/{apf_controller,apf_filter}.go
and pkg/server/filters/{priority-and-fairness,maxinflight}.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable

import msgspec

from apiserver_app.flags import Flags
from apiserver_app.flowcontrol import borrowing
from apiserver_app.flowcontrol.borrowing import Bounds
from apiserver_app.flowcontrol.classify import LEVELS, SCHEMAS, Schemas
from apiserver_app.flowcontrol.levels import Flow, Level, Refused, Report, Shape, deal
from apiserver_app.flowcontrol.metrics import Tally
from apiserver_app.flowcontrol.workestimator import ONE, Estimator, Work
from apiserver_app.handlers.call import Call
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import memos, meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.syntax import names

EXEMPT, CATCH_ALL = "exempt", "catch-all"
LASTING = frozenset(("attach", "exec", "proxy", "log", "portforward"))
KNOWN_MAX, FLOWS_MAX = 65_536, 16_384
WAIT_SECONDS_MAX = 15.0  # a quarter of a request's default timeout
SHARES_DEFAULT = 30
QUEUES_DEFAULT, HAND_DEFAULT, LENGTH_DEFAULT = 64, 8, 50
READS = frozenset(("get", "list", "watch"))


class Control:
    """The levels and schemas of one server, and its total seats."""

    def __init__(self, reader: Reader, kernel: Kernel, estimator: Estimator, seats: int) -> None:
        self.levels: dict[str, Level] = {}
        self.schemas = Schemas()
        self.tallies: dict[tuple[str, str], Tally] = {}  # by level and schema
        self.fair_fraction = 0.0
        self._reader = reader
        self._kernel = kernel
        self._estimator = estimator
        self._seats = seats
        self._mark = reader.mark((SCHEMAS, LEVELS))
        self._digested = -1
        self._known: dict[tuple[object, ...], Matched] = {}  # by what a request is
        self._matched: dict[str, Matched] = {}  # by schema

    def admit(self, request: Request) -> Decision | Awaitable[Decision]:
        """Where the request is served, or what to await for it. Raises 429."""
        user, call = request.user, request.call
        if call.subresource in LASTING:
            return UNCOUNTED
        flow = self._flow(user, call)
        request.flow = flow.uids
        level = flow.level
        work, watches = self._estimator.of(call, level.widest)
        if watches is not None:
            flow.tally.watches.add(watches)
        if work is ONE:
            flow.tally.narrow += 1
        else:
            flow.tally.widths.add(work.seats)
        taken = request.seats = level.take(flow, work, user.name, call)
        if taken is None:
            return self._wait(request, flow, work)
        if work is ONE:
            return flow.report.decision
        return Decision("allow", _work_detail(flow, work, watches))

    async def lend(self) -> None:
        """Adjust the limits again and again, for as long as the server runs."""
        while True:
            await self._kernel.sleep(borrowing.PERIOD_SECONDS, background=True)
            self.refresh()
            self.adjust()

    def refresh(self) -> None:
        """Rereads the configuration objects if they changed."""
        if self._mark.revision != self._digested:
            self._digested = self._mark.revision
            self._digest()

    async def _wait(self, request: Request, flow: Flow, work: Work) -> Decision:
        level, call = flow.level, request.call
        try:
            taken = await level.wait(flow, work, request.user.name, call, _patience(call))
        except Refused as refused:
            flow.tally.refused(refused.why)
            error = level.refused()
            error.about = {
                **flow.report.detail,
                "word": "429",
                "why": refused.why,
                "executing": level.executing,
                "waiting": level.waiting,
                "retryAfter": error.retry_after,
            }
            raise error from refused
        detail = {
            **_work_detail(flow, work, None),
            "position": taken.position,
            "waited": taken.waited,
        }
        if taken.queue is not None:
            detail["queue"] = taken.queue.index
        request.seats, request.waited = taken, taken.waited
        return Decision("allow", detail)

    def _flow(self, user: User, call: Call) -> Flow:
        if self._mark.revision != self._digested:
            self.refresh()
        info = call.info
        resource = (info.group, info.plural, call.subresource) if info else ("", call.path, "")
        who = user.name if self.schemas.names(user.name) else ""
        key = (who, user.groups, call.verb, resource, bool(info), call.namespace)
        matched = self._known.get(key)
        if matched is None:
            memos.make_room(self._known, KNOWN_MAX)
            matched = self._known[key] = self._match(user, call)
        distinguisher = ""
        if matched.method == "ByUser":
            distinguisher = user.name
        elif matched.method == "ByNamespace":
            distinguisher = call.namespace
        return matched.flows.get(distinguisher) or _make_flow(matched, distinguisher)

    def _match(self, user: User, call: Call) -> Matched:
        schema = self.schemas.match(user, call)
        name = meta.name_of(schema)
        matched = self._matched.get(name)
        if matched is None:
            level = self.levels[schema["spec"]["priorityLevelConfiguration"]["name"]]
            matched = self._matched[name] = Matched(
                name,
                level,
                (schema["spec"].get("distinguisherMethod") or {}).get("type", ""),
                self.tallies.setdefault((level.name, name), Tally()),
                Report(_detail(name, level)),
                (meta.uid_of(schema), level.uid),
            )
        return matched

    # -- configuration --------------------------------------------------------------------------

    def _digest(self) -> None:
        """Divides the server's seats among the levels by their shares."""
        self._known.clear()
        self._matched.clear()
        specs = {meta.name_of(spec): spec for spec in self._reader.list(LEVELS) if _is_sound(spec)}
        for name in (EXEMPT, CATCH_ALL):
            specs.setdefault(name, MANDATORY[name])
        for name in sorted(set(self.levels) - set(specs)):
            if not self.levels[name].executing and not self.levels[name].waiting:
                del self.levels[name]
        total = sum(_shares(spec) for spec in specs.values())
        for name, spec in sorted(specs.items()):
            shape = self._shape(spec, total)
            level = self.levels.get(name)
            if level is None:
                level = self.levels[name] = Level(self._kernel, name, shape)
            elif level.shape != shape:
                level.reshape(shape)
            level.uid = meta.uid_of(spec) if spec["metadata"].get("uid") else ""
        self.schemas.digest(self._reader.list(SCHEMAS), specs)
        self.adjust()

    def adjust(self) -> None:
        """Lets the levels borrow each other's unused seats."""
        before = [level.account.current for level in self.levels.values()]
        self.fair_fraction = borrowing.adjust(
            {name: level.account for name, level in self.levels.items()}
        )
        if before == [level.account.current for level in self.levels.values()]:
            return
        for name, matched in self._matched.items():
            matched.report.change(_detail(name, matched.level))
        for level in self.levels.values():
            level.dispatch()

    def _shape(self, level: Object, total: int) -> Shape:
        spec = level["spec"]
        exempt = spec.get("type") == "Exempt"
        limits = (spec.get("exempt") if exempt else spec.get("limited")) or {}
        nominal = -(-self._seats * _shares(level) // total) if total else 1
        lends = borrowing.percent_of(nominal, int(limits.get("lendablePercent") or 0))
        borrows = self._seats
        if limits.get("borrowingLimitPercent") is not None:
            borrows = borrowing.percent_of(nominal, int(limits["borrowingLimitPercent"]))
        bounds = Bounds(nominal, nominal - lends, nominal + borrows)
        response = limits.get("limitResponse") or {}
        queuing = response.get("queuing") or {}
        if exempt or response.get("type") != "Queue":
            return Shape(bounds, exempt=exempt)
        queues = queuing.get("queues") or QUEUES_DEFAULT
        hand = min(queuing.get("handSize") or HAND_DEFAULT, queues)
        return Shape(bounds, queues, hand, queuing.get("queueLengthLimit") or LENGTH_DEFAULT)


class Matched(msgspec.Struct, eq=False):
    """A schema that requests match, and their flows by distinguisher."""

    schema: str
    level: Level
    method: str
    tally: Tally
    report: Report
    uids: tuple[str, str]
    flows: dict[str, Flow] = msgspec.field(default_factory=dict)


def _make_flow(matched: Matched, distinguisher: str) -> Flow:
    name, shape = matched.schema, matched.level.shape
    hand: tuple[int, ...] = ()
    if shape.queues:
        digest = hashlib.sha256(name.encode() + b"\0" + distinguisher.encode()).digest()
        hand = deal(int.from_bytes(digest[:8], "little"), shape.queues, shape.hand)
    memos.make_room(matched.flows, FLOWS_MAX)
    flow = matched.flows[distinguisher] = Flow(
        name, matched.level, distinguisher, hand, matched.tally, matched.report, matched.uids
    )
    return flow


def _detail(schema: str, level: Level) -> Object:
    """What the trace says about a request that the schema's level serves."""
    detail: Object = {"word": level.name, "flowSchema": schema, "priorityLevel": level.name}
    if not level.shape.exempt:
        detail["limit"], nominal = level.account.current, level.shape.bounds.nominal
        if detail["limit"] != nominal:
            detail["nominal"] = nominal
    return detail


UNCOUNTED = Decision("allow", {"word": "lasting", "why": "requests that last take no seat"})
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
    """Reports whether a level's type fits its configuration; others are ignored."""
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
    # the field's name before 1.26
    for name in ("nominalConcurrencyShares", "assuredConcurrencyShares"):
        if limited.get(name) is not None:
            return int(limited[name])
    return SHARES_DEFAULT


def _work_detail(flow: Flow, work: Work, watches: int | None) -> Object:
    """Returns the trace's detail of a request that takes more than one seat for a moment."""
    detail = {**flow.report.detail, "seats": work.seats}
    if work.extra:
        detail["afterwards"] = work.extra
    if watches is not None:
        detail["watches"] = watches
    return detail


def _patience(call: Call) -> float:
    """Returns how long the request may wait: a quarter of its timeout, at most 15 s."""
    text = call.param("timeout").removesuffix("s") if call.verb != "watch" else ""
    if names.is_number(text) and int(text) > 0:
        return min(int(text) / 4, WAIT_SECONDS_MAX)
    return WAIT_SECONDS_MAX


class MaxInFlight:
    """Two plain limits, one for writes, used when priority and fairness is off."""

    def __init__(self, kernel: Kernel, reads: int, writes: int) -> None:
        self._flows = {
            changes: Flow(word, _plain_level(kernel, word, limit), "", (), Tally())
            for changes, word, limit in ((False, "readOnly", reads), (True, "mutating", writes))
        }
        self.levels: dict[str, Level] = {}  # no priority levels
        self.tallies: dict[tuple[str, str], Tally] = {}
        self.fair_fraction = 0.0

    def admit(self, request: Request) -> Decision:
        user, call = request.user, request.call
        if call.subresource in LASTING or call.verb == "watch":
            return UNCOUNTED
        flow = self._flows[call.verb not in READS]
        level = flow.level
        taken = request.seats = level.take(flow, ONE, user.name, call)
        if taken is not None:
            return Decision("allow", {"word": f"{level.executing} in flight"})
        if "system:masters" in user.groups:
            return Decision("allow", {"word": "over the limit", "why": "of system:masters"})
        error = level.refused()
        error.about = {"word": "429", "why": f"{level.executing} {level.name} requests in flight"}
        raise error

    def refresh(self) -> None:
        """Does nothing: there is no configuration to follow."""

    async def lend(self) -> None:
        """Does nothing: plain limits do not lend."""


def _plain_level(kernel: Kernel, name: str, limit: int) -> Level:
    return Level(kernel, name, Shape(Bounds(limit, limit, limit), exempt=not limit))


def build(
    flags: Flags, reader: Reader, kernel: Kernel, estimator: Estimator, *, served: bool
) -> Control | MaxInFlight:
    """What --enable-priority-and-fairness and --max-*requests-inflight ask for; a version that
    serves no flow schemas has the limits alone."""
    reads, writes = flags.max_requests_inflight, flags.max_mutating_requests_inflight
    if served and flags.enable_priority_and_fairness and reads + writes > 0:
        return Control(reader, kernel, estimator, reads + writes)
    return MaxInFlight(kernel, reads, writes)
