"""Two pods cannot have the same host port on one node.

Models kubernetes pkg/scheduler/framework/plugins/nodeports/node_ports.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import NODE_ADDED, POD_DELETED, ClusterEvent, No, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

Port = tuple[str, str, int]  # address, protocol, number

_ANY = "0.0.0.0"
_NO = No(("node(s) didn't have free ports for the requested pod ports",))


class NodePorts(Plugin):
    name = "NodePorts"
    filters = True
    wakes_on = (NODE_ADDED, POD_DELETED)
    source = "pkg/scheduler/framework/plugins/nodeports/node_ports.go"

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        return pod.ports or None

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        return _NO if node.ports and collide(state, node.ports) else None

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A pod left that had one of the ports, or a node came."""
        return event.pod is None or collide(pod.ports, event.pod.ports)


def collide(wanted: Iterable[Port], taken: Iterable[Port]) -> bool:
    for address, protocol, port in wanted:
        for other, other_protocol, other_port in taken:
            if (protocol, port) == (other_protocol, other_port):
                if _ANY in (address, other) or address == other:
                    return True
    return False
