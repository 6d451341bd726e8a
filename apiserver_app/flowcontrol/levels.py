"""One priority level: its seats, and the queues of those who wait for one.

A request takes as many seats as it is wide and gives them back when it is answered. While seats
are free nobody waits. When none is, a request is put into one of the queues that its flow was
dealt (shuffle sharding), the one with the least to do; it is refused when that one is full. A free
seat goes to the queue whose oldest request would be finished first in a fair world (fair queuing).

Not modelled: borrowing seats from other levels, and the extra latency of writes that many watch.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset/queueset.go
and pkg/util/shufflesharding/shufflesharding.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND, Kernel, Signal

SERVICE_SECONDS = 0.003  # what a request is taken to last until it has
MESSAGE = "Too many requests, please try again later."


@dataclass(slots=True)
class Waiter:
    """One request in a queue."""

    flow: str  # of which schema
    distinguisher: str
    seats: int
    arrived: int  # µs
    progress: float  # how far the level was when it came
    signal: Signal
    about: tuple[str, str, str]  # user, verb, path
    granted: bool = False


@dataclass(slots=True)
class Queue:
    waiting: deque[Waiter] = field(default_factory=deque)
    executing: int = 0
    seats: int = 0
    next_dispatch: float = 0.0  # seat-seconds

    def work(self) -> float:
        return sum(one.seats for one in self.waiting) * SERVICE_SECONDS


@dataclass(slots=True)
class Taken:
    """Seats that a request has; given back by `Level.leave`."""

    level: Level
    seats: int
    queue: Queue | None = None
    since: int = 0
    index: int = -1
    position: int = 0  # in its queue when it came, from 1
    waited: int = 0  # µs


class Refused(Exception):
    """There is no seat and no place to wait; `why` is the metric's word for it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Shape:
    """How a level is configured. `limit` is None where there is none."""

    limit: int | None
    queues: int = 0  # none: who finds no seat is refused
    hand: int = 0
    length: int = 0

    @property
    def widest(self) -> int:
        """How many seats one request may take."""
        if self.limit is None or not self.queues:
            return WIDEST
        return min(WIDEST, max(1, min(-(-self.limit * 15 // 100), self.limit // self.hand)))


WIDEST = 10


class Level:
    def __init__(self, kernel: Kernel, name: str, shape: Shape) -> None:
        self.name = name
        self.shape = shape
        self.uid = ""
        self.seats = 0  # in use
        self.executing = 0
        self.waiting = 0
        self.dispatched = self.rejected = self.timed_out = self.cancelled = 0
        self.queues = [Queue() for _ in range(shape.queues)]
        self._kernel = kernel
        self._dealt = 0  # how many were put into a queue
        self._next = 0  # where the search for the next queue begins
        self._progress = 0.0
        self._synced = kernel.now
        self._backoff = Backoff()

    def reshape(self, shape: Shape) -> None:
        """Take on another configuration; nobody who waits loses the place."""
        self.shape = shape
        while len(self.queues) < shape.queues:
            self.queues.append(Queue())
        while len(self.queues) > shape.queues and not self.queues[-1].waiting:
            self.queues.pop()
        self._dispatch()

    def take(self, seats: int) -> bool:
        """Whether that many seats are free now; they are taken then."""
        if self.waiting or not self._fits(seats):
            return False
        self.seats += seats
        self.executing += 1
        self.dispatched += 1
        return True

    async def wait(
        self, seats: int, hand: Sequence[int], flow: str, distinguisher: str,
        about: tuple[str, str, str], seconds_max: float,
    ) -> Taken:  # fmt: skip
        """Stand in a queue until there are seats. Raises Refused."""
        if not self.shape.queues:
            self.rejected += 1
            raise Refused("concurrency-limit")
        self._sync()
        index = self._choose(hand)
        queue = self.queues[index]
        if len(queue.waiting) >= self.shape.length:
            self.rejected += 1
            raise Refused("queue-full")
        kernel = self._kernel
        waiter = Waiter(
            flow, distinguisher, seats, kernel.now, self._progress, Signal(kernel), about
        )
        if not queue.waiting and not queue.executing:
            queue.next_dispatch = self._progress
        queue.waiting.append(waiter)
        self.waiting += 1
        position = len(queue.waiting)
        taken = Taken(self, seats, queue, kernel.now, index, position)
        entered = False
        self._dispatch()
        try:
            await waiter.signal.wait(seconds_max)
            entered = waiter.granted
        finally:
            if not entered:  # in vain, or whoever asked has gone away
                self._abandon(queue, waiter, taken)
        if not entered:
            self.timed_out += 1
            raise Refused("time-out")
        taken.waited, taken.since = kernel.now - waiter.arrived, kernel.now
        return taken

    def leave(self, taken: Taken) -> None:
        """Give the seats back; whoever is next gets them."""
        self.seats -= taken.seats
        self.executing -= 1
        if taken.queue is not None or self.waiting:
            self._sync()
        queue = taken.queue
        if queue is not None:
            queue.executing -= 1
            queue.seats -= taken.seats
            lasted = (self._kernel.now - taken.since) / SECOND
            queue.next_dispatch -= (SERVICE_SECONDS - lasted) * taken.seats
            _bound(queue)
        if self.waiting:
            self._dispatch()

    def refused(self) -> errors.ApiError:
        """The answer to who was refused just now."""
        self._backoff.record(self._kernel.now // SECOND)
        return errors.plain(429, "TooManyRequests", MESSAGE, self._backoff.seconds)

    # -- inside ---------------------------------------------------------------------------------

    def _abandon(self, queue: Queue, waiter: Waiter, taken: Taken) -> None:
        if waiter.granted:
            self.leave(taken)
            return
        queue.waiting.remove(waiter)
        self.waiting -= 1
        self.rejected += 1
        self.cancelled += 1
        _bound(queue)

    def _choose(self, hand: Sequence[int]) -> int:
        offset = self._dealt % len(hand)
        self._dealt += 1
        turned = [*hand[offset:], *hand[:offset]]
        return min(turned, key=lambda index: self.queues[index].work())

    def _sync(self) -> None:
        """Advance the level's progress by what its queues did since the last look."""
        now = self._kernel.now
        passed, self._synced = now - self._synced, now
        active = [one for one in self.queues if one.waiting or one.executing]
        if active and passed > 0:
            asked = sum(one.seats + sum(w.seats for w in one.waiting) for one in active)
            limit = self.shape.limit or asked
            self._progress += min(asked, limit) / len(active) * passed / SECOND

    def _dispatch(self) -> None:
        """Give free seats to those who wait, the next in fairness first."""
        while self.waiting:
            queue = self._fairest()
            if queue is None or not self._fits(queue.waiting[0].seats):
                return
            waiter = queue.waiting.popleft()
            self.waiting -= 1
            self.seats += waiter.seats
            self.executing += 1
            self.dispatched += 1
            queue.executing += 1
            queue.seats += waiter.seats
            queue.next_dispatch += SERVICE_SECONDS * waiter.seats
            _bound(queue)
            waiter.granted = True
            waiter.signal.set()

    def _fits(self, seats: int) -> bool:
        limit = self.shape.limit
        if limit is None:
            return True
        if self.shape.queues and self.seats >= limit:  # with no seats at all nothing is served
            return False
        return self.seats + seats <= limit or (seats > limit and not self.executing)

    def _fairest(self) -> Queue | None:
        """The queue whose oldest request would finish first; round robin among equals."""
        best: Queue | None = None
        finish = 0.0
        count = len(self.queues)
        for step in range(count):
            index = (self._next + 1 + step) % count
            queue = self.queues[index]
            if not queue.waiting:
                continue
            end = queue.next_dispatch + SERVICE_SECONDS * queue.waiting[0].seats
            if best is None or end < finish:
                best, finish, found = queue, end, index
        if best is not None:
            self._next = found
        return best


def _bound(queue: Queue) -> None:
    """No queue may save up for later what it did not ask for."""
    if queue.waiting:
        queue.next_dispatch = max(queue.next_dispatch, queue.waiting[0].progress)


def deal(value: int, deck: int, hand: int) -> tuple[int, ...]:
    """The queues of a flow: `hand` different ones of `deck`, by its hash."""
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
    """How long the refused are told to stay away: longer while many are, by the second.

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
        self._history = [one for one in self._history if self._current - one[0] <= keep]
        self._current, self._count = second, 1
        dropped = sum(
            count for at, count in self._history if second - at <= self.seconds and at < second
        )
        if second - self._updated >= self.seconds and dropped >= 3 * self.seconds:
            self.seconds = min(self.seconds * 2, self.MAX)
            self._updated = second
        elif dropped < self.seconds and self.seconds > 1:
            self.seconds -= 1
