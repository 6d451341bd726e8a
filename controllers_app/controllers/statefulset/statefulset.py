"""The stateful set controller: pods with stable names, started in order.

Pod i is created once pod i-1 is running and ready; pods are deleted in reverse order. An update
replaces pods from the highest ordinal down to the partition.

Models kubernetes pkg/controller/statefulset/stateful_set.go, stateful_set_control.go and
stateful_pod_control.go.
"""

from __future__ import annotations

import msgspec

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.statefulset import statefulpods
from controllers_app.controllers.workload import history, ownership, podstate
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import For, Owns, Reads

STATEFUL_SETS = "statefulsets.apps"
CREATIONS_PER_SYNC_MAX = 500  # the pods that come bring the set back into the queue

_COUNTS = "replicas readyReplicas currentReplicas updatedReplicas availableReplicas".split()


class State(msgspec.Struct):
    """One reconcile: the owner, its pods by ordinal, and the current and updated revision."""

    owner: Object
    ordinals: range  # desired ones; of very many of them only as many are looked at as have pods
    replicas: dict[int, Object]  # their pods, in order
    condemned: list[Object]  # pods beyond them, highest ordinal first
    current: str  # revision names
    update: str
    templates: dict[str, Object]  # by revision name
    replaced: int = 0  # pods deleted in order to be of the updated revision

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
        revisions = history.History(
            self.client,
            self.caches[history.REVISIONS],
            owner,
            self.ctx.version,
            history.REVISION_LABEL,
        )
        update = await revisions.current()
        known = {meta.name_of(item): item for item in revisions.revisions}
        known[meta.name_of(update)] = update
        current = (owner.get("status") or {}).get("currentRevision") or meta.name_of(update)
        if current not in known:
            current = meta.name_of(update)
        state = self._split(owner, pods, current, meta.name_of(update), known)
        summary = "is being deleted: does nothing"
        if not meta.is_deleting(owner):
            summary = await self._manage(state)
        wait = await self._sync_status(state, pods)
        live = frozenset(
            {statefulpods.revision_of(pod) for pod in pods} | {state.current, state.update}
        )
        await revisions.trim(owner["spec"].get("revisionHistoryLimit", 10), live)
        return Result(summary, wait)

    # -- actual state ---------------------------------------------------------------------------

    async def _claim(self, owner: Object) -> list[Object]:
        return await ownership.claim(
            self.client,
            self._pods,
            owner,
            STATEFUL_SETS,
            lambda pod: statefulpods.ordinal_of(owner, pod) is not None,
        )

    def _split(
        self, owner: Object, pods: list[Object], current: str, update: str, known: dict[str, Object]
    ) -> State:
        first, count = statefulpods.ordinals(owner)
        ordinals = range(first, first + count)
        replicas: dict[int, Object] = {}
        condemned: list[tuple[int, Object]] = []
        for pod in pods:
            ordinal = statefulpods.ordinal_of(owner, pod)
            if ordinal is None:
                continue
            if ordinal in ordinals:
                replicas[ordinal] = pod
            else:
                condemned.append((ordinal, pod))
        condemned.sort(key=lambda pair: -pair[0])
        templates = {name: item["data"]["spec"]["template"] for name, item in known.items()}
        return State(
            owner,
            ordinals,
            dict(sorted(replicas.items())),
            [pod for _, pod in condemned],
            current,
            update,
            templates,
        )

    def _is_healthy(self, pod: Object) -> bool:
        return podstate.is_ready(pod) and not meta.is_deleting(pod)

    def _is_available(self, owner: Object, pod: Object) -> bool:
        seconds = owner["spec"].get("minReadySeconds") or 0
        return podstate.is_available(pod, seconds, self.kernel.now)

    # -- actions --------------------------------------------------------------------------------

    async def _manage(self, state: State) -> str:
        """Takes the next step: creates missing pods, else deletes surplus ones, else updates."""
        head = f"wants {len(state.ordinals)}"
        step = await self._create_missing(state)
        if step:
            return f"{head}: {step}"
        step = await self._delete_condemned(state)
        if step:
            return f"{head}: {step}"
        return f"{head}: {await self._replace_old(state) or 'nothing to do'}"

    async def _create_missing(self, state: State) -> str:
        actions: list[str] = []
        for ordinal in state.ordinals:
            pod = state.replicas.get(ordinal)
            if pod is not None and podstate.is_finished(pod) and not meta.is_deleting(pod):
                await self._control.delete(state.owner, pod)
                return f"deletes {meta.name_of(pod)}, which has ended"
            if pod is None:
                revision = self._revision_for(state, ordinal)
                name = statefulpods.name_of(state.owner, ordinal)
                # it counts once the cache shows it
                await self._control.create(
                    state.owner, ordinal, state.templates[revision], revision
                )
                actions.append(f"creates {name}")
                if state.ordered or len(actions) >= CREATIONS_PER_SYNC_MAX:
                    break
                continue
            if podstate.phase_of(pod) == "Pending":
                await self._control.create_missing_claims(state.owner, ordinal)
            await self._control.keep_claims(state.owner, ordinal, pod)
            if not state.ordered:
                continue
            if meta.is_deleting(pod):
                return f"waits until {meta.name_of(pod)} is gone"
            if not podstate.is_ready(pod) or not self._is_available(state.owner, pod):
                return f"waits until {meta.name_of(pod)} is ready"
        return ", ".join(actions)

    def _revision_for(self, state: State, ordinal: int) -> str:
        """The current revision below the partition, the updated one from there on."""
        strategy = state.owner["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return state.update
        first, _ = statefulpods.ordinals(state.owner)
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        return state.current if ordinal < first + partition else state.update

    async def _delete_condemned(self, state: State) -> str:
        """Deletes surplus pods, highest ordinal first; one at a time when ordered, and then
        beside an unhealthy one only that."""
        actions = []
        unhealthy = self._first_unhealthy(state)
        for pod in state.condemned:
            ordinal = statefulpods.ordinal_of(state.owner, pod) or 0
            await self._control.keep_claims(state.owner, ordinal, pod, is_condemned=True)
        for pod in state.condemned:
            if meta.is_deleting(pod):
                if state.ordered:
                    return f"waits until {meta.name_of(pod)} is gone"
                continue
            is_fine = podstate.is_ready(pod) and self._is_available(state.owner, pod)
            if state.ordered and not is_fine and pod is not unhealthy:
                return "waits until the pods before it are ready"
            await self._control.delete(state.owner, pod)
            actions.append(f"deletes {meta.name_of(pod)}")
            if state.ordered:
                return actions[0]
        return ", ".join(actions)

    def _first_unhealthy(self, state: State) -> Object | None:
        """The one of the lowest ordinal, the surplus ones last."""
        for ordinal in state.ordinals:
            pod = state.replicas.get(ordinal)
            if pod is None or not self._is_healthy(pod):
                return pod
        return next((pod for pod in reversed(state.condemned) if not self._is_healthy(pod)), None)

    async def _replace_old(self, state: State) -> str:
        """RollingUpdate: replaces old pods from the highest ordinal down, one at a time, waiting
        until each is healthy."""
        strategy = state.owner["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return ""
        first, _ = statefulpods.ordinals(state.owner)
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        for ordinal in reversed(state.ordinals):
            if ordinal < first + partition:
                return ""
            pod = state.replicas.get(ordinal)
            if pod is None:
                return ""
            if statefulpods.revision_of(pod) != state.update and not meta.is_deleting(pod):
                await self._control.delete(state.owner, pod)
                state.replaced += 1
                return f"deletes {meta.name_of(pod)}, which is of the old template"
            if not self._is_healthy(pod):
                return f"waits until {meta.name_of(pod)} is ready"
        return ""

    # -- the status -----------------------------------------------------------------------------

    async def _sync_status(self, state: State, pods: list[Object]) -> float:
        """Writes the status if it changed; returns the seconds until time alone changes it."""
        owner = state.owner
        counts = dict.fromkeys(_COUNTS, 0)
        wait = 0.0
        for pod in (*state.replicas.values(), *state.condemned):
            counts["replicas"] += 1
            if podstate.is_ready(pod):
                counts["readyReplicas"] += 1
                if self._is_available(owner, pod):
                    counts["availableReplicas"] += 1
                else:
                    wait = float(owner["spec"]["minReadySeconds"])
            if not meta.is_deleting(pod):
                revision = statefulpods.revision_of(pod)
                counts["currentReplicas"] += revision == state.current
                counts["updatedReplicas"] += revision == state.update
        counts["currentReplicas"] -= state.replaced
        status: Object = {
            "observedGeneration": owner["metadata"].get("generation", 0),
            "replicas": counts["replicas"],
            "availableReplicas": counts["availableReplicas"],
            "currentRevision": state.current,
            "updateRevision": state.update,
            "collisionCount": (owner.get("status") or {}).get("collisionCount") or 0,
        }
        status.update({name: count for name, count in counts.items() if count})
        self._complete_update(state, status)
        if status != owner.get("status"):
            with errors.ignoring("NotFound"):
                await self.update_status(STATEFUL_SETS, owner, status)
        return wait

    def _complete_update(self, state: State, status: Object) -> None:
        """Makes the updated revision the current one when every pod has it."""
        count = len(state.ordinals)
        strategy = (state.owner["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate")
        if (
            strategy == "RollingUpdate"
            and status.get("updatedReplicas", 0) == status["replicas"] == count
            and status.get("readyReplicas", 0) == count
        ):
            status["currentRevision"] = state.update
            if count:
                status["currentReplicas"] = count
