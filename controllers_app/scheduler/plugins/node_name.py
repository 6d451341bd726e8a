"""A pod that names a node goes nowhere else.

Models kubernetes pkg/scheduler/framework/plugins/nodename/node_name.go.
"""

from __future__ import annotations

from typing import Any

from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import NODE_ADDED, UNRESOLVABLE, No, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

_NO = No(("node(s) didn't match the requested node name",), UNRESOLVABLE)


class NodeName(Plugin):
    name = "NodeName"
    filters = True
    wakes_on = (NODE_ADDED,)
    source = "pkg/scheduler/framework/plugins/nodename/node_name.go"

    def can_refuse(self, state: Any, pod: PodInfo, cache: Cache) -> bool:
        return bool(pod.spec.get("nodeName"))

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        wanted = pod.spec.get("nodeName")
        return None if not wanted or wanted == node.name else _NO
