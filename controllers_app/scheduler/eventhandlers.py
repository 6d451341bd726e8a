"""The scheduler's event handlers: changes of pods, nodes, claims, volumes and storage classes go
into its cache and its queue, and wake the pods they may help.

Models kubernetes pkg/scheduler/eventhandlers.go.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.runtime.informer import Informer, InformerFactory
from controllers_app.scheduler import framework, nodeinfo
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import ClusterEvent
from controllers_app.scheduler.nodeinfo import PodInfo
from controllers_app.scheduler.nominator import nominated_node
from controllers_app.scheduler.queue import SchedulingQueue
from controllers_app.scheduler.volumes import Volumes

NAME = "scheduler"
PROFILE = "default-scheduler"


class EventHandlers:
    """Keeps the scheduler's cache and queue up to date with its informers."""

    def __init__(
        self,
        informers: InformerFactory,
        cache: Cache,
        queue: SchedulingQueue,
        volumes: Volumes,
        version: Release,
    ) -> None:
        self._version = version
        self._volumes = volumes
        self._cache = cache
        self._queue = queue
        self._pods = informers.informer("pods")
        self._nodes = informers.informer("nodes")

    def register(self) -> None:
        self._nodes.handle(self._node_added, self._node_updated, self._node_deleted)
        self._pods.handle(self._pod_added, self._pod_updated, self._pod_deleted)
        volumes = self._volumes
        for informer, added, updated in (
            (volumes.claims, framework.CLAIM_ADDED, framework.CLAIM_UPDATED),
            (volumes.volumes, framework.VOLUME_ADDED, framework.VOLUME_UPDATED),
            (volumes.classes, framework.CLASS_ADDED, framework.CLASS_UPDATED),
        ):
            self._wake_on(informer, added, updated)

    def pod(self, key: str) -> Object | None:
        """The pod as the informer has it."""
        return self._pods.get(key)

    def _wake_on(self, informer: Informer, added: str, updated: str) -> None:
        """Only wakes waiting pods: plugins read these objects from the informers themselves."""
        happened = self._queue.happened

        def on_add(obj: Object, revision: int) -> None:
            happened(ClusterEvent(added, revision, new=obj))

        def on_update(old: Object, obj: Object, revision: int) -> None:
            happened(ClusterEvent(updated, revision, old, obj))

        informer.handle(on_add, on_update)

    # -- nodes ----------------------------------------------------------------------------------

    def _node_added(self, node: Object, revision: int) -> None:
        self._cache.put_node(node)
        self._queue.happened(ClusterEvent(framework.NODE_ADDED, revision, new=node))

    def _node_updated(self, old: Object, node: Object, revision: int) -> None:
        if _relevant(old) == _relevant(node):
            return  # a heartbeat
        self._cache.put_node(node)
        if _schedulability(old) != _schedulability(node):
            event = ClusterEvent(framework.NODE_UPDATED, revision, old, node)
            self._queue.happened(event)

    def _node_deleted(self, node: Object, revision: int) -> None:
        self._cache.remove_node(meta.name_of(node))
        self._queue.happened(ClusterEvent(framework.NODE_DELETED, revision, old=node))

    # -- pods -----------------------------------------------------------------------------------

    def _pod_added(self, pod: Object, revision: int) -> None:
        if _finished(pod):
            return
        node = pod["spec"].get("nodeName")
        if node:
            self._assigned(pod, node, revision)
        else:
            self._unassigned(pod, None, revision)

    def _pod_updated(self, old: Object, pod: Object, revision: int) -> None:
        if _finished(pod):
            if not _finished(old):
                self._gone(pod, revision)
            return
        node = pod["spec"].get("nodeName")
        if not node:
            self._unassigned(pod, old, revision)
        elif not old["spec"].get("nodeName"):
            self._assigned(pod, node, revision)
        else:
            self._changed(old, pod, node, revision)

    def _pod_deleted(self, pod: Object, revision: int) -> None:
        self._gone(pod, revision)

    def _assigned(self, pod: Object, node: str, revision: int) -> None:
        self._queue.remove(meta.key_of(pod))
        info = PodInfo(pod, self._version)
        self._cache.place(info, node)
        self._queue.happened(ClusterEvent(framework.POD_ADDED, revision, pod=info))

    def _changed(self, old: Object, pod: Object, node: str, revision: int) -> None:
        before = self._cache.info(meta.key_of(pod))
        same_spec = old["spec"] is pod["spec"] or old["spec"] == pod["spec"]
        same_labels = meta.labels_of(old) == meta.labels_of(pod)
        if same_spec and same_labels and meta.is_deleting(old) == meta.is_deleting(pod):
            if not nodeinfo.is_resizing(old) and not nodeinfo.is_resizing(pod):
                if before is not None:
                    before.renew(pod)
                return  # only its status changed
        info = PodInfo(pod, self._version)
        self._cache.place(info, node)
        if before is None:
            return
        event = ClusterEvent(framework.POD_UPDATED, revision, pod=info, was=before)
        if not same_labels or event.shrunk():
            self._queue.happened(event)

    def _unassigned(self, pod: Object, old: Object | None, revision: int) -> None:
        spec = pod["spec"]
        if spec.get("schedulerName", PROFILE) != PROFILE:
            return  # another scheduler's
        if meta.is_deleting(pod):
            self._queue.remove(meta.key_of(pod))
        elif spec.get("schedulingGates"):
            return
        elif old is None:
            self._queue.add(pod, revision)
        else:
            self._queue.update(pod, self._own_change(pod, old, revision))
            if nominated_node(old) and nominated_node(old) != nominated_node(pod):
                self._nominated_left(old, revision)

    def _own_change(self, pod: Object, old: Object, revision: int) -> ClusterEvent | None:
        """What changed of a pod that waits for a node, if a plugin may have waited for it."""
        if meta.labels_of(old) == meta.labels_of(pod) and old["spec"] == pod["spec"]:
            return None
        before, now = PodInfo(old, self._version), PodInfo(pod, self._version)
        return ClusterEvent(framework.POD_UPDATED, revision, pod=now, was=before, assigned=False)

    def _gone(self, pod: Object, revision: int) -> None:
        key = meta.key_of(pod)
        self._queue.remove(key)
        info = self._cache.forget(key)
        if info is not None:
            self._queue.happened(ClusterEvent(framework.POD_DELETED, revision, pod=info))
        elif nominated_node(pod):
            self._nominated_left(pod, revision)

    def _nominated_left(self, pod: Object, revision: int) -> None:
        """A pod counts no more on the node it was nominated for."""
        info = PodInfo(pod, self._version)
        event = ClusterEvent(
            framework.POD_DELETED, revision, pod=info, assigned=False, priority_max=info.priority
        )
        self._queue.happened(event)


def _finished(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _schedulability(node: Object) -> tuple[object, ...]:
    """The parts of a node that can make a pod schedulable."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return (
        spec.get("unschedulable"),
        spec.get("taints"),
        status.get("allocatable"),
        meta.labels_of(node),
    )


def _relevant(node: Object) -> tuple[object, ...]:
    """The parts of a node that the scheduler's plugins read."""
    return (*_schedulability(node), (node.get("status") or {}).get("images"))
