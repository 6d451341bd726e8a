"""The work queue of a controller, with delayed and rate-limited adds.

`_order` holds each key that waits for a worker, once. `_dirty` holds each key that must be
processed, with the revisions that caused it; a key in `_order` is always dirty. `_processing` holds
the keys of the workers; a key in it is never in `_order`, so no two workers have the same key.
The queue never looks at objects and never calls the API.

Models kubernetes staging/src/k8s.io/client-go/util/workqueue (queue, delaying_queue,
default_rate_limiters).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from apiserver_app.machinery.bucket import Bucket
from apiserver_app.machinery.histograms import Histogram
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.waiting import Mailbox

BACKOFF_SECONDS_BASE = 0.005
BACKOFF_SECONDS_MAX = 1000.0
BUCKET_PER_SECOND = 10
BUCKET_BURST = 100
CAUSES_MAX = 8
SECONDS = tuple(1e-8 * 10**power for power in range(12))  # bucket bounds of the histograms
PACED_MAX = 4096
# longer waits are background timers: a key that always fails must not drive a fast clock
FOREGROUND_SECONDS_MAX = 10.0


class Item(NamedTuple):
    """A key to reconcile and the revisions that caused it, oldest first."""

    key: str
    revs: tuple[int, ...]


class _Delay(NamedTuple):
    """A delayed add: its due time, the kernel's timer and the causing revisions."""

    due: int
    timer: int
    causes: list[int]


