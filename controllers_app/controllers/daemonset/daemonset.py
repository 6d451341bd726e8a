"""The daemon set controller: runs one pod on every eligible node.

The scheduler binds its pods like all others; each has an affinity for its node's name.

Models kubernetes pkg/controller/daemon/daemon_controller.go and update.go.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.daemonset.surge import Plan, Surge
from controllers_app.controllers.deployment import rules
from controllers_app.controllers.workload import history, ownership, podcontrol, podstate
from controllers_app.runtime import indexes, nodeaffinity
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import For, Owns, Reads, Watches

DAEMON_SETS = "daemonsets.apps"
BURST = 250
GENERATION = "deprecated.daemonset.template.generation"
GENERATION_LABEL = "pod-template-generation"
PREFIX = "node.kubernetes.io/"

# taints that daemon pods tolerate, since they serve the node itself
_TOLERATED = (
    (PREFIX + "not-ready", "NoExecute"),
    (PREFIX + "unreachable", "NoExecute"),
    (PREFIX + "disk-pressure", "NoSchedule"),
    (PREFIX + "memory-pressure", "NoSchedule"),
    (PREFIX + "pid-pressure", "NoSchedule"),
    (PREFIX + "unschedulable", "NoSchedule"),
)

# counts of the status; the first are written even when they are zero
_ALWAYS = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
_COUNTS = (*_ALWAYS, "updatedNumberScheduled", "numberAvailable", "numberUnavailable")


class DaemonSetController(Controller):
    """Reconciles daemon sets."""

    source = "pkg/controller/daemon/daemon_controller.go syncDaemonSet"
    watches = (
        For(DAEMON_SETS),
        # ignores heartbeats of nodes
        Watches(
            "nodes",
            changed=lambda old, node: (
                old["spec"].get("taints") != node["spec"].get("taints")
                or meta.labels_of(old) != meta.labels_of(node)
            ),
            keys=lambda self, node: map(meta.key_of, self.caches[DAEMON_SETS].list()),
        ),
        Owns("pods", "DaemonSet"),
        Reads(history.REVISIONS, index=indexes.BY_CONTROLLER),
    )
    workers = 2
    pace = (5, 30)

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._pod_control = podcontrol.PodControl(ctx.kernel, ctx.client, ctx.recorder)
        self._nodes, self._pods = self.caches["nodes"], self.caches["pods"]

    async def reconcile(self, key: str) -> Result | None:
        owner = self.caches[DAEMON_SETS].get(key)
        if owner is None:
            self.expectations.forget(key)
            return Result("is gone")
        if meta.is_deleting(owner):
            return Result("is being deleted: does nothing")
        revisions = history.History(
            self.client, self.caches[history.REVISIONS], owner, self.ctx.version, history.HASH_LABEL
        )
        current = await revisions.current()
        hash_ = history.hash_of(current)
        by_node = await self._pods_by_node(owner)
        summary = "waits until the cache shows what it did"
        if self.expectations.satisfied(key):
            summary = await self._manage(key, owner, by_node, hash_)
            await self.kernel.pause()  # the cache shows by now what was created
            by_node = await self._pods_by_node(owner)
        await revisions.trim(
            owner["spec"].get("revisionHistoryLimit", 10),
            frozenset(
                meta.labels_of(pod).get(history.HASH_LABEL, "")
                for pods in by_node.values()
                for pod in pods
            )
            | {hash_},
        )
        wait = await self._sync_status(owner, by_node, hash_)
        return Result(summary, wait)

    # -- actual state ---------------------------------------------------------------------------

    async def _pods_by_node(self, owner: Object) -> dict[str, list[Object]]:
        by_node: dict[str, list[Object]] = {}
        for pod in await ownership.claim(self.client, self._pods, owner, DAEMON_SETS):
            by_node.setdefault(_node_of(pod), []).append(pod)
        return by_node

    def _should_run(self, owner: Object, node: Object) -> tuple[bool, bool]:
        """(whether a pod should be created on the node, whether an existing one may stay)."""
        spec = owner["spec"]["template"]["spec"]
        if spec.get("nodeName") and spec["nodeName"] != meta.name_of(node):
            return False, False
        required = nodeaffinity.required_of(spec)
        if required is not None and not nodeaffinity.selects(
            required, meta.name_of(node), meta.labels_of(node)
        ):
            return False, False
        tolerations = _tolerations(spec)
        effects = {
            taint["effect"]
            for taint in node["spec"].get("taints") or ()
            if not nodeaffinity.is_tolerated(taint, tolerations)
        }
        return effects <= {"PreferNoSchedule"}, "NoExecute" not in effects

    # -- actions --------------------------------------------------------------------------------

    async def _manage(
        self, key: str, owner: Object, by_node: dict[str, list[Object]], hash_: str
    ) -> str:
        surge = Surge(owner, hash_, self.kernel.now)
        plan = self._plan(owner, by_node, surge)
        if surge and not (plan.create or plan.delete):
            nodes = [meta.name_of(node) for node in self._eligible(owner)]
            surge.update(by_node, nodes, len(nodes), plan)
        elif not surge:
            self._plan_update(owner, by_node, hash_, plan)
        creates = plan.create[:BURST]
        deletes = [*plan.delete, *plan.failed][:BURST]
        if deletes:
            self.expectations.expect_deletions(key, [meta.uid_of(pod) for pod in deletes])
        if creates:
            self.expectations.expect_creations(key, len(creates))
        for pod in plan.failed:
            where = f"{meta.namespace_of(pod)}/{meta.name_of(pod)} on node {_node_of(pod)}"
            if podstate.phase_of(pod) == "Succeeded":
                message = f"Found succeeded daemon pod {where}, will try to delete it"
                self.recorder.event(owner, "Normal", "SucceededDaemonPod", message)
            else:
                message = f"Found failed daemon pod {where}, will try to kill it"
                self.recorder.event(owner, "Warning", "FailedDaemonPod", message)

        async def create(number: int) -> None:
            await self._pod_control.create(owner, _pod(owner, creates[number], hash_))

        created, failure, _ = await podcontrol.slow_start(self.kernel, len(creates), create)
        if created < len(creates):
            self.expectations.creation_observed(key, len(creates) - created)
        _, refusal = await self._pod_control.delete_all(key, owner, deletes, self.expectations)
        failure = failure or refusal
        if failure is not None:
            raise failure
        return f"wants {self._desired(owner)}: creates {created}, deletes {len(deletes)}"

    def _eligible(self, owner: Object) -> list[Object]:
        return [node for node in self._nodes.list() if self._should_run(owner, node)[0]]

    def _desired(self, owner: Object) -> int:
        return len(self._eligible(owner))

    def _plan(self, owner: Object, by_node: dict[str, list[Object]], surge: Surge) -> Plan:
        plan = Plan()
        known = set()
        for name, node in sorted((meta.name_of(node), node) for node in self._nodes.list()):
            known.add(name)
            should_run, may_stay = self._should_run(owner, node)
            pods = by_node.get(name, [])
            if should_run and not pods:
                plan.create.append(name)
            elif may_stay:
                running = self._running(pods, plan)
                if surge:
                    surge.keep(name, running, should_run, plan)
                else:
                    plan.delete += running[1:]
            else:
                plan.delete += [pod for pod in pods if not meta.is_deleting(pod)]
        for name, pods in by_node.items():
            if name and name not in known:  # never bound, and the node is gone
                plan.delete += [
                    pod
                    for pod in pods
                    if not pod["spec"].get("nodeName") and not meta.is_deleting(pod)
                ]
        return plan

    def _running(self, pods: list[Object], plan: Plan) -> list[Object]:
        """Those that run, the one to keep first; finished ones are planned to be replaced."""
        running = []
        for pod in pods:
            if meta.is_deleting(pod):
                continue
            if podstate.is_finished(pod):
                plan.failed.append(pod)
            else:
                running.append(pod)
        running.sort(key=lambda pod: (not pod["spec"].get("nodeName"), _created(pod)))
        return running

    def _plan_update(
        self, owner: Object, by_node: dict[str, list[Object]], hash_: str, plan: Plan
    ) -> None:
        """Plans to delete old pods, as many at a time as RollingUpdate allows to be missing."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or plan.create or plan.delete:
            return
        rolling = strategy.get("rollingUpdate") or {}
        desired = self._desired(owner)
        share = rolling.get("maxUnavailable", 1)
        limit = max(1, rules.scaled_value(share, desired, up=True))
        min_ready = owner["spec"].get("minReadySeconds") or 0
        unavailable = 0
        old_available: list[Object] = []
        for name in sorted(by_node):
            for pod in by_node[name]:
                if meta.is_deleting(pod):
                    unavailable += 1
                    continue
                available = podstate.is_available(pod, min_ready, self.kernel.now)
                is_old = meta.labels_of(pod).get(history.HASH_LABEL) != hash_
                if not available:
                    unavailable += 1
                    if is_old and pod not in plan.failed:
                        plan.delete.append(pod)  # unavailable anyway
                elif is_old:
                    old_available.append(pod)
        plan.delete += old_available[: max(0, limit - unavailable)]

    # -- the status -----------------------------------------------------------------------------

    async def _sync_status(
        self, owner: Object, by_node: dict[str, list[Object]], hash_: str
    ) -> float:
        """Writes the status if it changed; returns the seconds until time alone changes it."""
        now = self.kernel.now
        min_ready = owner["spec"].get("minReadySeconds") or 0
        counts = dict.fromkeys(_COUNTS, 0)
        wait = 0.0
        for node in self._nodes.list():
            starts, _ = self._should_run(owner, node)
            pods = sorted(by_node.get(meta.name_of(node), ()), key=_created)
            if not starts:
                counts["numberMisscheduled"] += bool(pods)
                continue
            counts["desiredNumberScheduled"] += 1
            if not pods:
                continue
            pod = pods[0]
            counts["currentNumberScheduled"] += 1
            if podstate.is_ready(pod):
                counts["numberReady"] += 1
                if podstate.is_available(pod, min_ready, now):
                    counts["numberAvailable"] += 1
                else:
                    wait = float(min_ready)
            if meta.labels_of(pod).get(history.HASH_LABEL) == hash_:
                counts["updatedNumberScheduled"] += 1
        counts["numberUnavailable"] = counts["desiredNumberScheduled"] - counts["numberAvailable"]
        status: Object = {"observedGeneration": owner["metadata"].get("generation", 0)}
        status.update({name: count for name, count in counts.items() if count or name in _ALWAYS})
        old = owner.get("status") or {}
        if old.get("collisionCount") is not None:
            status["collisionCount"] = old["collisionCount"]
        if status != old:
            await self.update_status(DAEMON_SETS, owner, status)
            await self.kernel.pause()  # the cache shows it before the key comes again
        return wait


