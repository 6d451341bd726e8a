"""kube-scheduler: takes one pod at a time, decides on a node, binds it through the API server.

Each attempt is one `work` span of the trace with its phases. The decision is made on the
scheduler's own cache, in which a pod counts as placed as soon as its binding was sent.

Models kubernetes pkg/scheduler/scheduler.go, schedule_one.go and eventhandlers.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, labels, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from controllers_app.runtime.component import Component
from controllers_app.runtime.election import LeaderElector
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.tasks import TaskGroup
from controllers_app.scheduler import framework
from controllers_app.scheduler.framework import NODE, POD_BOUND, POD_GONE, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.plugins import PLUGINS
from controllers_app.scheduler.plugins.pod_topology_spread import PodTopologySpread
from controllers_app.scheduler.queue import Queued, SchedulingQueue

NAME = "scheduler"
PROFILE = "default-scheduler"
FLUSH_SECONDS = 30
# always the same: it is the only candidate, so after a restart it leads again at once
IDENTITY = "control-plane_00000000-0000-4000-8000-000000000002"


def build(
    kernel: Kernel, probe: Probe, rand: Rand, client: Client, *, version: str
) -> Component:
    """The scheduler as a component that can be started, stopped and killed."""

    async def main(group: TaskGroup) -> None:
        scheduler = Scheduler(kernel, probe, rand, client, group)
        await scheduler.run()

    return Component(kernel, probe, NAME, main)


class Scheduler:
    """One run of the scheduler, from its first list to its end."""

    def __init__(
        self, kernel: Kernel, probe: Probe, rand: Rand, client: Client, group: TaskGroup
    ) -> None:
        self._kernel = kernel
        self._probe = probe
        self._rand = rand
        self._client = client
        self._group = group
        self._recorder = Recorder(kernel, client, PROFILE, modern=True)
        self._election = Recorder(kernel, client, PROFILE)
        self._informers = InformerFactory(kernel, client, probe, NAME, group)
        self._queue = SchedulingQueue(kernel, probe)
        self.nodes: dict[str, NodeInfo] = {}
        self._placed: dict[str, str] = {}  # pod key -> node, bound or assumed
        self.plugins: tuple[Plugin, ...] = tuple(kind() for kind in PLUGINS)
        self._filters = tuple(one for one in self.plugins if one.filters)
        self._pods = self._informers.informer("pods")
        self._node_cache = self._informers.informer("nodes")
        self._replicasets = self._informers.informer("replicasets.apps")
        self._statefulsets = self._informers.informer("statefulsets.apps")
        self._services = self._informers.informer("services").index_by_namespace()
        for plugin in self.plugins:
            if isinstance(plugin, PodTopologySpread):
                plugin.owner_selector = self._owner_selector

    async def run(self) -> None:
        """Lead, follow pods and nodes, and schedule one pod after another."""
        self._group.spawn(f"{NAME}/events", self._recorder.run())
        self._group.spawn(f"{NAME}/election events", self._election.run())
        self._node_cache.handle(self._node_added, self._node_updated, self._node_deleted)
        self._pods.handle(self._pod_added, self._pod_updated, self._pod_deleted)
        self._informers.start()
        await self._informers.synced()
        elector = LeaderElector(
            self._kernel, self._client, self._probe, self._election, "kube-scheduler",
            IDENTITY,
        )  # fmt: skip
        await elector.acquire()
        self._probe.tell("component", NAME, "synced", {"nodes": len(self.nodes)})
        self._group.spawn(f"{NAME}/lease", elector.renew(), background=True)
        self._group.spawn(f"{NAME}/flush", self._flush(), background=True)
        while True:
            key, queued = await self._queue.take()
            await self._work(key, queued)

    async def _flush(self) -> None:
        while True:
            await self._kernel.sleep(FLUSH_SECONDS)
            self._queue.flush_old()

    # -- one attempt ----------------------------------------------------------------------------

    async def _work(self, key: str, queued: Queued) -> None:
        task = self._kernel.current
        assert task is not None
        revs, queued.revs = queued.revs, []
        task.span = await self._probe.hop("work", NAME, key, revs, span=0)
        try:
            result, said = await self._attempt(key, queued)
        except errors.ApiError as error:
            result, said = "retry", error.message
            self._forget(key)
            self._queue.retry(key)
        await self._probe.hop("done", result, said, 0)
        task.span = 0

    async def _attempt(self, key: str, queued: Queued) -> tuple[str, str]:
        """Decide and bind; (result, what to say of it)."""
        pod = self._pods.get(key)
        if pod is None or pod["spec"].get("nodeName") or meta.is_deleting(pod):
            self._queue.remove(key)
            return "ok", "gone, or placed already"
        info = PodInfo(pod)
        nodes = [self.nodes[name] for name in sorted(self.nodes)]
        filtered = framework.run_filters(self._filters, info, nodes)
        await self._probe.hop("schedule", "filter", key, filtered.detail(nodes))
        if not filtered.feasible:
            return await self._fail(key, pod, nodes, filtered)
        if len(filtered.feasible) == 1:
            chosen = filtered.feasible[0].name
            detail = {"node": chosen, "why": "the only node that passed the filters"}
        else:
            scored = framework.run_scores(self.plugins, info, filtered.feasible)
            await self._probe.hop("schedule", "score", key, scored.detail())
            chosen, detail = self._select(scored.total)
        await self._probe.hop("schedule", "select", key, detail)
        return await self._bind(key, info, chosen)

    def _select(self, total: dict[str, int]) -> tuple[str, Object]:
        """The highest total; among equals, chance decides."""
        best = max(total.values())
        ties = [name for name in sorted(total) if total[name] == best]
        chosen = ties[self._rand.below(len(ties))] if len(ties) > 1 else ties[0]
        others = sorted((score for name, score in total.items() if name != chosen), reverse=True)
        detail: Object = {"node": chosen, "total": best, "margin": best - others[0]}
        if len(ties) > 1:
            detail["ties"] = ties
            detail["why"] = f"{len(ties)} nodes are equal; one was drawn"
        else:
            detail["why"] = f"{best} points, {best - others[0]} more than the next"
        return chosen, detail

    async def _bind(self, key: str, info: PodInfo, node: str) -> tuple[str, str]:
        self._place(info, node)
        namespace, name = meta.split_key(key)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": meta.uid_of(info.pod)},
            "target": {"kind": "Node", "name": node},
        }
        await self._probe.hop("schedule", "bind", key, {"node": node})
        await self._client.create("pods", namespace, binding, name=name, subresource="binding")
        self._queue.remove(key)
        self._recorder.event(
            info.pod, "Normal", "Scheduled",
            f"Successfully assigned {namespace}/{name} to {node}", action="Binding",
        )  # fmt: skip
        self._changed(POD_BOUND, 0)
        return "ok", f"bound to {node}"

    async def _fail(
        self, key: str, pod: Object, nodes: list[NodeInfo], filtered: framework.Filtered
    ) -> tuple[str, str]:
        message = framework.fit_error(nodes, filtered)
        blockers = sorted({plugin for plugin, _ in filtered.failed.values()})
        detail = {"message": message, "unschedulable": blockers}
        await self._probe.hop("schedule", "fail", key, detail)
        # a pod that no node was there for waits for nodes, as if every filter had refused
        waits_for = tuple(blockers) or tuple(one.name for one in self._filters)
        self._queue.failed(key, waits_for)
        self._recorder.event(pod, "Warning", "FailedScheduling", message, action="Scheduling")
        await self._note_unschedulable(pod, message)
        return "requeue", message

    async def _note_unschedulable(self, pod: Object, message: str) -> None:
        """The condition PodScheduled=False, unless it says so already."""
        conditions = (pod.get("status") or {}).get("conditions") or ()
        old = next((one for one in conditions if one["type"] == "PodScheduled"), None)
        if old and old.get("message") == message and old["status"] == "False":
            return
        now = meta.rfc3339(self._kernel.now)
        since = old["lastTransitionTime"] if old and old["status"] == "False" else now
        condition = {
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": message, "lastProbeTime": None, "lastTransitionTime": since,
        }  # fmt: skip
        patch = {"status": {"conditions": [condition]}}
        await self._client.patch(
            "pods", meta.namespace_of(pod), meta.name_of(pod), patch, subresource="status"
        )

    # -- the cache ------------------------------------------------------------------------------

    def _place(self, info: PodInfo, node: str) -> None:
        self._forget(info.key)
        if node in self.nodes:
            self.nodes[node].add(info)
        self._placed[info.key] = node

    def _forget(self, key: str) -> None:
        node = self._placed.pop(key, None)
        if node is not None and node in self.nodes:
            self.nodes[node].remove(key)

    def _node_added(self, node: Object, revision: int) -> None:
        name = meta.name_of(node)
        info = self.nodes[name] = NodeInfo(node)
        for pod in self._pods.list():
            if pod["spec"].get("nodeName") == name and not _finished(pod):
                info.add(PodInfo(pod))
                self._placed[meta.key_of(pod)] = name
        self._changed(NODE, revision)

    def _node_updated(self, old: Object, node: Object, revision: int) -> None:
        info = self.nodes.get(meta.name_of(node))
        if info is None:
            self._node_added(node, revision)
            return
        info.set_node(node)
        if _schedulability(old) != _schedulability(node):
            self._changed(NODE, revision)

    def _node_deleted(self, node: Object, _revision: int) -> None:
        self.nodes.pop(meta.name_of(node), None)

    def _pod_added(self, pod: Object, revision: int) -> None:
        key = meta.key_of(pod)
        node = pod["spec"].get("nodeName")
        if _finished(pod):
            self._pod_deleted(pod, revision)
        elif node:
            self._queue.remove(key)
            self._place(PodInfo(pod), node)
        elif pod["spec"].get("schedulerName") == PROFILE and not pod["spec"].get("schedulingGates"):
            if meta.is_deleting(pod):
                self._queue.remove(key)
            else:
                self._queue.add(pod, revision)

    def _pod_updated(self, old: Object, pod: Object, revision: int) -> None:
        if _finished(pod) and not _finished(old):
            self._pod_deleted(pod, revision)
        elif pod["spec"] is not old["spec"] or pod["metadata"] is not old["metadata"]:
            self._pod_added(pod, revision)

    def _pod_deleted(self, pod: Object, revision: int) -> None:
        key = meta.key_of(pod)
        self._queue.remove(key)
        if key in self._placed:
            self._forget(key)
            self._changed(POD_GONE, revision)

    def _changed(self, what: str, revision: int) -> None:
        waiting = frozenset(one.name for one in self._filters if what in one.wakes_on)
        self._queue.cluster_changed(waiting, revision)

    def _owner_selector(self, pod: Object) -> labels.Selector | None:
        """What the pod's ReplicaSet, StatefulSet or Service selects by."""
        namespace = meta.namespace_of(pod)
        owner = meta.controller_of(pod)
        if owner is not None:
            caches = {"ReplicaSet": self._replicasets, "StatefulSet": self._statefulsets}
            cache = caches.get(owner["kind"])
            found = cache.get(f"{namespace}/{owner['name']}") if cache is not None else None
            if found is not None:
                return labels.from_label_selector(found["spec"].get("selector"))
        mine = meta.labels_of(pod)
        merged: dict[str, str] = {}
        for service in self._services.list(namespace):
            wanted = service["spec"].get("selector")
            if wanted and all(mine.get(key) == value for key, value in wanted.items()):
                merged.update(wanted)
        return labels.from_label_selector({"matchLabels": merged}) if merged else None


def _finished(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _schedulability(node: Object) -> tuple[object, ...]:
    """The parts of a node that can make a pod schedulable."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return (
        spec.get("unschedulable"), spec.get("taints"), status.get("allocatable"),
        meta.labels_of(node),
    )  # fmt: skip