class WorkQueue:
    """Keys in order of arrival, each at most once. `name` identifies it in the trace."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        name: str,
        *,
        backoff_seconds_base: float = BACKOFF_SECONDS_BASE,
        backoff_seconds_max: float = BACKOFF_SECONDS_MAX,
    ) -> None:
        self.name = name
        self._kernel = kernel
        self._probe = probe
        self._order: Mailbox[str] = Mailbox(kernel)
        self._dirty: dict[str, list[int]] = {}
        self._processing: dict[str, tuple[int, ...]] = {}
        self._delays: dict[str, _Delay] = {}
        self._newer: dict[str, None] = {}  # keys delayed anew while in process
        self._failures: dict[str, int] = {}
        self._bucket = Bucket(BUCKET_PER_SECOND, BUCKET_BURST)
        self._backoff_base = backoff_seconds_base
        self._backoff_max = backoff_seconds_max
        self.adds = self.retries = 0  # totals for metrics
        self.waited, self.worked = Histogram(SECONDS), Histogram(SECONDS)
        self._since: dict[str, int] = {}  # when a waiting key was added
        self.begun: dict[str, int] = {}  # when a key in process was taken
        self._pace: tuple[float, int] | None = None
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def pace(self, per_second: float, burst: int) -> None:
        """Rate-limit each key, so that many changes become one reconcile.

        Upstream's limit on a controller's requests (20 a second, burst 30) has the same effect.
        """
        self._pace = (per_second, burst)

    def __len__(self) -> int:
        """The number of keys that wait for a worker."""
        return len(self._order)

    def add(self, key: str, revision: int = 0) -> None:
        """Enqueue the key; `revision` caused it (0: no stored object did)."""
        causes = self._dirty.get(key)
        if causes is not None:
            _add_cause(causes, revision)
            self._tell("dirty", key, revision)
            return
        self._dirty[key] = [revision] if revision else []
        self.adds += 1
        self._since[key] = self._kernel.now
        if key in self._processing:
            self._tell("dirty", key, revision)
            return
        self._enqueue(key, revision)

    async def get(self) -> Item | None:
        """Takes the next key, which is in process until `done`; None once shut down."""
        key = await self._order.get()
        if key is None:
            return None
        causes = tuple(self._dirty.pop(key))
        self._processing[key] = causes
        self._newer.pop(key, None)
        now = self.begun[key] = self._kernel.now
        self.waited.add((now - self._since.pop(key, now)) / SECOND)
        self._tell("get", key, causes[-1] if causes else 0)
        return Item(key, causes)

    def done(self, key: str) -> None:
        """The worker has finished the key; if it became dirty meanwhile, it is enqueued again."""
        self._processing.pop(key, None)
        self._newer.pop(key, None)
        now = self._kernel.now
        self.worked.add((now - self.begun.pop(key, now)) / SECOND)
        self._tell("done", key, 0)
        causes = self._dirty.get(key)
        if causes is not None:
            self._enqueue(key, causes[-1] if causes else 0)

    def add_after(
        self, key: str, seconds: float, revision: int = 0, *, background: bool | None = None
    ) -> None:
        """Adds the key after a delay; of several delays of a key the shortest counts."""
        self.retries += 1
        if seconds <= 0:
            self.add(key, revision)
            return
        if key in self._processing:
            self._newer[key] = None
        self._add_later(key, seconds, revision, background)

    def _add_later(self, key: str, seconds: float, revision: int, background: bool | None) -> None:
        due = self._kernel.now + int(seconds * SECOND)
        waiting = self._delays.get(key)
        if waiting is not None and waiting.due <= due:
            _add_cause(waiting.causes, revision)
            return
        self._delay("later", key, due, self._causes(key, revision), background)

    def set_after(self, key: str, seconds: float, *, background: bool | None = None) -> None:
        """Like `add_after`, but replaces any pending delay; 0 cancels it. A delay asked for while
        the key is in process stays, unless this one is shorter: it stands for something newer."""
        waiting = self._delays.get(key)
        if waiting is not None and waiting.due == self._kernel.now + int(seconds * SECOND):
            return
        if key not in self._newer:
            self._cancel_delay(key)
        if seconds > 0:
            self.retries += 1
            self._add_later(key, seconds, 0, background)

    def retry(self, key: str) -> float:
        """Adds the key after its back-off; returns the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        backoff = min(self._backoff_base * 2.0 ** min(failures, 64), self._backoff_max)
        seconds = max(backoff, self._bucket.take(self._kernel.now))
        due = self._kernel.now + int(seconds * SECOND)
        waiting = self._delays.get(key)
        if waiting is None or waiting.due > due:
            self._delay("retry", key, due, self._causes(key, 0), None)
        return seconds

    def forget(self, key: str) -> None:
        """Resets the key's back-off, after a success or when it is given up."""
        self._failures.pop(key, None)

    def failures(self, key: str) -> int:
        return self._failures.get(key, 0)

    def shut_down(self) -> None:
        """Stops: `get` returns None after the waiting keys, and pending delays are cancelled."""
        for key in list(self._delays):
            self._cancel_delay(key)
        self._order.close()

    def _enqueue(self, key: str, revision: int) -> None:
        """Queues a dirty key for a worker, or delays it if it exceeds its rate."""
        seconds = self._seconds_too_early(key)
        if seconds > 0:
            causes = self._dirty.pop(key)
            self.adds -= 1  # it is counted when the delay ends
            due = self._kernel.now + int(seconds * SECOND)
            waiting = self._delays.get(key)
            if waiting is not None and waiting.due <= due:
                for cause in causes:
                    _add_cause(waiting.causes, cause)
                self._tell("dirty", key, revision)
            else:
                self._delay("later", key, due, causes, False)
            return
        self._order.put(key)
        self._tell("add", key, revision)

    def _seconds_too_early(self, key: str) -> float:
        if self._pace is None:
            return 0.0
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket(*self._pace)
            if len(self._buckets) > PACED_MAX:
                self._buckets.popitem(last=False)
        return bucket.try_take(self._kernel.now)

    def _causes(self, key: str, revision: int) -> list[int]:
        """The causes of a delayed add: the given revision, else those of the key in process."""
        return [revision] if revision else list(self._processing.get(key, ()))

    def _delay(
        self, op: str, key: str, due: int, causes: list[int], background: bool | None
    ) -> None:
        self._cancel_delay(key)
        seconds = (due - self._kernel.now) / SECOND
        if background is None:
            background = op == "retry" and seconds > FOREGROUND_SECONDS_MAX
        timer = self._kernel.call_at(due, self._end_delay, key, background=background)
        self._delays[key] = _Delay(due, timer, causes)
        self._probe.tell(
            "queue", self.name, op, key, len(self._order), causes[-1] if causes else 0, seconds
        )

    def _cancel_delay(self, key: str) -> None:
        waiting = self._delays.pop(key, None)
        if waiting is not None:
            self._kernel.drop(waiting.timer)

    def _end_delay(self, key: str) -> None:
        causes = self._delays.pop(key).causes
        if self._order.closed:
            return
        if not causes:
            self.add(key)
        for cause in causes:
            self.add(key, cause)

    def _tell(self, op: str, key: str, revision: int) -> None:
        self._probe.tell("queue", self.name, op, key, len(self._order), revision, 0)


def _add_cause(causes: list[int], revision: int) -> None:
    """Adds a cause, keeping the first ones and the newest, so that bursts stay short."""
    if not revision or (causes and causes[-1] == revision):
        return
    if len(causes) < CAUSES_MAX:
        causes.append(revision)
    else:
        causes[-1] = revision
