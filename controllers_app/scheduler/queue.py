"""The scheduling queue: active pods by priority and age, pods that back off, pods that wait for
the cluster to change.

Models kubernetes pkg/scheduler/backend/queue/scheduling_queue.go.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND, Kernel, Signal
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe

BACKOFF_SECONDS = 1
BACKOFF_SECONDS_MAX = 10
UNSCHEDULABLE_SECONDS_MAX = 300

ACTIVE, BACKING_OFF, WAITING, TAKEN = "active", "backoff", "unschedulable", "taken"


@dataclass(slots=True)
class Queued:
    """One pod in the queue. `blockers` are the plugins that turned it down last time."""

    pod: Object
    place: str = ACTIVE
    attempts: int = 0
    since: int = 0
    blockers: tuple[str, ...] = ()
    revs: list[int] = field(default_factory=list)
    turn: int = 0
    ready_at: int = 0


class SchedulingQueue:
    """Pods without a node. A pod is in exactly one place."""

    def __init__(self, kernel: Kernel, probe: Probe) -> None:
        self._kernel = kernel
        self._probe = probe
        self._pods: dict[str, Queued] = {}
        self._active: list[tuple[int, int, int, str]] = []
        self._turn = 0
        self._waiting = Signal(kernel)

    def __len__(self) -> int:
        """How many pods wait for a turn."""
        return len(self._active)

    def add(self, pod: Object, revision: int) -> None:
        """A pod that needs a node, or a newer version of one."""
        key = meta.key_of(pod)
        queued = self._pods.get(key)
        if queued is None:
            queued = self._pods[key] = Queued(pod, since=self._kernel.now)
            queued.revs.append(revision)
            self._activate(key, queued, revision)
            return
        changed = queued.pod.get("spec") != pod.get("spec") or (
            meta.labels_of(queued.pod) != meta.labels_of(pod)
        )
        queued.pod = pod
        if changed and queued.place == WAITING:
            queued.revs = [*queued.revs[-7:], revision]
            self._release(key, queued, revision)

    def remove(self, key: str) -> None:
        self._pods.pop(key, None)

    async def take(self) -> tuple[str, Queued]:
        """The next pod's turn; waits for one."""
        while True:
            while self._active:
                _, _, turn, key = heapq.heappop(self._active)
                queued = self._pods.get(key)
                if queued is not None and queued.place == ACTIVE and queued.turn == turn:
                    queued.place = TAKEN
                    queued.attempts += 1
                    self._tell("get", key, queued.revs[-1] if queued.revs else 0, 0)
                    return key, queued
            self._waiting.clear()
            await self._waiting.wait()

    def failed(self, key: str, blockers: tuple[str, ...]) -> None:
        """No node for it now: it waits until something changes that could help."""
        queued = self._pods.get(key)
        if queued is None:
            return
        queued.place = WAITING
        queued.blockers = blockers
        queued.since = self._kernel.now
        queued.revs = []
        self._tell("later", key, 0, 0)

    def retry(self, key: str) -> None:
        """The attempt itself went wrong: again after its back-off."""
        queued = self._pods.get(key)
        if queued is not None:
            queued.place = WAITING
            self._release(key, queued, 0)

    def cluster_changed(self, plugins: frozenset[str], revision: int) -> None:
        """Something happened that pods turned down by one of these plugins wait for."""
        for key, queued in list(self._pods.items()):
            if queued.place == WAITING and not plugins.isdisjoint(queued.blockers):
                queued.revs = [*queued.revs[-7:], revision]
                self._release(key, queued, revision)

    def flush_old(self) -> None:
        """Whoever waited too long is tried again, whatever it waits for."""
        limit = self._kernel.now - UNSCHEDULABLE_SECONDS_MAX * SECOND
        for key, queued in list(self._pods.items()):
            if queued.place == WAITING and queued.since <= limit:
                self._release(key, queued, 0)

    def _release(self, key: str, queued: Queued, revision: int) -> None:
        wait = min(BACKOFF_SECONDS * 2 ** max(0, queued.attempts - 1), BACKOFF_SECONDS_MAX)
        ready_at = queued.since + wait * SECOND
        if ready_at <= self._kernel.now:
            self._activate(key, queued, revision)
            return
        queued.place = BACKING_OFF
        queued.ready_at = ready_at
        self._tell("retry", key, revision, (ready_at - self._kernel.now) / SECOND)
        self._kernel.call_at(ready_at, self._backed_off, key)

    def _backed_off(self, key: str) -> None:
        queued = self._pods.get(key)
        if queued is not None and queued.place == BACKING_OFF:
            self._activate(key, queued, 0)

    def _activate(self, key: str, queued: Queued, revision: int) -> None:
        queued.place = ACTIVE
        self._turn += 1
        queued.turn = self._turn
        priority = queued.pod["spec"].get("priority") or 0
        heapq.heappush(self._active, (-priority, queued.since, self._turn, key))
        self._tell("add", key, revision, 0)
        self._waiting.set()

    def _tell(self, op: str, key: str, revision: int, delay: float) -> None:
        self._probe.tell("queue", "scheduler", op, key, len(self._active), revision, delay, span=0)
