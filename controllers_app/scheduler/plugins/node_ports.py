"""Two pods cannot have the same host port on one node.

Models kubernetes pkg/scheduler/framework/plugins/nodeports/node_ports.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllers_app.scheduler.framework import NODE, POD_GONE, No, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

_ANY = "0.0.0.0"
_NO = No(("node(s) didn't have free ports for the requested pod ports",))


class NodePorts(Plugin):
    name = "NodePorts"
    filters = True
    wakes_on = (NODE, POD_GONE)
    source = "pkg/scheduler/framework/plugins/nodeports/node_ports.go"

    def prepare_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        return pod.ports or None

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        for address, protocol, port in state:
            for (other, other_protocol, other_port), count in node.ports.items():
                if not count or (protocol, port) != (other_protocol, other_port):
                    continue
                if _ANY in (address, other) or address == other:
                    return _NO
        return None
