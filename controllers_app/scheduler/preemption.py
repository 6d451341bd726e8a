"""Preemption: for which node a pod that no node can take makes others leave, and how they leave.

Models kubernetes pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand
from controllers_app.runtime import podconditions
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.scheduler import framework, podstatus
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import UNSCHEDULABLE, Filtered, No
from controllers_app.scheduler.nodeinfo import PodInfo
from controllers_app.scheduler.plugins import default_preemption
from controllers_app.scheduler.plugins.default_preemption import Candidate
from controllers_app.scheduler.queue import SchedulingQueue

_HOPELESS = "Preemption is not helpful for scheduling"
_LATEST = "~"  # a pod that has not started counts as started now

Started = Callable[[PodInfo], str]
Score = Callable[[Candidate], int | str]


class Outcome(msgspec.Struct, frozen=True):
    """What a pod's preemption came to."""

    message: str = ""  # why nobody leaves
    nominated: str | None = None  # for the pod's status: a node, or "" for none; None leaves it
    candidate: Candidate | None = None
    detail: Object | None = None  # for the trace


class World(msgspec.Struct, frozen=True):
    """What a preemption looks at beside the pod and why its nodes refused it."""

    cache: Cache
    budgets: Sequence[Object] = ()
    started: Started = msgspec.field(default=lambda pod: _LATEST)
    draw: Callable[[int], int] = msgspec.field(default=lambda limit: 0)


def preempt(pod: PodInfo, filtered: Filtered, world: World) -> Outcome:
    """Decide who would have to leave where (Evaluator.Preempt)."""
    nodes = world.cache.nodes
    refused = default_preemption.ineligible(pod, filtered, default_preemption.nominated(pod, nodes))
    if refused:
        return Outcome(refused, detail={"ineligible": refused})
    candidates, statuses = _dry_run(pod, filtered, world)
    detail: Object = {
        "candidates": {
            candidate.node: {
                "victims": [victim.key for victim in candidate.victims],
                "violations": candidate.violations,
                "highest": candidate.victims[0].priority,
            }
            for candidate in candidates[: framework.DETAIL_NODES_MAX]
        },
        "refused": {
            node: ", ".join(no.reasons)
            for node, no in list(statuses.items())[: framework.DETAIL_NODES_MAX]
        },
    }
    if not candidates:
        explained = detail if statuses else None
        return Outcome(_sentence(filtered.total, statuses), nominated="", detail=explained)
    chosen, why = pick_one_node(candidates, world.started)
    detail |= {"node": chosen.node, "victims": [victim.key for victim in chosen.victims], "by": why}
    return Outcome(nominated=chosen.node, candidate=chosen, detail=detail)


def _dry_run(
    pod: PodInfo, filtered: Filtered, world: World
) -> tuple[list[Candidate], dict[str, No]]:
    """Candidates, those that violate no budget first, and why other nodes are not candidates."""
    nodes = [
        world.cache.nodes[name]
        for name, (_, no) in filtered.failed.items()
        if no.code == UNSCHEDULABLE
    ]
    violating: list[Candidate] = []
    others: list[Candidate] = []
    statuses: dict[str, No] = {}
    if not nodes:
        return [], statuses
    assert filtered.filters is not None
    offset, enough = world.draw(len(nodes)), default_preemption.candidates_to_find(len(nodes))

    def importance(victim: PodInfo) -> tuple[int, str]:
        return -victim.priority, world.started(victim)

    for number in range(len(nodes)):
        node = nodes[(offset + number) % len(nodes)]
        victims = default_preemption.select_victims(
            filtered.filters, node, world.budgets, importance
        )
        if isinstance(victims, No):
            statuses[node.name] = victims
            continue
        (violating if victims.violations else others).append(victims)
        if others and len(others) + len(violating) >= enough:
            break
    return [*others, *violating], statuses


def _sentence(total: int, statuses: dict[str, No]) -> str:
    counts: dict[str, int] = {}
    for no in statuses.values():
        for reason in no.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    if total > len(statuses):
        counts[_HOPELESS] = total - len(statuses)
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{total} nodes are available: {reasons}."


