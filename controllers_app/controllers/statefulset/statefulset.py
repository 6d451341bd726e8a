"""The stateful set controller: pods with lasting names, one after another.

Pod i is created once pod i-1 is running and ready, and removed in the opposite order. An update
replaces pods from the highest ordinal down to the partition.

Models kubernetes pkg/controller/statefulset/stateful_set.go, stateful_set_control.go and
stateful_pod_control.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.statefulset import statefulpods
from controllers_app.controllers.workload import history, ownership, podstate
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import For, Owns, Reads

STATEFUL_SETS = "statefulsets.apps"


@dataclass(slots=True)
class Sets:
    """One reconcile: the owner, its pods by ordinal, and the two revisions that matter."""

    owner: Object
    replicas: dict[int, Object | None]  # the ordinals there should be
    condemned: list[Object]  # pods beyond them, highest ordinal first
    current: str  # revision names
    update: str
    templates: dict[str, Object]  # by revision name

    @property
    def ordered(self) -> bool:
        policy = self.owner["spec"].get("podManagementPolicy", "OrderedReady")
        return bool(policy == "OrderedReady")


class StatefulSetController(Controller):
    """Reconciles stateful sets."""

    source = "pkg/controller/statefulset/stateful_set.go sync"
    watches = (
        Reads(statefulpods.CLAIMS),
        For(STATEFUL_SETS),
        Owns("pods", "StatefulSet"),
        Reads(history.REVISIONS, index=indexes.BY_CONTROLLER),
    )

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        claims = self.caches[statefulpods.CLAIMS]
        self._control = statefulpods.StatefulPods(ctx.client, ctx.recorder, claims)
        self._pods = self.caches["pods"]

    async def reconcile(self, key: str) -> Result | None:
        owner = self.caches[STATEFUL_SETS].get(key)
        if owner is None:
            return Result("is gone")
        pods = await self._claim(owner)
        past = history.History(self.client, self.caches[history.REVISIONS], owner)
        update = await past.current()
        known = {meta.name_of(item): item for item in past.revisions}
        known[meta.name_of(update)] = update
        current = (owner.get("status") or {}).get("currentRevision") or meta.name_of(update)
        if current not in known:
            current = meta.name_of(update)
        sets = self._split(owner, pods, current, meta.name_of(update), known)
        said = "is being deleted: does nothing"
        if not meta.is_deleting(owner):
            said = await self._act(sets)
        wait = await self._write_status(sets, pods)
        live = frozenset(
            {statefulpods.revision_of(pod) for pod in pods} | {sets.current, sets.update}
        )
        await past.trim(owner["spec"].get("revisionHistoryLimit", 10), live)
        return Result(said, wait)

    # -- what is there --------------------------------------------------------------------------

    async def _claim(self, owner: Object) -> list[Object]:
        return await ownership.claim(
            self.client, self._pods, owner, STATEFUL_SETS,
            lambda pod: statefulpods.ordinal_of(owner, pod) is not None,
        )  # fmt: skip

    def _split(
        self, owner: Object, pods: list[Object], current: str, update: str, known: dict[str, Object]
    ) -> Sets:
        first, count = statefulpods.ordinals(owner)
        replicas: dict[int, Object | None] = dict.fromkeys(range(first, first + count))
        condemned: list[tuple[int, Object]] = []
        for pod in pods:
            ordinal = statefulpods.ordinal_of(owner, pod)
            if ordinal is None:
                continue
            if ordinal in replicas:
                replicas[ordinal] = pod
            else:
                condemned.append((ordinal, pod))
        condemned.sort(key=lambda pair: -pair[0])
        templates = {name: item["data"]["spec"]["template"] for name, item in known.items()}
        return Sets(owner, replicas, [pod for _, pod in condemned], current, update, templates)

    def _is_healthy(self, pod: Object) -> bool:
        return podstate.is_ready(pod) and not meta.is_deleting(pod)

    def _is_available(self, owner: Object, pod: Object) -> bool:
        seconds = owner["spec"].get("minReadySeconds") or 0
        return podstate.is_available(pod, seconds, self.kernel.now)

    # -- what is done ---------------------------------------------------------------------------

    async def _act(self, sets: Sets) -> str:
        """Take the next step: start what is missing, then remove what is too much, then update."""
        head = f"wants {len(sets.replicas)}"
        step = await self._start(sets)
        if step:
            return f"{head}: {step}"
        step = await self._stop(sets)
        if step:
            return f"{head}: {step}"
        return f"{head}: {await self._replace_old(sets) or 'nothing to do'}"

    async def _start(self, sets: Sets) -> str:
        did = []
        for ordinal, pod in sets.replicas.items():
            if pod is not None and podstate.is_finished(pod) and not meta.is_deleting(pod):
                await self._control.delete(sets.owner, pod)
                return f"deletes {meta.name_of(pod)}, which has ended"
            if pod is None:
                revision = self._revision_for(sets, ordinal)
                name = statefulpods.name_of(sets.owner, ordinal)
                sets.replicas[ordinal] = await self._control.create(
                    sets.owner, ordinal, sets.templates[revision], revision
                )
                did.append(f"creates {name}")
                if sets.ordered:
                    return did[0]
                continue
            if not sets.ordered:
                continue
            if meta.is_deleting(pod):
                return f"waits until {meta.name_of(pod)} is gone"
            if not podstate.is_ready(pod) or not self._is_available(sets.owner, pod):
                return f"waits until {meta.name_of(pod)} is ready"
        return ", ".join(did)

    def _revision_for(self, sets: Sets, ordinal: int) -> str:
        """Below the partition the current one, above it the new one."""
        strategy = sets.owner["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return sets.update
        first, _ = statefulpods.ordinals(sets.owner)
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        return sets.current if ordinal < first + partition else sets.update

    async def _stop(self, sets: Sets) -> str:
        """Remove pods beyond the wanted ones, highest first, one at a time when ordered."""
        did = []
        for pod in sets.condemned:
            if meta.is_deleting(pod):
                if sets.ordered:
                    return f"waits until {meta.name_of(pod)} is gone"
                continue
            if sets.ordered and not self._is_healthy(pod) and self._first_unhealthy(sets, pod):
                return "waits until the pods before it are ready"
            await self._control.delete(sets.owner, pod)
            did.append(f"deletes {meta.name_of(pod)}")
            if sets.ordered:
                return did[0]
        return ", ".join(did)

    def _first_unhealthy(self, sets: Sets, besides: Object) -> bool:
        """Some other pod of the set is not well."""
        others = [pod for pod in [*sets.replicas.values(), *sets.condemned] if pod is not None]
        return any(pod is not besides and not self._is_healthy(pod) for pod in others)

    async def _replace_old(self, sets: Sets) -> str:
        """RollingUpdate: from the highest ordinal down, one at a time, each healthy before the
        next goes."""
        strategy = sets.owner["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return ""
        first, _ = statefulpods.ordinals(sets.owner)
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        for ordinal in sorted(sets.replicas, reverse=True):
            if ordinal < first + partition:
                return ""
            pod = sets.replicas[ordinal]
            if pod is None:
                return ""
            if statefulpods.revision_of(pod) != sets.update and not meta.is_deleting(pod):
                await self._control.delete(sets.owner, pod)
                return f"deletes {meta.name_of(pod)}, which is of the old template"
            if not self._is_healthy(pod):
                return f"waits until {meta.name_of(pod)} is ready"
        return ""

    # -- the status -----------------------------------------------------------------------------

    async def _write_status(self, sets: Sets, pods: list[Object]) -> float:
        """Write it if it is new; in how many seconds time alone will change it."""
        owner = sets.owner
        counts = dict.fromkeys(
            ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
             "availableReplicas"), 0
        )  # fmt: skip
        wait = 0.0
        for pod in [*(pod for pod in sets.replicas.values() if pod), *sets.condemned]:
            counts["replicas"] += 1
            if podstate.is_ready(pod):
                counts["readyReplicas"] += 1
                if self._is_available(owner, pod):
                    counts["availableReplicas"] += 1
                else:
                    wait = float(owner["spec"]["minReadySeconds"])
            if not meta.is_deleting(pod):
                revision = statefulpods.revision_of(pod)
                counts["currentReplicas"] += revision == sets.current
                counts["updatedReplicas"] += revision == sets.update
        status: Object = {
            "observedGeneration": owner["metadata"].get("generation", 0),
            "replicas": counts["replicas"],
            "availableReplicas": counts["availableReplicas"],
            "currentRevision": sets.current,
            "updateRevision": sets.update,
            "collisionCount": (owner.get("status") or {}).get("collisionCount") or 0,
        }
        status.update({name: count for name, count in counts.items() if count})
        self._complete(sets, status)
        if status != owner.get("status"):
            namespace, name = meta.namespace_of(owner), meta.name_of(owner)
            with errors.ignoring("NotFound"):
                await self.client.update(
                    STATEFUL_SETS, namespace, name, {**owner, "status": status},
                    subresource="status",
                )  # fmt: skip
        return wait

    def _complete(self, sets: Sets, status: Object) -> None:
        """When every pod is of the new template, that is the current one."""
        count = len(sets.replicas)
        strategy = (sets.owner["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate")
        if (
            strategy == "RollingUpdate"
            and status.get("updatedReplicas", 0) == status["replicas"] == count
            and status.get("readyReplicas", 0) == count
        ):
            status["currentRevision"] = sets.update
            if count:
                status["currentReplicas"] = count
