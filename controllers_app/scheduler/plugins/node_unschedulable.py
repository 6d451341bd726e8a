"""A cordoned node takes only pods that tolerate it.

Models kubernetes pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go.
"""

from __future__ import annotations

from typing import Any

from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import UNRESOLVABLE, ClusterEvent, No, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.plugins.taint_toleration import tolerated

_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_NO = No(("node(s) were unschedulable",), UNRESOLVABLE)


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"
    filters = True
    source = "pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go"
    remedy = "kubectl uncordon {node}"

    def can_refuse(self, state: Any, pod: PodInfo, cache: Cache) -> bool:
        return cache.closed_nodes > 0

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        if not node.unschedulable:
            return None
        return None if tolerated(_TAINT, pod.spec.get("tolerations") or ()) else _NO

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A node that is open and was not before."""
        if event.new is None:
            return True
        was_open = event.old is not None and not event.old.get("spec", {}).get("unschedulable")
        return not was_open and not event.new.get("spec", {}).get("unschedulable")
