"""A priority level: its seats, and the queues of requests that wait for them.

A request takes as many seats as its width and gives them back when it is answered, or when the
watches that get its event are served. It joins the least loaded of the queues that its flow was
dealt (shuffle sharding), and is refused when that queue is full. A free seat goes to the queue
whose oldest request would finish first under fair queuing. The number of seats depends on borrowing
between levels.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset/queueset.go
and pkg/util/shufflesharding/shufflesharding.go.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from apiserver_app.flowcontrol.borrowing import Account, Bounds
from apiserver_app.flowcontrol.metrics import Tally
from apiserver_app.flowcontrol.workestimator import SERVICE_SECONDS, WIDEST, Work
from apiserver_app.handlers.decision import Decision
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.serializer import compact
from apiserver_app.machinery.waiting import Signal

NEVER = math.inf
MESSAGE = "Too many requests, please try again later."


class Report:
    """What the trace says about a request that one schema's flows admit."""

    __slots__ = ("decision", "detail")

    def __init__(self, detail: dict[str, Any]) -> None:
        self.change(detail)

    def change(self, detail: dict[str, Any]) -> None:
        self.detail = detail
        # about a request of one seat that is served at once
        self.decision = Decision("allow", msgspec.Raw(compact.encode(detail)))


@dataclass(slots=True, eq=False)
class Flow:
    """What all requests of one flow share: schema, distinguisher, and queues."""

    schema: str
    level: Level
    distinguisher: str
    hand: tuple[int, ...]
    tally: Tally
    report: Report = field(default_factory=lambda: Report({}))
    uids: tuple[str, str] = ("", "")


class Queue(msgspec.Struct, eq=False):
    index: int = 0
    waiting: deque[Request] = msgspec.field(default_factory=deque)
    executing: int = 0
    seats: int = 0  # of executing requests
    waiting_seats: int = 0
    work: float = 0.0  # of waiting requests, in seat-seconds
    next_dispatch: float = 0.0  # seat-seconds


class Request:
    """An executing or waiting request. `Level.leave` gives its seats back."""

    # defaults are attributes of the class: most requests never wait
    progress = 0.0  # the level's virtual time at arrival
    queue: Queue | None = None
    position = 0  # in its queue at arrival, from 1
    since = 0  # start of execution, µs
    waited = 0  # µs
    signal: Signal | None = None  # while it waits
    granted = False

    def __init__(self, flow: Flow, work: Work, user: str, call: Any, arrived: int) -> None:
        self.level = flow.level
        self.flow = flow
        self.work = work
        self.user = user
        self.call = call
        self.seats = work.seats
        self.arrived = arrived  # µs


