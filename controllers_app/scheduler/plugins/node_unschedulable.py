"""NodeUnschedulable: a cordoned node accepts only pods that tolerate its taint.

Models kubernetes pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controllers_app.runtime import nodeaffinity
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    NODE_EVENTS,
    POD_UPDATED,
    UNRESOLVABLE,
    ClusterEvent,
    No,
    Plugin,
)
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_NO = No(("node(s) were unschedulable",), UNRESOLVABLE)


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"
    filters = True
    wakes_on = (*NODE_EVENTS, POD_UPDATED)
    source = "pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go"
    remedy = "kubectl uncordon {node}"

    def can_refuse(self, state: Any, pod: PodInfo, cache: Cache) -> bool:
        return cache.closed_nodes > 0

    def decides_by(self, state: Any) -> Iterable[str] | None:
        return ()

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        if not node.unschedulable:
            return None
        tolerations = pod.spec.get("tolerations") or ()
        return None if nodeaffinity.is_tolerated(_TAINT, tolerations) else _NO

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """Wakes for a node that was uncordoned or added, and for the toleration of cordons."""
        if event.what == POD_UPDATED:
            tolerations = pod.spec.get("tolerations") or ()
            return event.tolerates_more(pod) and nodeaffinity.is_tolerated(_TAINT, tolerations)
        if event.new is None:
            return True
        was_schedulable = event.old is not None and not event.old.get("spec", {}).get(
            "unschedulable"
        )
        return not was_schedulable and not event.new.get("spec", {}).get("unschedulable")
