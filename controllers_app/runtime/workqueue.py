"""The work queue: three fields, each with its invariant, plus delayed and rate-limited adds.

`_order` holds each key that waits for a worker once. `_dirty` holds each key that must be worked
on, with the revisions that caused it; a key in `_order` is always dirty. `_processing` holds the
keys a worker has; a key in it is never in `_order`, so no key is worked on twice at a time.
Time is the kernel's. The queue never looks at objects and never calls the API.

Models kubernetes staging/src/k8s.io/client-go/util/workqueue (queue, delaying_queue,
default_rate_limiters).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from apiserver_app.machinery.histograms import Histogram
from apiserver_app.machinery.kernel import SECOND, Kernel, Mailbox
from apiserver_app.machinery.probe import Probe

BACKOFF_SECONDS_BASE = 0.005
BACKOFF_SECONDS_MAX = 1000.0
BUCKET_PER_SECOND = 10
BUCKET_BURST = 100
CAUSES_MAX = 8
SECONDS = tuple(1e-8 * 10**power for power in range(12))  # by which times are counted
PACED_MAX = 4096
# a longer wait must not drag a fast clock along: a key that fails for ever would spin it
FOREGROUND_SECONDS_MAX = 10.0


class Item(NamedTuple):
    """A key to work on and the revisions that caused it, oldest first."""

    key: str
    revs: tuple[int, ...]


class _Wait(NamedTuple):
    """A delayed add: when, the kernel's timer, and what it is owed to."""

    due: int
    timer: int
    causes: list[int]


