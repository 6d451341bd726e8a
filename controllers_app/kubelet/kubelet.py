"""The kubelet of one node: follows the pods bound to it, one worker each, and reports the node.

Models kubernetes pkg/kubelet/kubelet.go (syncLoopIteration) and kubelet_network.go (updatePodCIDR).
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet.allocation import Allocation
from controllers_app.kubelet.backoff import Backoff
from controllers_app.kubelet.dependencies import Dependencies
from controllers_app.kubelet.node.lease import Lease
from controllers_app.kubelet.node.registration import Registration
from controllers_app.kubelet.node.status import NodeStatus
from controllers_app.kubelet.pods.staticpods import Manifests, StaticPods
from controllers_app.kubelet.pods.worker import PodWorker
from controllers_app.runtime.informer import Informer, InformerFactory

REGISTER_RETRY_SECONDS, REGISTER_RETRY_SECONDS_MAX = 0.1, 7


class Kubelet:
    """One run of one kubelet, from its first list to its end."""

    def __init__(self, dependencies: Dependencies, manifests: Manifests | None = None) -> None:
        self.dependencies = dependencies
        kernel, lane = dependencies.kernel, dependencies.lane
        self._informers = InformerFactory(
            kernel, dependencies.client, dependencies.probe, lane, dependencies.group
        )
        self._nodes = Informer(
            kernel,
            dependencies.client,
            dependencies.probe,
            "nodes",
            component=lane,
            fields=f"metadata.name={dependencies.name}",
        )
        self._lease = Lease(dependencies)
        self._status = NodeStatus(dependencies, self._lease, self._nodes)
        self._registration = Registration(dependencies, self._status, self._lease)
        self.pods = self._informers.informer("pods", fields=f"spec.nodeName={dependencies.name}")
        self.static = StaticPods(dependencies, manifests or Manifests())
        self.workers: dict[str, PodWorker] = {}  # by the pod's uid: a name may come back at once
        self._allocation = Allocation(
            self._status.capacity()["allocatable"],
            lambda: self._nodes.get(dependencies.name),
            lambda: [each.share for each in self.workers.values()],
            dependencies.release,
        )

    async def run(self) -> None:
        """Registers the node, then follows its pods until the component ends."""
        group, lane = self.dependencies.group, self.dependencies.lane
        group.spawn(f"{lane}/events", self.dependencies.recorder.run())
        self._nodes.handle(self._node_added, self._node_updated)
        group.spawn(f"{lane}/informer nodes", self._nodes.run())
        await self._nodes.synced.wait()
        await self._register()
        group.spawn(f"{lane}/status once ready", self._status.fast_update())
        group.spawn(f"{lane}/status", self._status.heartbeat(), background=True)
        group.spawn(f"{lane}/lease", self._lease.keep(), background=True)
        self.pods.handle(self._added, self._updated, self._deleted)
        self._informers.start()
        await self._informers.synced()
        detail = {"pods": len(self.pods)}
        self.dependencies.probe.tell("component", lane, "synced", detail, span=0)
        self.static.start()

    async def _register(self) -> None:
        backoff = Backoff(REGISTER_RETRY_SECONDS, REGISTER_RETRY_SECONDS_MAX)
        while True:
            try:
                await self._registration.register()
                return
            except errors.ApiError:
                kernel = self.dependencies.kernel
                await kernel.sleep(backoff.next(), background=backoff.is_background)

    def _node_added(self, node: Object, _revision: int) -> None:
        self._update_pod_cidr("", node)

    def _node_updated(self, old: Object, node: Object, _revision: int) -> None:
        self._update_pod_cidr(old["spec"].get("podCIDR", ""), node)

    def _update_pod_cidr(self, before: str, node: Object) -> None:
        """Tells the runtime the range that its node was given."""
        cidr = node["spec"].get("podCIDR", "")
        if cidr and cidr != before:
            self.dependencies.runtime.update_runtime_config(cidr)
            self._status.network.set()

    def _remove_worker(self, worker: PodWorker) -> None:
        self.workers.pop(worker.uid, None)
        self.dependencies.runtime.remove_pod(worker.uid)

    def _added(self, pod: Object, revision: int) -> None:
        worker = self.workers.get(meta.uid_of(pod))
        if worker is not None:
            worker.update(pod, revision)
            return
        worker = PodWorker(self.dependencies, pod, self._remove_worker, self._allocation)
        self.workers[worker.uid] = worker
        worker.begin(revision)

    def _updated(self, _old: Object, pod: Object, revision: int) -> None:
        worker = self.workers.get(meta.uid_of(pod))
        if worker is not None:
            worker.update(pod, revision)

    def _deleted(self, pod: Object, revision: int) -> None:
        worker = self.workers.get(meta.uid_of(pod))
        if worker is not None:
            worker.removed(revision)
        self.static.deleted(pod)
