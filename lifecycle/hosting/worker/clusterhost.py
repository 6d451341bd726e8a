"""One cluster on its host: admits inputs, runs slices, commits, and only then lets answers out.

A slice is one database transaction. Whatever the cluster says to the outside (answers, watch
lines, trace records) waits in `staged` until the commit that makes it true. Four rules decide the
order: outside requests are admitted inside a slice; they run before all else; a slice is cut once
one of them is done; and after a burst of them the cluster's own work gets at least as long, though
not longer than a slice.

All that depends on wall time happens at admission, and each admission is logged with its kernel
step, so that the same inputs at the same steps give the same run.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import orjson
from msgspec import structs

from apiserver_app.etcd.backend import InputRow, Segment
from apiserver_app.http.exchange import Reply, Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import FOREVER, QUARANTINED, UNBROKEN_MAX
from apiserver_app.machinery.task import Task
from lifecycle.cluster.composition import Cluster
from lifecycle.hosting import quarantine
from lifecycle.hosting.port.links import LARGE_BYTES
from lifecycle.hosting.worker import masking, standing
from lifecycle.hosting.worker.ballot import Ballot
from lifecycle.hosting.worker.clock import MAX, Clock, Wall
from lifecycle.hosting.worker.inbox import Inbox
from lifecycle.trace import storage

LIVE_BYTES_MAX = 16 << 20  # a batch beyond this, of one huge record, is left to the store
LOOK_SECONDS = 0.001  # of the cluster's own work between two looks at the inbox
INSIDE_SHARE_SECONDS_MIN, INSIDE_SHARE_SECONDS_MAX = 0.0005, 0.02  # after a burst of requests
WITHHELD_MAX = 20_000  # requests whose credentials are remembered
UNDER_WAY_MAX = 16  # requests from outside; those that come then wait in turn
LEAD_SECONDS = 0.01  # of wall time that hops may be ahead of the clock

READS = ("GET", "HEAD", "OPTIONS")
PATH_CHARACTERS = 160  # of a request, in its label

Message = tuple[Any, ...]
_encode = msgspec.msgpack.Encoder().encode


class ClusterHost:
    """Drives one Cluster. Everything here happens on the host's thread."""

    def __init__(
        self,
        cluster: Cluster,
        wall: Wall,
        *,
        mode: str,
        speed: float,
        lead_seconds: float = LEAD_SECONDS,
        staged: list[Message] | None = None,
        inbox: Inbox | None = None,
        on_audit: Callable[[list[bytes]], None] = lambda lines: None,
        on_durable: Callable[[int], None] = lambda revision: None,
        erase: Callable[[], None] | None = None,
    ) -> None:
        """`lead_seconds`: see Clock. `staged`: where the cluster's reports go, which leave with its
        answers. `inbox`: what else has inputs for it offers them there. `on_audit` takes the lines
        of the audit log, once what they tell of is durable; `on_durable` the last revision that
        is. `erase` takes away all that is stored of it, where that can be."""
        self.cluster = cluster
        self.kernel = cluster.kernel
        self.clock = Clock(cluster.kernel, wall, mode=mode, speed=speed, lead_seconds=lead_seconds)
        self.wall = wall
        self.staged: list[Message] = [] if staged is None else staged
        self.commits = 0
        self.inbox = inbox or Inbox()
        self.offer = self.inbox.offer  # an input from outside
        self._inputs: list[InputRow] = []
        self.kernel.on_leap = lambda: self.input_now("leap", [])
        # as it was found: a cluster that begins again from there gets the same incarnation
        self.begun = structs.replace(cluster.state, incarnation=cluster.state.incarnation - 1)
        # of requests by number; the log does not have it, and it ends with the process
        self.withheld: dict[int, masking.Withheld] = {}
        self._input_count = cluster.state.control.get("inputs", 0)
        # nobody outside has changed anything: all that is there is the cluster's own work
        self.untouched = bool(cluster.state.control.get("untouched", cluster.state.seq == 0))
        self.stage = ""  # another cluster, in which who drives shows something to who only watches
        self.ballot = Ballot()
        self._outside_done = False
        self.inside_owed_seconds = 0.0
        self._state_sent: dict[str, Any] = {}
        self._on_audit = on_audit
        self._on_durable = on_durable
        self.erase = erase
        self.longest = 0.0  # seconds of a single step
        self.longest_task: Task | None = None  # took it
        self.paused = False  # a worker that starts must boot, whatever was going on before
        # called once, between two steps, when it has
        self.on_booted: Callable[[], None] | None = None
        self._prepares = False  # see `prepare`

    # -- inputs ---------------------------------------------------------------------------------

    def request(
        self,
        number: int,
        request: Request,
        reply: Reply,
        sender: Any,
        is_open: Callable[[], bool] = lambda: True,
    ) -> None:
        """An outside request: it is logged without its credentials, and served once a slice takes
        it in, if its client is still there."""
        kernel, server, label = self.kernel, self.cluster.server, label_of(request)
        line, size = _line(request), len(request.body)
        is_large = size > LARGE_BYTES
        if is_large:
            line += " large"

        async def serve_large() -> None:
            try:
                await server.serve(request, reply)
            finally:
                self.inbox.done(line)

        def start() -> None:
            if label in kernel.quarantined:
                reply.head(*_refusal())
            elif is_open():
                if is_large:
                    self.inbox.hold(line)
                coro = serve_large() if is_large else server.serve(request, reply)
                kernel.spawn(f"request {number}", coro, lane=0, span=0, label=label)

        self.untouched &= request.method in READS
        shown, hidden = masking.logged(request)
        if hidden is not None:
            self.withheld[number] = hidden
            if len(self.withheld) > WITHHELD_MAX:
                del self.withheld[next(iter(self.withheld))]
        entry = [number, request.method, request.path, *shown, sender, request.address]
        self.inbox.offer("request", entry, start, line, size)

    def quarantine(self, noted: Mapping[str, Mapping[str, Any]]) -> None:
        """Reports what stopped workers of this cluster before; what did so twice is not run."""
        for what, entry in noted.items():
            times = entry["times"]
            self.note({"what": what, "times": times, "quarantined": times >= quarantine.TIMES})

    def note(self, detail: Mapping[str, Any]) -> None:
        """Tells of one thing that stopped workers."""
        self.input_now("quarantine", detail)
        self.cluster.recorder.tell("control", "quarantine", detail, span=0)
        if detail["quarantined"]:
            self.kernel.quarantined |= {detail["what"].encode()}

    def input_now(self, what: str, data: Any) -> None:
        """Log an input that takes effect at once (a control action)."""
        self._log(what, data)

    def announce(self) -> None:
        """Tells of the state with the next commit, whatever was told before."""
        self._state_sent = {}

    def outside_done(self) -> None:
        """An outside request got its answer: the slice ends so that the answer may leave."""
        self._outside_done = True

    def _log(self, what: str, data: Any) -> None:
        self._input_count += 1
        kernel = self.kernel
        self._inputs.append(
            InputRow(
                self._input_count,
                kernel.steps,
                kernel.now,
                self.cluster.recorder.seq,
                _encode((what, data)),
            )
        )

    # -- slices ---------------------------------------------------------------------------------

    def run_slice(self, budget_seconds: float, poll: Callable[[], None] | None = None) -> None:
        """Work until the budget is spent, an outside request is done, or nothing is left."""
        kernel = self.kernel
        now = self.wall()
        end = now + budget_seconds
        self._outside_done = False
        if self._prepares:
            self._run_beside(end)
            return
        while True:
            if poll is not None:
                poll()
            if self._has_booted():
                on_booted, self.on_booted = self.on_booted, None
                on_booted()  # type: ignore[misc]
            self._admit()
            # who steps goes on to the next hop; nobody waits for a cluster to start but for timers
            hurries = bool(self.cluster.recorder.stepping) or not self.cluster.ready
            kernel.reach = (FOREVER, FOREVER) if hurries else self.clock.reach()
            began = now
            if kernel.has_outside():
                now = self._run_outside(now, end)
                while self._lets_in() and now < end and not kernel.frozen:
                    self._take_in()
                    now = self._run_outside(now, end)
                spent = max(now - began, INSIDE_SHARE_SECONDS_MIN)
                self.inside_owed_seconds = min(spent, INSIDE_SHARE_SECONDS_MAX)
            elif kernel.has_ready():
                now = self._run(now, min(end, now + LOOK_SECONDS))
                self.inside_owed_seconds -= now - began
            elif not self._fire():
                self.inside_owed_seconds = 0.0
                if kernel.frozen or not self._lets_in():
                    return
            if kernel.frozen or self._outside_done or now >= end:
                return

    def _has_booted(self) -> bool:
        """Whether that is still to be told."""
        return self.on_booted is not None and self.cluster.ready

    def _run(self, now: float, end: float) -> float:
        """Take steps, while there are more; when it was over."""
        run_ready, wall, kernel = self.kernel.run_ready, self.wall, self.kernel
        while run_ready(1):
            began, now = now, wall()
            if now - began > self.longest:
                self.longest, self.longest_task = now - began, kernel.last
            if now >= end:
                break
        return now

    def _run_outside(self, now: float, end: float) -> float:
        """As `_run`, while tasks from outside are ready."""
        while self.kernel.has_outside() and not self.kernel.frozen:
            now = self._run(now, now)
            if now >= end:
                break
        return now

    def _run_beside(self, end: float) -> None:
        """Serves requests while all else stands still."""
        while self._has_beside() and self.wall() < end and not self._outside_done:
            if self._lets_in():
                self._take_in()
            self.kernel.run_beside()

    def _has_beside(self) -> bool:
        """Unless one of them is held at a breakpoint."""
        return self.cluster.recorder.held is None and (self._lets_in() or self.kernel.has_beside())

    def _admit(self) -> None:
        if self.kernel.frozen:
            return
        if self.inside_owed_seconds > 0 and self.kernel.has_ready():
            return
        if self._lets_in():
            self._take_in()

    def _lets_in(self) -> bool:
        """Whether inputs wait, and not for requests that are under way."""
        return self.inbox.waits() and self.kernel.outside < UNDER_WAY_MAX

    def _take_in(self) -> None:
        for what, data, start, _ in self.inbox.take():
            if not self._prepares:  # there time stands still
                self.kernel.advance(self.clock.target())
            self._log(what, data)
            start()
        # the next in turn are let in at this moment, before any hop moves the clock on
        waits = self.inbox.waits() or self._prepares
        self.kernel.unbroken_max = 0 if waits else UNBROKEN_MAX

    def _fire(self) -> bool:
        """Fire the next timer whose time has come, while nothing is ready."""
        kernel = self.kernel
        if kernel.frozen or kernel.has_ready():
            return not kernel.frozen
        stepping = bool(self.cluster.recorder.stepping)
        if kernel.fire_timer(self.clock.target(), jump=self._jumps()):
            return True
        if stepping and not self.inbox.asking:
            # nothing but housekeeping is left: that is the next step then
            due = kernel.next_due(jump=False)
            return due is not None and kernel.fire_timer(due, jump=True)
        return False

    def idle_seconds(self) -> float | None:
        """How long nothing will happen by itself: 0 to run at once, None until an input comes."""
        if self._prepares:
            return 0.0 if self._has_beside() else None
        if self.kernel.frozen:
            return None
        if self._lets_in() or self._has_booted():
            return 0.0
        due = self.kernel.next_due(jump=self._jumps())
        if due is None:
            return None
        return 0.0 if due == 0 else self.clock.wall_seconds_until(due)

    def _jumps(self) -> bool:
        stepping = bool(self.cluster.recorder.stepping)
        return (self.clock.jumps or stepping) and not self.inbox.asking

    # -- commits --------------------------------------------------------------------------------

    def commit(self, *, last: bool = False) -> list[Message]:
        """Make the slice durable; what may leave now. The `last` one leaves nothing for later.
        Raises StoreError; nothing that is staged may leave then."""
        cluster = self.cluster
        store = cluster.store
        batches = list(iter(lambda: cluster.recorder.take(cluster.value_of), None))
        if store.alarm:  # what was not written did not happen: the next worker goes on before it
            self._inputs.clear()
            return self._released()
        volumes = cluster.volumes.changed(whole=last)
        if not batches and not store.pending and not self._inputs and not volumes:
            return self._released()
        state = cluster.state
        state.volumes = volumes
        state.revision, state.compacted = store.revision, store.compacted
        state.now, state.steps = self.kernel.now, self.kernel.steps
        state.rand, state.seq = cluster.rand.state, cluster.recorder.seq
        members = self.cluster.etcd.members
        state.control = {
            "etcd": self.cluster.context.etcd.state,
            "inputs": self._input_count,
            "untouched": self.untouched,
            "members": members.all,
            "leader": members.led,
            standing.KEY: msgspec.to_builtins(self._standing()),
        }
        state.leases = {str(lease): list(grant) for lease, grant in store.granted.items()}
        rows, store.pending = store.pending, []
        inputs, self._inputs = self._inputs, []
        segments = [
            Segment(batch.first, batch.last, batch.t, storage.pack(batch.stored))
            for batch in batches
        ]
        store.backend.commit(state, rows, segments, inputs)
        if rows:
            self._on_durable(state.revision)
        for batch in batches:
            live = batch.live if len(batch.live) <= LIVE_BYTES_MAX else b""
            self.staged.append(("trace", cluster.name, batch.first, batch.last, live))
        return self._released()

    def _released(self) -> list[Message]:
        lines = self.cluster.audit_lines
        if lines:
            self._on_audit(list(lines))
            lines.clear()
        state = self.state()
        if state != self._state_sent:
            self._state_sent = state
            self.staged.append(("state", self.cluster.name, state))
        out = self.staged.copy()
        self.staged.clear()
        self.commits += 1
        return out

    # -- control --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What the page shows of the clock; changes are sent as they happen."""
        recorder = self.cluster.recorder
        stands = self._standing()
        return {
            "mode": "paused" if self.paused else self.clock.mode,
            "speed": stands.speed,
            "frozen": self.kernel.frozen,
            "apiserver": self.cluster.context.life.state,
            "etcd": self.cluster.context.etcd.state,
            "alarm": self.cluster.store.alarm,
            "quarantined": sorted(label.decode() for label in self.kernel.quarantined),
            "held": recorder.held if self.kernel.frozen else None,
            "waiting": self.inbox.count("request") if self._holds() else 0,
            "stage": self.stage,
            "votes": self.ballot.shown(),
            "breakpoints": stands.breakpoints,
        }

    def _standing(self) -> standing.Standing:
        recorder = self.cluster.recorder
        return standing.Standing(
            self.paused or (self.kernel.frozen and recorder.held is not None),
            MAX if self.clock.jumps else self.clock.speed,
            [
                {"id": point.id, "kind": point.kind, **point.wanted}
                for point in recorder.breakpoints
            ],
        )

    def pause(self) -> None:
        self.paused = True
        self.kernel.frozen = True

    def prepare(self) -> None:
        """Pauses, and serves requests all the same, by themselves and in no time: what they change
        is there before the cluster goes on."""
        self.pause()
        self._prepares = True
        self.kernel.set_aside()

    def _holds(self) -> bool:
        return self.kernel.frozen and not self._prepares

    def resume(self) -> None:
        self.paused = False
        self._thaw("")

    def step(self, unit: str) -> None:
        """Go on to the next hop, or to the next begin or end of a request."""
        self.paused = True
        self._thaw(unit)

    def set_speed(self, mode: str, speed: float) -> None:
        self.clock.set(mode, speed)

    def _thaw(self, stepping: str) -> None:
        if self._prepares:
            self._prepares = False
            self.kernel.bring_back()
        recorder = self.cluster.recorder
        recorder.arm(stepping=stepping)
        recorder.thaw()
        self.clock.rebase()


def label_of(request: Request) -> bytes:
    """What stands on the board while it is served."""
    sum_ = zlib.crc32(request.body, zlib.crc32(request.query.encode()))
    return f"request {request.method} {request.path[:PATH_CHARACTERS]} {sum_:08x}".encode()


def _line(request: Request) -> str:
    """Who sends it, as far as that is known before authentication: the name in the certificate,
    else the credential, else the address."""
    if request.tls:
        return str(request.tls[0])
    for name, value in request.headers:
        if name.lower() == "authorization":
            return str(value)
    return request.address.rpartition(":")[0] or "nobody"


def _refusal() -> tuple[int, list[tuple[str, str]], bytes]:
    """The answer to a request that must not be served."""
    error = errors.internal(QUARANTINED)
    return error.code, [("Content-Type", "application/json")], orjson.dumps(error.status())
