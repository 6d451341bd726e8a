"""The scheduling queue: active pods by priority and age, pods that back off, pods that wait for
the cluster to change.

A pod that was turned down waits until something happens that one of the plugins that turned it
down thinks may help. What happens during its turn is not lost: it is looked at when the
turn has failed.

Models kubernetes pkg/scheduler/backend/queue/{scheduling_queue,active_queue,backoff_queue}.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.waiting import Signal
from controllers_app.scheduler.framework import ClusterEvent
from controllers_app.scheduler.nominator import Nominator

BACKOFF_SECONDS = 1
BACKOFF_SECONDS_MAX = 10
UNSCHEDULABLE_SECONDS_MAX = 300
ERRED_FOREGROUND = 8  # attempts that may all go wrong before nobody waits for the next one
REVS_MAX = 8
EVENTS_MAX = 1000

ACTIVE, BACKING_OFF, WAITING, TAKEN = "active", "backoff", "unschedulable", "taken"

# asked whether the event may help a pod that those plugins turned down
Hint = Callable[[ClusterEvent, "Queued"], bool]


class Queued(msgspec.Struct):
    """One pod in the queue. `blockers` are the plugins that turned it down last time."""

    pod: Object
    place: str = ACTIVE
    attempts: int = 0
    since: int = 0
    blockers: tuple[str, ...] = ()
    revs: list[int] = msgspec.field(default_factory=list)
    turn: int = 0
    timer: int = 0
    erred: bool = False  # the last attempt went wrong, rather than finding no node


class SchedulingQueue:
    """Pods without a node. A pod is in exactly one place.

    `pops_backoff`: pods that back off get their turn early when nobody else wants one (1.33).
    """

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        hint: Hint,
        nominator: Nominator | None = None,
        *,
        pops_backoff: bool = True,
    ) -> None:
        self.nominator = nominator or Nominator()
        self.preempting: set[str] = set()  # for them others are being made to leave
        self._kernel = kernel
        self._probe = probe
        self._hint = hint
        self._pops_backoff = pops_backoff
        self._pods: dict[str, Queued] = {}
        self._active: list[tuple[int, int, int, str]] = []
        self._backoff: list[tuple[int, int, str]] = []
        self._waiting: dict[str, Queued] = {}
        self._meanwhile: list[ClusterEvent] = []  # while a pod has its turn
        self._taken = ""
        self._turn = 0
        self._called = Signal(kernel)

    def __len__(self) -> int:
        """How many pods are known."""
        return len(self._pods)

    def count(self, place: str) -> int:
        """How many pods are in a place."""
        return sum(pod.place == place for pod in self._pods.values())

    # -- pods come and go -----------------------------------------------------------------------

    def add(self, pod: Object, revision: int) -> None:
        """A pod that needs a node."""
        key = meta.key_of(pod)
        queued = self._pods.get(key)
        if queued is not None and meta.uid_of(queued.pod) != meta.uid_of(pod):
            self.remove(key)
            queued = None
        if queued is None:
            queued = self._pods[key] = Queued(pod, since=self._kernel.now)
            self.nominator.put(pod)
            queued.revs.append(revision)
            self._activate(key, queued, revision)
            return
        queued.pod = pod

    def update(self, pod: Object, event: ClusterEvent | None) -> None:
        """A newer version of a pod. `event`: what of it changed that a plugin may have waited
        for."""
        key = meta.key_of(pod)
        queued = self._pods.get(key)
        if queued is None or meta.uid_of(queued.pod) != meta.uid_of(pod):
            self.add(pod, event.revision if event is not None else 0)
            return
        if self._taken != key:
            self.nominator.update(queued.pod, pod)
        queued.pod = pod
        if event is None:
            return
        if self._taken == key:
            self._meanwhile.append(event)
        elif queued.place == WAITING and self._hint(event, queued):
            _remember(queued, event.revision)
            self._release(key, queued, event.revision)

    def remove(self, key: str) -> None:
        """It needs no node any more."""
        queued = self._pods.pop(key, None)
        if queued is None:
            return
        self.nominator.remove(meta.uid_of(queued.pod))
        self._waiting.pop(key, None)
        if queued.place == BACKING_OFF:
            self._kernel.drop(queued.timer)

    async def take(self) -> tuple[str, Queued]:
        """The next pod's turn; waits for one."""
        while True:
            entry = self._next()
            if entry is not None:
                key, queued = entry
                queued.place = TAKEN
                queued.attempts += 1
                self._taken, self._meanwhile = key, []
                self._tell("get", key, queued.revs[-1] if queued.revs else 0, 0)
                return entry
            self._called.clear()
            await self._called.wait()

    def _next(self) -> tuple[str, Queued] | None:
        while self._active:
            _, _, turn, key = heapq.heappop(self._active)
            queued = self._pods.get(key)
            if queued is not None and queued.place == ACTIVE and queued.turn == turn:
                return key, queued
        erred = []
        entry = None
        while self._pops_backoff and self._backoff and entry is None:
            item = heapq.heappop(self._backoff)
            queued = self._pods.get(item[2])
            if queued is None or queued.place != BACKING_OFF or queued.turn != item[1]:
                continue
            if queued.erred:
                erred.append(item)
                continue
            self._kernel.drop(queued.timer)
            entry = item[2], queued
        for item in erred:
            heapq.heappush(self._backoff, item)
        return entry

    # -- how a turn ends ------------------------------------------------------------------------

    def failed(self, key: str, blockers: tuple[str, ...]) -> None:
        """No node for it now: it waits until something changes that could help."""
        queued = self._pods.get(key)
        if queued is None or queued.place != TAKEN:
            return
        self._wait(key, queued, blockers, erred=False)
        helped = [event for event in self._meanwhile if self._hint(event, queued)]
        if helped or len(self._meanwhile) >= EVENTS_MAX:
            for event in helped:
                _remember(queued, event.revision)
            self._release(key, queued, helped[-1].revision if helped else 0)
            return
        self._tell("later", key, 0, 0)

    def retry(self, key: str, *, background: bool = False) -> None:
        """The attempt itself went wrong: again after its back-off, for which time is not advanced
        when it is in the background."""
        queued = self._pods.get(key)
        if queued is not None and queued.place == TAKEN:
            self._wait(key, queued, (), erred=True)
            background = background or queued.attempts > ERRED_FOREGROUND
            self._release(key, queued, 0, background=background)

    def _wait(self, key: str, queued: Queued, blockers: tuple[str, ...], *, erred: bool) -> None:
        queued.place = WAITING
        queued.blockers = blockers
        queued.erred = erred
        queued.since = self._kernel.now
        queued.revs = []
        self._waiting[key] = queued
        if self._taken == key:  # not one that was still being bound while others had their turn
            self._taken = ""

    def activate(self, key: str) -> None:
        """Its turn comes without more waiting."""
        queued = self._pods.get(key)
        if queued is None or queued.place not in (WAITING, BACKING_OFF):
            return
        if queued.place == BACKING_OFF:
            self._kernel.drop(queued.timer)
        self._waiting.pop(key, None)
        self._activate(key, queued, 0)

    # -- what brings pods back ------------------------------------------------------------------

    def happened(self, event: ClusterEvent) -> None:
        """Something happened that waiting pods may have waited for."""
        if self._taken and len(self._meanwhile) < EVENTS_MAX:
            self._meanwhile.append(event)
        for key, queued in list(self._waiting.items()):
            if self._hint(event, queued):
                _remember(queued, event.revision)
                self._release(key, queued, event.revision)

    def flush_old(self) -> None:
        """Whoever waited too long is tried again, whatever it waits for."""
        limit = self._kernel.now - UNSCHEDULABLE_SECONDS_MAX * SECOND
        for key, queued in list(self._waiting.items()):
            if queued.since <= limit:
                self._release(key, queued, 0)

    def _release(
        self, key: str, queued: Queued, revision: int, *, background: bool = False
    ) -> None:
        if key in self.preempting:
            return
        self._waiting.pop(key, None)
        wait = min(BACKOFF_SECONDS * 2 ** min(max(0, queued.attempts - 1), 16), BACKOFF_SECONDS_MAX)
        ready_at = queued.since + wait * SECOND
        if ready_at <= self._kernel.now:
            self._activate(key, queued, revision)
            return
        queued.place = BACKING_OFF
        self._turn += 1
        queued.turn = self._turn
        heapq.heappush(self._backoff, (ready_at, queued.turn, key))
        self._tell("retry", key, revision, (ready_at - self._kernel.now) / SECOND)
        queued.timer = self._kernel.call_at(
            ready_at, self._backed_off, (key, queued.turn), background=background
        )
        if self._pops_backoff and not queued.erred:
            self._called.set()

    def _backed_off(self, which: tuple[str, int]) -> None:
        key, turn = which
        queued = self._pods.get(key)
        if queued is not None and queued.place == BACKING_OFF and queued.turn == turn:
            self._activate(key, queued, 0)

    def _activate(self, key: str, queued: Queued, revision: int) -> None:
        queued.place = ACTIVE
        self._turn += 1
        queued.turn = self._turn
        priority = queued.pod["spec"].get("priority") or 0
        heapq.heappush(self._active, (-priority, queued.since, self._turn, key))
        self._tell("add", key, revision, 0)
        self._called.set()

    def _tell(self, op: str, key: str, revision: int, delay: float) -> None:
        self._probe.tell("queue", "scheduler", op, key, len(self._active), revision, delay, span=0)


def _remember(queued: Queued, revision: int) -> None:
    if revision and revision not in queued.revs:
        queued.revs = [*queued.revs[1 - REVS_MAX :], revision]