class Refused(Exception):
    """No seat is free and no queue has room; `why` is the metric's reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Shape(msgspec.Struct, frozen=True):
    """A level's configuration. Without `queues` a request that finds no seat is refused."""

    bounds: Bounds
    queues: int = 0
    hand: int = 0
    length: int = 0
    exempt: bool = False

    @property
    def widest(self) -> int:
        """Returns how many seats one request may take."""
        own = self.bounds.nominal
        if not self.queues:
            return WIDEST
        return min(WIDEST, max(1, min(-(-own * 15 // 100), own // self.hand)))


class Level:
    def __init__(self, kernel: Kernel, name: str, shape: Shape) -> None:
        self.name = name
        self.shape = shape
        self.widest = shape.widest
        self.account = Account(kernel, shape.bounds, exempt=shape.exempt)
        self.uid = ""
        self.seats = 0  # in use
        self.executing = 0
        self.waiting = 0
        self.waiting_seats = 0
        self.dispatched = self.rejected = self.timed_out = self.cancelled = 0
        self.queues = [Queue(index) for index in range(shape.queues)]
        self._ends = [NEVER] * shape.queues  # when each queue's oldest request would finish
        self.served: dict[Request, None] = {}
        self.progress = 0.0  # virtual time: seat-seconds served per active queue
        self.latest_dispatch = self.latest_start = 0.0
        self._kernel = kernel
        self._dealt = 0  # requests queued so far
        self.next_turn = 0  # where the round robin starts
        self._active = 0  # queues with work
        self._synced = kernel.now
        self._backoff = Backoff()

    def reshape(self, shape: Shape) -> None:
        """Takes another configuration; waiting requests keep their places."""
        self.shape = shape
        self.widest = shape.widest
        self.account.bounds = shape.bounds
        while len(self.queues) < shape.queues:
            self.queues.append(Queue(len(self.queues)))
            self._ends.append(NEVER)
        while len(self.queues) > shape.queues and not self.queues[-1].waiting:
            self.queues.pop()
            self._ends.pop()
        self.dispatch()

    def take(self, flow: Flow, work: Work, user: str, call: Any) -> Request | None:
        """Returns a request with its seats when enough are free and none waits, else None."""
        seats = work.seats
        if self.waiting or not self._fits(seats):
            return None
        request = Request(flow, work, user, call, self._kernel.now)
        if self.shape.queues:
            self._enter(request)
            flow.tally.passed += 1
        self._serve(request)
        return request

    async def wait(
        self, flow: Flow, work: Work, user: str, call: Any, seconds_max: float
    ) -> Request:
        """Queues a request until it has seats. Raises Refused."""
        if not self.shape.queues:
            self.rejected += 1
            raise Refused("concurrency-limit")
        kernel = self._kernel
        request = Request(flow, work, user, call, kernel.now)
        queue = self._enter(request)
        if len(queue.waiting) >= self.shape.length and self.seats >= self.account.current:
            self.rejected += 1
            raise Refused("queue-full")
        self._queue(request, queue)
        self.dispatch()
        entered = request.granted
        try:
            assert request.signal is not None
            await request.signal.wait(seconds_max)
            entered = request.granted
        finally:
            if not entered:  # timed out, or the client disconnected
                self._abandon(request, queue)
            flow.tally.waited[entered].add((kernel.now - request.arrived) / SECOND)
        if not entered:
            self.timed_out += 1
            raise Refused("time-out")
        request.waited = kernel.now - request.arrived
        return request

    def leave(self, request: Request) -> None:
        """Ends an answered request: its seats become free, perhaps after a delay."""
        queue, now = request.queue, self._kernel.now
        if queue is not None:
            self._sync()
        self.executing -= 1
        del self.served[request]
        tally = request.flow.tally
        tally.serving -= 1
        lasted = (now - request.since) / SECOND
        watches = request.call is not None and request.call.verb == "watch"
        (tally.watched if watches else tally.served).add(lasted)
        request.call = None  # it references the request
        if queue is not None:
            queue.executing -= 1
            if not queue.executing and not queue.waiting:
                self._active -= 1
            queue.next_dispatch -= (SERVICE_SECONDS - lasted) * request.work.initial
            if queue.waiting:
                self._bound(queue)
        if request.work.extra:
            self._kernel.call_at(now + request.work.extra, self._linger, request)
        else:
            self._release(request)

    def refused(self) -> errors.ApiError:
        """Returns the error for a request refused now."""
        self._backoff.record(self._kernel.now // SECOND)
        return errors.plain(429, "TooManyRequests", MESSAGE, self._backoff.seconds)

    def dispatch(self) -> None:
        """Gives free seats to waiting requests, fairest queue first."""
        while self.waiting and self.seats < self.account.current:
            queue = self.fairest()
            if queue is None:
                return
            request = queue.waiting[0]
            if not self._fits(request.seats):
                request.flow.tally.unaccommodated += 1
                return
            self._unqueue(request, queue)
            request.granted = True
            self._serve(request)
            assert request.signal is not None
            request.signal.set()

    # -- inside ---------------------------------------------------------------------------------

    def _linger(self, request: Request) -> None:
        """Frees the seats after the watches that got the event are served."""
        self._sync()
        self._release(request)

    def _release(self, request: Request) -> None:
        self.seats -= request.seats
        request.flow.tally.serving_seats -= request.seats
        if request.queue is not None:
            request.queue.seats -= request.seats
        self.account.demand.set(self.seats + self.waiting_seats)
        if self.waiting:
            self._sync()
            self.dispatch()

    def _enter(self, request: Request) -> Queue:
        """Chooses its queue."""
        self._sync()
        request.progress = self.progress
        hand = request.flow.hand
        offset = self._dealt % len(hand)
        self._dealt += 1
        index = hand[offset]
        if self.waiting:
            turned = (*hand[offset:], *hand[:offset])
            index = min(turned, key=lambda number: self.queues[number].work)
        queue = request.queue = self.queues[index]
        return queue

    def _serve(self, request: Request) -> None:
        self.seats += request.seats
        self.executing += 1
        self.dispatched += 1
        self.served[request] = None
        request.since = self._kernel.now
        self.account.demand.set(self.seats + self.waiting_seats)
        tally = request.flow.tally
        tally.dispatched += 1
        tally.serving += 1
        tally.serving_seats += request.seats
        queue = request.queue
        if queue is None:
            return
        if not queue.executing and not queue.waiting:
            self._active += 1
            if not request.granted:
                queue.next_dispatch = self.progress
        queue.executing += 1
        queue.seats += request.seats
        self.next_turn = queue.index
        self.latest_dispatch, self.latest_start = self.progress, queue.next_dispatch
        queue.next_dispatch += request.work.seat_seconds
        if queue.waiting:
            self._bound(queue)

    def _queue(self, request: Request, queue: Queue) -> None:
        if not queue.waiting and not queue.executing:
            queue.next_dispatch = self.progress
            self._active += 1
        queue.waiting.append(request)
        if len(queue.waiting) == 1:
            self._note_end(queue)
        request.position = len(queue.waiting)
        request.signal = Signal(self._kernel)
        self._waits(request, queue, 1)
        request.flow.tally.lengths.add(len(queue.waiting))

    def _unqueue(self, request: Request, queue: Queue) -> None:
        queue.waiting.remove(request)
        self._note_end(queue)
        self._waits(request, queue, -1)
        if not queue.executing and not queue.waiting:
            self._active -= 1

    def _waits(self, request: Request, queue: Queue, sign: int) -> None:
        seats = sign * request.seats
        queue.waiting_seats += seats
        queue.work = queue.work + sign * request.work.seat_seconds if queue.waiting else 0.0
        self.waiting += sign
        self.waiting_seats += seats
        request.flow.tally.waiting += sign
        request.flow.tally.waiting_seats += seats
        self.account.demand.set(self.seats + self.waiting_seats)

    def _abandon(self, request: Request, queue: Queue) -> None:
        if request.granted:
            self.leave(request)
            return
        self._unqueue(request, queue)
        self.rejected += 1
        self.cancelled += 1
        if queue.waiting:
            self._bound(queue)

    def _sync(self) -> None:
        """Advances the level's virtual time by the work served since the last call."""
        now = self._kernel.now
        if now == self._synced:
            return
        elapsed, self._synced = now - self._synced, now
        if self._active:
            demanded = min(self.seats + self.waiting_seats, self.account.current)
            self.progress += demanded / self._active * elapsed / SECOND

    def _fits(self, seats: int) -> bool:
        if self.shape.exempt:
            return True
        limit = self.account.current
        if self.shape.queues and self.seats >= limit:  # with no seats at all nothing is served
            return False
        return self.seats + seats <= limit or (seats > limit and not self.executing)

    def fairest(self) -> Queue | None:
        """Returns the queue whose oldest request would finish first; round robin among equals."""
        finishes, turn = self._ends, self.next_turn + 1
        first = min(finishes, default=NEVER)
        if first == NEVER:
            return None
        ahead = finishes[turn:]
        return self.queues[turn + ahead.index(first) if first in ahead else finishes.index(first)]

    def _bound(self, queue: Queue) -> None:
        """Keeps a queue in which somebody waits from accumulating credit while it is idle."""
        queue.next_dispatch = max(queue.next_dispatch, queue.waiting[0].progress)
        self._note_end(queue)

    def _note_end(self, queue: Queue) -> None:
        end = NEVER
        if queue.waiting:
            end = queue.next_dispatch + queue.waiting[0].work.seat_seconds
        self._ends[queue.index] = end


def deal(value: int, deck: int, hand: int) -> tuple[int, ...]:
    """Returns a flow's queues: `hand` different ones of `deck`, by its hash."""
    rests = []
    for index in range(hand):
        value, rest = divmod(value, deck - index)
        rests.append(rest)
    cards: list[int] = []
    for index in range(hand):
        card = rests[index]
        for before in reversed(rests[:index]):
            if card >= before:
                card += 1
        cards.append(card)
    return tuple(cards)


class Backoff:
    """Computes Retry-After of refusals: it grows while many requests are refused.

    Models staging/src/k8s.io/apiserver/pkg/util/flowcontrol/dropped_requests_tracker.go.
    """

    MAX = 32

    def __init__(self) -> None:
        self.seconds = 1
        self._current = 0
        self._count = 0
        self._updated = 0
        self._history: list[tuple[int, int]] = []

    def record(self, second: int) -> None:
        if second == self._current:
            self._count += 1
            return
        self._history.append((self._current, self._count))
        keep = min(2 * self.seconds, self.MAX)
        self._history = [entry for entry in self._history if self._current - entry[0] <= keep]
        self._current, self._count = second, 1
        dropped = sum(
            count
            for time, count in self._history
            if second - time <= self.seconds and time < second
        )
        if second - self._updated >= self.seconds and dropped >= 3 * self.seconds:
            self.seconds = min(self.seconds * 2, self.MAX)
            self._updated = second
        elif dropped < self.seconds and self.seconds > 1:
            self.seconds -= 1
