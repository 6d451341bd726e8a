"""Pods that are to go to a node once the victims of their preemption have left it. There they
count, for pods of the same or a lower priority, as if they were placed.

Models kubernetes pkg/scheduler/backend/queue/nominator.go.
"""

from __future__ import annotations

from collections.abc import Collection

from apiserver_app.machinery import meta, releases
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.scheduler.nodeinfo import PodInfo


class Nominator:
    """Nominated pods by node."""

    def __init__(self, version: Release = releases.DEFAULT) -> None:
        self._version = version
        self._node_of: dict[str, str] = {}  # uid -> node
        self._on: dict[str, dict[str, PodInfo]] = {}  # node -> uid -> pod

    def __bool__(self) -> bool:
        return bool(self._node_of)

    def on(self, node: str) -> Collection[PodInfo]:
        """The pods that are nominated for a node."""
        nominated = self._on.get(node)
        return nominated.values() if nominated else ()

    def put(self, pod: Object, node: str | None = None) -> None:
        """The pod is nominated for that node, or for none if empty; None: as its status says."""
        uid = meta.uid_of(pod)
        self.remove(uid)
        node = nominated_node(pod) if node is None else node
        if node:
            self._node_of[uid] = node
            self._on.setdefault(node, {})[uid] = PodInfo(pod, self._version)

    def update(self, old: Object, pod: Object) -> None:
        """A newer version. Its status may not say yet what was decided."""
        if self._node_of or nominated_node(pod):
            silent = not nominated_node(old) and not nominated_node(pod)
            self.put(pod, self._node_of.get(meta.uid_of(pod)) if silent else None)

    def remove(self, uid: str) -> None:
        node = self._node_of.pop(uid, None)
        if node is not None:
            pods = self._on[node]
            del pods[uid]
            if not pods:
                del self._on[node]


def nominated_node(pod: Object) -> str:
    """What the pod's status says; empty for none."""
    node: str = (pod.get("status") or {}).get("nominatedNodeName") or ""
    return node
