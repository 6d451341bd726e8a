"""The recorder: the one Probe of a cluster. It keeps records until the host commits them, charges
each hop's modelled time, and freezes the cluster where a pause, a step or a breakpoint says so.

Records hold virtual time only, so equal runs give equal bytes. Nothing here reads a clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from apiserver_app import gates
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.probe import COSTS, KINDS, OPTIONAL
from lifecycle.trace import redaction


def _plain(value: Any) -> Any:
    """A text or number of a class of its own, as what it is."""
    if isinstance(value, (str, int)):
        return str(value) if isinstance(value, str) else int(value)
    raise TypeError(f"a record cannot hold a {type(value).__name__}")


_encode = msgspec.json.Encoder(enc_hook=_plain).encode
# by kind, its records; values, which are encoded and gone
RECORDS: dict[str, Callable[..., Any]] = {
    kind: msgspec.defstruct(
        kind,
        (
            "seq",
            "t",
            "kind",
            "span",
            *names,
            *((name, Any, msgspec.UNSET) for name in OPTIONAL.get(kind, ())),
        ),
        gc=False,
    )
    for kind, names in KINDS.items()
}
_GATE = RECORDS["gate"]

# a record of these kinds opens a span and belongs to it itself
OPENING = frozenset(("request", "work"))
# of these it depends on their fields whether they hold values of Secrets
_COMMANDS = frozenset(("work", "control"))
_LOOKED_AT = frozenset(("request", "write", *_COMMANDS))

BATCH_BYTES = 256 << 10  # of live records; a batch ends with the run of records that goes beyond
RUN_MAX = 32  # records, none of them a `write`, that are encoded at once


class Batch(NamedTuple):
    """Some of what one commit tells: records as JSON objects joined by commas.

    `stored` leaves out the objects of `write` records (the log has them), `live` has them.
    """

    first: int
    last: int
    t: int
    stored: bytes
    live: bytes


class Breakpoint(NamedTuple):
    """Holds the cluster after a record that has these field values.

    `wanted` may name fields of the record itself or of the request it belongs to.
    """

    id: str
    kind: str
    wanted: Mapping[str, Any]


class _Hit(NamedTuple):
    """A record that a breakpoint waits for, and which breakpoint."""

    seq: int
    kind: str
    span: int
    breakpoint: str


Value = Callable[[int], bytes]


class Recorder:
    """Told by everything; `take` gives what was told since the last commit, batch by batch."""

    def __init__(self, kernel: kernels.Kernel, *, epoch: int, seq: int = 0) -> None:
        self.kernel = kernel
        self.epoch = epoch
        self.seq = seq
        # stepping: hold at the next hop; "request" holds at the next begin or end of one
        self.stepping = ""
        self.breakpoints: tuple[Breakpoint, ...] = ()
        self.held: dict[str, Any] | None = None
        self.is_armed = False
        self.records: list[Any] = []
        self._writes: deque[int] = deque()  # numbers of those of kind `write` among them
        self.open_requests: dict[int, tuple[Any, ...]] = {}
        self._noted: _Hit | None = None
        self._sensitive: set[int] = set()  # open requests that carry values of Secrets

    # -- Probe ----------------------------------------------------------------------------------

    def tell(self, kind: str, *fields: Any, span: int | None = None) -> int:
        kernel = self.kernel
        self.seq = seq = self.seq + 1
        if kind in OPENING:
            span = seq
        elif span is None:
            span = kernel.current.span if kernel.current is not None else 0
        self._append(kind, fields, span, seq)
        if self.is_armed:
            self._note(kind, fields, span, seq)
        return seq

    def gate(self, span: int, name: str, verdict: str, detail: Any) -> Awaitable[None] | None:
        kernel = self.kernel
        self.seq = seq = self.seq + 1
        record = _GATE(seq, kernel.now - self.epoch, "gate", span, name, verdict, detail)
        if self._sensitive and span in self._sensitive:
            record.detail = redaction.masked(detail)
        self.records.append(record)
        if self.is_armed:
            return self._held_gate((name, verdict, detail), span, seq)
        return kernel.spend_time(gates.COSTS[name])

    async def hop(self, kind: str, *fields: Any, span: int | None = None) -> int:
        kernel = self.kernel
        self.seq = seq = self.seq + 1
        if kind in OPENING:
            span = seq
            if kind == "work":
                kernel.set_label(f"{fields[0]} {fields[1]}")
        elif span is None:
            task = kernel.current
            span = task.span if task is not None else 0
        self._append(kind, fields, span, seq)
        if self.is_armed:
            if kind == "request":
                self.open_requests[seq] = fields
            await self._maybe_hold(kind, fields, span, seq)
            if kind == "response":
                self.open_requests.pop(span, None)
        cost = COSTS.get(kind)
        if cost is not None:
            waits = kernel.spend_time(cost)
            if waits is not None:
                await waits
        return seq

    # -- control --------------------------------------------------------------------------------

    def arm(self, *, stepping: str = "", breakpoints: tuple[Breakpoint, ...] | None = None) -> None:
        """Hold at the next hop ("hop"), request ("request"), or only at breakpoints ("")."""
        self.stepping = stepping
        if breakpoints is not None:
            self.breakpoints = breakpoints
        self.is_armed = bool(self.stepping or self.breakpoints)
        self._noted = None
        if not self.is_armed:
            self.open_requests.clear()

    def thaw(self) -> None:
        self.held = None
        self.kernel.frozen = False

    # -- host -----------------------------------------------------------------------------------

    def take(self, value: Value) -> Batch | None:
        """The next records, as many as a batch holds; None when all are taken. `value(revision)`
        gives a stored object's bytes."""
        records, writes = self.records, self._writes
        if not records:
            return None
        stored: list[bytes] = []
        live: list[bytes] = []
        first, count, size, begin = records[0].seq, len(records), 0, 0
        while begin < count and size <= BATCH_BYTES:
            write = writes[0] - first if writes else count
            end = min(write, count, begin + RUN_MAX)
            if end > begin:
                text = _encode(records[begin:end])[1:-1]
                stored.append(text)
            else:
                writes.popleft()
                end += 1
                record = records[begin]
                text = _encode(record)
                stored.append(text)
                obj = value(record.rev) or b"null"
                if record.resource == redaction.SECRETS:
                    obj = redaction.object_bytes(obj)
                text = b'%s,"object":%s}' % (text[:-1], obj)
            live.append(text)
            size += len(text)
            begin = end
        last = records[begin - 1]
        self.records = records[begin:]
        return Batch(first, last.seq, last.t, b",".join(stored), b",".join(live))

    # -- inside ---------------------------------------------------------------------------------

    def _append(self, kind: str, fields: tuple[Any, ...], span: int, seq: int) -> None:
        """Keeps a record, without values of Secrets."""
        if kind in _LOOKED_AT or self._sensitive:
            fields = self._shown(kind, fields, span, seq)
        self.records.append(RECORDS[kind](seq, self.kernel.now - self.epoch, kind, span, *fields))

    def _shown(self, kind: str, fields: tuple[Any, ...], span: int, seq: int) -> tuple[Any, ...]:
        """What the start record says about the fields."""
        if kind == "write":
            self._writes.append(seq)
        if span in self._sensitive:
            if kind == "response":
                self._sensitive.discard(span)
            return tuple(map(redaction.masked, fields))
        if kind == "request":
            if redaction.is_sensitive(fields[5], fields[6]):
                self._sensitive.add(seq)
        elif kind in _COMMANDS:
            return _of_command(kind, fields)
        return fields

    async def _held_gate(self, fields: tuple[Any, ...], span: int, seq: int) -> None:
        await self._maybe_hold("gate", fields, span, seq)
        waits = self.kernel.spend_time(gates.COSTS[fields[0]])
        if waits is not None:
            await waits

    def _note(self, kind: str, fields: tuple[Any, ...], span: int, seq: int) -> None:
        """A record that is only told of cannot hold: the next hop does so in its place."""
        if kind == "response":  # of a request that ended without an answer
            self.open_requests.pop(span, None)
        if self._noted is None and kind != "held":
            self._noted = self._hit(kind, fields, span, seq)

    async def _maybe_hold(self, kind: str, fields: tuple[Any, ...], span: int, seq: int) -> None:
        at_request = kind in ("request", "response", "work", "done")
        hit, self._noted = self._noted, None
        if hit is None and (self.stepping == "hop" or (self.stepping and at_request)):
            hit = _Hit(seq, kind, span, "step")
        if hit is None:
            hit = self._hit(kind, fields, span, seq)
        if hit is None:
            return
        self.stepping = ""
        self.is_armed = bool(self.breakpoints)
        self.held = hit._asdict()
        self.tell("held", hit.seq, hit.breakpoint, span=span)
        await self.kernel.hold()

    def _hit(self, kind: str, fields: tuple[Any, ...], span: int, seq: int) -> _Hit | None:
        for breakpoint_ in self.breakpoints:
            if self._matches(breakpoint_, kind, fields, span):
                return _Hit(seq, kind, span, breakpoint_.id)
        return None

    def _matches(self, wanted: Breakpoint, kind: str, fields: tuple[Any, ...], span: int) -> bool:
        if wanted.kind != kind:
            return False
        have = dict(zip(KINDS[kind], fields, strict=False))
        request = self.open_requests.get(span)
        for name, value in wanted.wanted.items():
            if name in have:
                actual = have[name]
            elif request is not None and name in KINDS["request"]:
                actual = request[KINDS["request"].index(name)]
            else:
                return False
            if actual != value:
                return False
        return True


def _of_command(kind: str, fields: tuple[Any, ...]) -> tuple[Any, ...]:
    """A command of etcdctl, or a control action that may be one, without values of Secrets."""
    if kind == "work":
        if fields[0] != "etcdctl":
            return fields
        return (fields[0], redaction.command(fields[1]), *fields[2:])
    action, detail = fields
    if action != "console":
        return fields
    line = redaction.command(detail["command"])
    masked = {**detail, "command": line}
    if redaction.PREFIX in detail["command"] + detail["stdin"] or line != detail["command"]:
        masked["stdin"] = redaction.MASKED
    return action, masked