def pick_one_node(candidates: Sequence[Candidate], started: Started) -> tuple[Candidate, str]:
    """The candidate that costs least, and what decided (pickOneNodeForPreemption)."""
    if len(candidates) == 1:
        return candidates[0], "only"

    def earliest(candidate: Candidate) -> str:
        highest = max(victim.priority for victim in candidate.victims)
        return min(started(victim) for victim in candidate.victims if victim.priority == highest)

    criteria: tuple[tuple[str, Score], ...] = (
        ("violations", lambda candidate: -candidate.violations),
        ("highest", lambda candidate: -candidate.victims[0].priority),
        ("sum", lambda candidate: -sum(victim.priority + 2**31 for victim in candidate.victims)),
        ("number", lambda candidate: -len(candidate.victims)),
        ("started", earliest),
    )
    left = list(candidates)
    for name, score in criteria:
        scores = [score(candidate) for candidate in left]
        best = max(scores)
        left = [candidate for candidate, points in zip(left, scores, strict=True) if points == best]
        if len(left) == 1:
            return left[0], name
    return left[0], "first"


class Evaluator:
    """Preempts on behalf of the scheduler. `asynchronous`: victims leave while other pods have
    their turn (1.33)."""

    def __init__(
        self,
        kernel: Kernel,
        rand: Rand,
        client: Client,
        group: TaskGroup,
        recorder: Recorder,
        informers: InformerFactory,
        cache: Cache,
        queue: SchedulingQueue,
        *,
        asynchronous: bool,
    ) -> None:
        self._kernel = kernel
        self._client = client
        self._group = group
        self._recorder = recorder
        self._queue = queue
        self._asynchronous = asynchronous
        self._budgets = informers.informer("poddisruptionbudgets.policy")
        self._pods = informers.informer("pods")
        self._cache = cache
        self._rand = rand

    def post_filter(self, pod: PodInfo, filtered: Filtered) -> Outcome:
        """What can be done for a pod that no node can take."""
        world = World(self._cache, list(self._budgets.list()), self._started, self._rand.below)
        return preempt(pod, filtered, world)

    def _started(self, pod: PodInfo) -> str:
        now = self._pods.get(pod.key) or pod.pod
        started: str = (now.get("status") or {}).get("startTime") or _LATEST
        return started

    async def prepare(self, pod: PodInfo, candidate: Candidate) -> None:
        """Make room on the node. The pod is not tried again before that is done."""
        self._queue.preempting.add(pod.key)
        work = self._prepare(pod, candidate)
        if not self._asynchronous:
            await work
            return
        task = self._kernel.current
        assert task is not None
        self._group.spawn(f"scheduler/preempt {pod.key}", work, span=task.span)

    async def _prepare(self, pod: PodInfo, candidate: Candidate) -> None:
        """All victims side by side but the last: the pod must be free to be woken by its end."""
        task = self._kernel.current
        assert task is not None
        done = []
        for other in list(self._queue.nominator.on(candidate.node)):
            if other.priority < pod.priority:
                done.append(await self._clear(other))
        first, last = candidate.victims[:-1], candidate.victims[-1]
        tasks = [
            self._group.spawn(
                f"scheduler/preempt {victim.key}",
                self._evict(victim, pod, candidate, done),
                span=task.span,
            )
            for victim in first
        ]
        for running in tasks:
            await self._kernel.join(running)
        self._queue.preempting.discard(pod.key)
        await self._evict(last, pod, candidate, done)
        if not all(done):
            self._queue.activate(pod.key)

    async def _clear(self, other: PodInfo) -> bool:
        """A pod of lower priority is not nominated for the node any more."""
        now = self._pods.get(other.key) or other.pod
        try:
            await podstatus.patch(self._client, now, podstatus.nominated(now, ""))
        except errors.ApiError:
            return False
        return True

    async def _evict(
        self, victim: PodInfo, pod: PodInfo, candidate: Candidate, done: list[bool]
    ) -> None:
        now = self._pods.get(victim.key) or victim.pod
        profile = pod.spec.get("schedulerName", "default-scheduler")
        changes = podconditions.condition(
            now,
            self._kernel.now,
            "DisruptionTarget",
            "True",
            default_preemption.REASON,
            f"{profile}: preempting to accommodate a higher priority pod",
        )
        try:
            await podstatus.patch(self._client, now, changes)
            with errors.ignoring("NotFound"):
                await self._client.delete("pods", victim.namespace, meta.name_of(now))
                message = f"Preempted by pod {meta.uid_of(pod.pod)} on node {candidate.node}"
                self._recorder.event(
                    now, "Normal", "Preempted", message, action="Preempting", related=pod.pod
                )
        except errors.ApiError:
            done.append(False)