def _created(pod: Object) -> tuple[str, str]:
    return str(pod["metadata"].get("creationTimestamp") or ""), meta.name_of(pod)


def _node_of(pod: Object) -> str:
    """The node a pod is bound to, or that its affinity names."""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for item in term.get("matchFields") or ():
            if item["key"] == "metadata.name" and item["operator"] == "In":
                return str(item["values"][0])
    return ""


def _tolerations(spec: Object) -> list[Object]:
    tolerated = list(_TOLERATED)
    if spec.get("hostNetwork"):
        tolerated.append((PREFIX + "network-unavailable", "NoSchedule"))
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in tolerated]
    own = [toleration for toleration in spec.get("tolerations") or () if toleration not in added]
    return [*own, *added]


def _pod(owner: Object, node: str, hash_: str) -> Object:
    """Builds a pod from the template, pinned to a node and labelled with the revision."""
    template = owner["spec"]["template"]
    pod = podcontrol.pod_from_template(template, owner)
    generation = meta.annotations_of(owner).get(GENERATION)
    revision_labels = {history.HASH_LABEL: hash_}
    if generation:
        revision_labels[GENERATION_LABEL] = generation
    pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **revision_labels}
    spec = template["spec"]
    affinity = dict(spec.get("affinity") or {})
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    node_name_fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
        "nodeSelectorTerms": [{"matchFields": node_name_fields}]
    }
    affinity["nodeAffinity"] = node_affinity
    pod["spec"] = {**spec, "affinity": affinity, "tolerations": _tolerations(spec)}
    return pod
