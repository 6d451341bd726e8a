"""Runs a cluster's log of inputs again, step by step, up to a record of its trace.

All that depends on the wall clock is in the log: an input enters at its kernel step and its virtual
time, and between two inputs the kernel decides the order alone. Nothing is taken on trust: each
record that comes is compared with the stored one, each object with the one that was written.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from apiserver_app.egress.carriers import Arrived, Dial, Done, Line, Network, Opened
from apiserver_app.egress.outbound import Answer, Call, CallFailed
from apiserver_app.etcd.backend import InputRow
from apiserver_app.http.exchange import Headers, Reply, Request
from apiserver_app.machinery.kernel import FOREVER, UNBROKEN_MAX
from lifecycle.hosting.worker import masking
from lifecycle.hosting.worker.clock import MAX
from lifecycle.hosting.worker.clusterhost import READS, ClusterHost, label_of
from lifecycle.hosting.worker.control import ControlError, Controls
from lifecycle.trace import storage

SLICE_SECONDS = 0.005
INPUTS_READ = 200  # at once
COMPARED_RECORDS = 1000  # at once, with one commit


class Diverged(Exception):
    """The run cannot be repeated; the text says from where on and why."""


class Rerun:
    """One cluster that does again what another did."""

    def __init__(self, host: ClusterHost, original: ClusterHost) -> None:
        self._host = host
        self._original = original.cluster.store.backend
        self._withheld = original.withheld
        self._next = original.begun.control.get("inputs", 0) + 1
        self._last_step = original.cluster.state.steps  # of the newest commit
        self._controls = Controls({host.cluster.name: host})
        self._replies: dict[int, Unheard] = {}
        self._gone: set[int] = set()  # requests whose client is
        self._real = host.cluster.outbound.network
        self._network = Recorded()
        self._roles: dict[str, None] = {}  # that were asked for and did not come yet
        self._ask: Callable[[str], None] = self._wait_for
        self._compared = host.cluster.recorder.seq, host.cluster.store.revision
        self._takers: dict[str, Callable[[Any], None]] = {
            "request": self._request,
            "role": self._role,
            "control": self._control,
            "data": lambda data: self._pass("data", *data),
            "took": lambda data: self._pass("took", *data),
            "cancel": self._cancel,
            "quarantine": host.note,
            "leap": lambda data: None,
            "answer": self._network.answer,
            "dialled": self._network.dialled,
            "wire": self._network.wire,
        }

    def until(self, seq: int) -> Iterator[float]:
        """Goes to the end of the step that made record `seq`; yields the part that is done. Raises
        Diverged, or StoreError."""
        cluster, kernel = self._host.cluster, self._host.kernel
        begun = cluster.recorder.seq
        kernel.unbroken_max, kernel.reach = 0, (FOREVER, FOREVER)
        cluster.outbound.network = self._network
        started = False
        for row in self._rows():
            what, data = msgspec.msgpack.decode(row.data)
            if not started and what != "quarantine":  # that is told before the start
                started = True
                cluster.start(self._asked)
            for _ in self._steps(row.step, seq):
                yield (cluster.recorder.seq - begun) / (seq - begun + 1)
            if cluster.recorder.seq >= seq:
                break
            self._take(row, what, data)
        if not started:
            cluster.start(self._asked)
        for _ in self._steps(self._last_step, seq):
            yield (cluster.recorder.seq - begun) / (seq - begun + 1)
        if cluster.recorder.seq < seq:
            raise Diverged(f"the run came to an end at record {cluster.recorder.seq}")
        self._compare()

    def hand_over(self, ask: Callable[[str], None]) -> None:
        """It goes on by itself: roles that are to come are asked for by `ask`, calls that are under
        way are made again."""
        kernel = self._host.kernel
        kernel.unbroken_max = UNBROKEN_MAX
        self._host.cluster.outbound.network = self._real
        if self._real is not None:
            self._network.pass_on(self._real)
        roles, self._roles = self._roles, {}
        self._ask = ask
        for role in roles:
            ask(role)

    # -- the kernel -----------------------------------------------------------------------------

    def _steps(self, until: int, seq: int) -> Iterator[None]:
        """Up to a kernel step, or the record."""
        kernel, recorder = self._host.kernel, self._host.cluster.recorder
        end = time.monotonic() + SLICE_SECONDS
        while kernel.steps < until and recorder.seq < seq:
            if kernel.frozen:
                raise Diverged(f"it was held at record {recorder.seq}, and the cluster was not")
            if not kernel.run_ready(1) and not kernel.fire_timer(FOREVER, jump=False):
                raise Diverged(f"there was nothing left to do at record {recorder.seq}")
            if recorder.seq - self._compared[0] >= COMPARED_RECORDS:
                self._compare()
            if time.monotonic() >= end:
                yield
                end = time.monotonic() + SLICE_SECONDS

    def _compare(self) -> None:
        """Commits, and looks whether the same was committed before."""
        host = self._host
        host.commit()
        host.staged.clear()
        (seq, revision), cluster = self._compared, host.cluster
        self._compared = cluster.recorder.seq, cluster.store.revision
        ours = storage.texts(cluster.store.backend, seq + 1, cluster.recorder.seq)
        theirs = storage.texts(self._original, seq + 1, cluster.recorder.seq)
        if ours != theirs:
            same = next(
                (n for n, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]),
                min(len(ours), len(theirs)),
            )
            raise Diverged(f"the run differs from record {seq + 1 + same} on")
        written = range(revision + 1, cluster.store.revision + 1)
        kept = self._original.values(written)
        for number, value in cluster.store.backend.values(written).items():
            if kept.get(number, value) != value:
                raise Diverged(f"what it wrote differs from revision {number} on")

    # -- inputs ---------------------------------------------------------------------------------

    def _rows(self) -> Iterator[InputRow]:
        while rows := list(self._original.inputs(self._next - 1, INPUTS_READ)):
            for row in rows:
                if row.n != self._next:
                    raise Diverged("what came in from outside is not kept that far back")
                self._next += 1
                yield row

    def _take(self, row: InputRow, what: str, data: Any) -> None:
        kernel, recorder = self._host.kernel, self._host.cluster.recorder
        kernel.advance(row.t)
        if (kernel.steps, kernel.now, recorder.seq) != (row.step, row.t, row.seq):
            raise Diverged(f"the run differs from record {recorder.seq} on")
        taker = self._takers.get(what)
        if taker is None:
            raise Diverged("a file of authentication or authorization changed, and is not kept")
        if what not in ("control", "quarantine"):  # these are logged where they take effect
            self._host.input_now(what, data)
        taker(data)

    def _asked(self, role: str) -> None:
        self._ask(role)

    def _wait_for(self, role: str) -> None:
        self._roles[role] = None

    def _role(self, data: Any) -> None:
        role, action, details = data
        self._roles.pop(role, None)
        self._host.cluster.role(role, action, **details)

    def _request(self, data: Any) -> None:
        number, method, path, query, headers, body, tls, address = data
        pairs = [(name, value) for name, value in headers]
        shown = Request(method, path, query, pairs, body, tls, address)
        request = masking.whole(shown, self._withheld.get(number))
        if request is None:
            raise Diverged("a request came with a credential that is no longer remembered")
        reply, label, host = Unheard(), label_of(request), self._host
        host.untouched &= method in READS
        self._replies[number] = reply
        if number not in self._gone and label not in host.kernel.quarantined:
            coro = host.cluster.server.serve(request, reply)
            host.kernel.spawn(f"request {number}", coro, lane=0, span=0, label=label)

    def _pass(self, kind: str, number: int, what: Any) -> None:
        if number in self._replies:
            self._replies[number].on(kind, what)

    def _cancel(self, data: Any) -> None:
        self._gone.add(data[0])
        self._pass("cancel", data[0], None)

    def _control(self, data: Any) -> None:
        action, detail = data
        if action == "speed":
            detail = {"speed": MAX if detail["mode"] == MAX else detail["speed"]}
        with contextlib.suppress(ControlError):  # as it was refused then
            self._controls.handle(self._host.cluster.name, action, detail)


class Unheard(Reply):
    """The answer of a request whose client is not there: it had its answer long ago."""

    def __init__(self) -> None:
        self._listeners: dict[str, Callable[[Any], None]] = {}

    def head(
        self, status: int, headers: Headers, body: bytes, *, more: bool = False, paced: str = ""
    ) -> None: ...

    def body(self, data: bytes | str, more: bool) -> None: ...

    def switch(self, headers: Headers) -> None: ...

    def close(self, code: int, reason: str) -> None: ...

    def took(self, count: int) -> None: ...

    def listen(self, **calls: Callable[[Any], None]) -> None:
        self._listeners.update(calls)

    def on(self, what: str, data: Any) -> None:
        listener = self._listeners.get(what)
        if listener is not None:
            listener(data)


class Recorded:
    """The way out of a cluster, whose answers come from the log: nobody is called again."""

    def __init__(self) -> None:
        self._count = 0
        self._asked: dict[int, tuple[Call, Dial, Done]] = {}
        self._opening: dict[int, tuple[Call, Dial, Opened, Arrived]] = {}
        self._open: dict[int, Arrived] = {}

    # the Network of carriers
    def ask(self, call: Call, dial: Dial, done: Done) -> None:
        self._count += 1
        self._asked[self._count] = (call, dial, done)

    def open(self, call: Call, dial: Dial, opened: Opened, arrived: Arrived) -> None:
        self._count += 1
        self._opening[self._count] = (call, dial, opened, arrived)

    # what the log has
    def answer(self, data: Any) -> None:
        number, status, *rest = data
        _, _, done = self._taken(self._asked, number)
        done(Answer(status, *rest) if status else CallFailed(rest[0], timed_out=rest[1]))

    def dialled(self, data: Any) -> None:
        number, connected, *rest = data
        _, _, opened, arrived = self._taken(self._opening, number)
        if connected:
            self._open[number] = arrived
        opened(_NoLine() if connected else CallFailed(rest[0], timed_out=rest[1]))

    def wire(self, data: Any) -> None:
        number, piece = data
        self._taken({number: self._open.get(number)}, number)(piece)

    def pass_on(self, network: Network) -> None:
        """What is under way is begun anew; connections that stood are over."""
        for call in self._asked.values():
            network.ask(*call)
        for opening in self._opening.values():
            network.open(*opening)
        for arrived in self._open.values():
            arrived(None)

    @staticmethod
    def _taken(waiting: dict[int, Any], number: int) -> Any:
        call = waiting.pop(number, None)
        if call is None:
            raise Diverged("an answer came from outside that nobody had asked for")
        return call


class _NoLine(Line):
    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...

    def took(self, count: int) -> None: ...