class WorkQueue:
    """Keys in order of arrival, each at most once. `name` is what the trace calls it."""

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
        self._later: dict[str, _Wait] = {}
        self._failures: dict[str, int] = {}
        self._bucket = Bucket(BUCKET_PER_SECOND, BUCKET_BURST)
        self._backoff_base = backoff_seconds_base
        self._backoff_max = backoff_seconds_max
        self.adds = self.retries = 0  # so many there were
        self.waited, self.worked = Histogram(SECONDS), Histogram(SECONDS)
        self._since: dict[str, int] = {}  # when a key that waits was added
        self.begun: dict[str, int] = {}  # when a key that is worked on was taken
        self._pace: tuple[float, int] | None = None
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def pace(self, per_second: float, burst: int) -> None:
        """Hold back keys that come back more often than that: many changes become one reconcile.

        It stands for upstream's limit on a controller's requests (20 a second, burst 30), which
        has the same effect there.
        """
        self._pace = (per_second, burst)

    def __len__(self) -> int:
        """How many keys wait for a worker."""
        return len(self._order)

    def add(self, key: str, revision: int = 0) -> None:
        """Have the key worked on; `revision` is what made it necessary (0: nothing stored)."""
        causes = self._dirty.get(key)
        if causes is not None:
            _remember(causes, revision)
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
        """The next key, which is then being processed until `done`. None once shut down."""
        key = await self._order.get()
        if key is None:
            return None
        causes = tuple(self._dirty.pop(key))
        self._processing[key] = causes
        now = self.begun[key] = self._kernel.now
        self.waited.add((now - self._since.pop(key, now)) / SECOND)
        self._tell("get", key, causes[-1] if causes else 0)
        return Item(key, causes)

    def done(self, key: str) -> None:
        """The worker is finished with the key; if it became dirty meanwhile it waits again."""
        self._processing.pop(key, None)
        now = self._kernel.now
        self.worked.add((now - self.begun.pop(key, now)) / SECOND)
        self._tell("done", key, 0)
        causes = self._dirty.get(key)
        if causes is not None:
            self._enqueue(key, causes[-1] if causes else 0)

    def add_after(
        self, key: str, seconds: float, revision: int = 0, *, background: bool | None = None
    ) -> None:
        """Add the key that much later; of several waits for one key the shortest counts."""
        self.retries += 1
        if seconds <= 0:
            self.add(key, revision)
            return
        due = self._kernel.now + int(seconds * SECOND)
        waiting = self._later.get(key)
        if waiting is not None and waiting.due <= due:
            _remember(waiting.causes, revision)
            return
        self._wait("later", key, due, self._causes(key, revision), background)

    def set_after(self, key: str, seconds: float, *, background: bool | None = None) -> None:
        """As `add_after`, but instead of any wait there was; 0 ends the wait."""
        waiting = self._later.get(key)
        if waiting is not None and waiting.due == self._kernel.now + int(seconds * SECOND):
            return
        self._end_wait(key)
        if seconds > 0:
            self.add_after(key, seconds, background=background)

    def retry(self, key: str) -> float:
        """Add the key after its back-off; how many seconds that is."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        backoff = min(self._backoff_base * 2.0 ** min(failures, 64), self._backoff_max)
        seconds = max(backoff, self._bucket.take(self._kernel.now))
        due = self._kernel.now + int(seconds * SECOND)
        waiting = self._later.get(key)
        if waiting is None or waiting.due > due:
            self._wait("retry", key, due, self._causes(key, 0), None)
        return seconds

    def forget(self, key: str) -> None:
        """The key succeeded or was given up: its next failure starts from the shortest back-off."""
        self._failures.pop(key, None)

    def failures(self, key: str) -> int:
        return self._failures.get(key, 0)

    def shut_down(self) -> None:
        """No more work: `get` gives None once the waiting keys are taken, and no wait fires."""
        for key in list(self._later):
            self._end_wait(key)
        self._order.close()

    def _enqueue(self, key: str, revision: int) -> None:
        """Let a dirty key wait for a worker, or first for its turn if it came too often."""
        seconds = self._seconds_too_early(key)
        if seconds > 0:
            causes = self._dirty.pop(key)
            self.adds -= 1  # it will be added when its turn has come
            due = self._kernel.now + int(seconds * SECOND)
            waiting = self._later.get(key)
            if waiting is not None and waiting.due <= due:
                for cause in causes:
                    _remember(waiting.causes, cause)
                self._tell("dirty", key, revision)
            else:
                self._wait("later", key, due, causes, False)
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
        """What a delayed add is owed to: the given revision, else what is being worked on."""
        return [revision] if revision else list(self._processing.get(key, ()))

    def _wait(
        self, op: str, key: str, due: int, causes: list[int], background: bool | None
    ) -> None:
        self._end_wait(key)
        seconds = (due - self._kernel.now) / SECOND
        if background is None:
            background = op == "retry" and seconds > FOREGROUND_SECONDS_MAX
        timer = self._kernel.call_at(due, self._ripen, key, background=background)
        self._later[key] = _Wait(due, timer, causes)
        self._probe.tell(
            "queue", self.name, op, key, len(self._order), causes[-1] if causes else 0, seconds
        )

    def _end_wait(self, key: str) -> None:
        waiting = self._later.pop(key, None)
        if waiting is not None:
            self._kernel.drop(waiting.timer)

    def _ripen(self, key: str) -> None:
        causes = self._later.pop(key).causes
        if self._order.closed:
            return
        if not causes:
            self.add(key)
        for cause in causes:
            self.add(key, cause)

    def _tell(self, op: str, key: str, revision: int) -> None:
        self._probe.tell("queue", self.name, op, key, len(self._order), revision, 0)


class Bucket:
    """A token bucket that hands out waits: the caller may act that many seconds from now."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._gap = int(SECOND / per_second)
        self._slack = self._gap * burst
        self._free_at = 0  # when the bucket is full again, if nobody takes any more

    def take(self, now: int) -> float:
        """Take one token; the seconds until it is there."""
        start = max(self._free_at, now)
        self._free_at = start + self._gap
        return max(0, self._free_at - self._slack - now) / SECOND

    def try_take(self, now: int) -> float:
        """Take one token if there is one now; else the seconds until there is one."""
        start = max(self._free_at, now)
        early = start + self._gap - self._slack - now
        if early > 0:
            return early / SECOND
        self._free_at = start + self._gap
        return 0.0


def _remember(causes: list[int], revision: int) -> None:
    """Keep the first causes and the newest one; a burst of updates does not grow the list."""
    if not revision or (causes and causes[-1] == revision):
        return
    if len(causes) < CAUSES_MAX:
        causes.append(revision)
    else:
        causes[-1] = revision
