"""The scheduler's picture of the cluster: nodes, the pods on them, and indexes kept up at each
change, so that an attempt never walks all pods.

A pod counts as placed as soon as its binding was sent. Pods of a node that is not known (yet, or
any more) are kept beside.

Models kubernetes pkg/scheduler/backend/cache/{cache,node_tree,snapshot}.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels as selectors
from controllers_app.scheduler.nodeinfo import Group, NodeInfo, PodInfo

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
MATCHES_MAX = 1024

_NOWHERE: dict[str, int] = {}


class Cache:
    """Everything an attempt looks at."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self.image_nodes: dict[str, int] = {}  # image name -> how many nodes have it
        self.closed_nodes = 0  # cordoned
        self.tainted_nodes = 0  # with taints that turn pods away
        self.with_affinity: dict[str, PodInfo] = {}
        self.node_of: dict[str, str] = {}  # pod key -> node, bound or assumed
        self._on: dict[str, dict[str, PodInfo]] = {}  # node -> its pods, known node or not
        self._groups: dict[str, dict[Group, dict[str, int]]] = {}  # namespace -> group -> node -> n
        self._matches: dict[tuple[str, selectors.Selector], list[Group]] = {}
        self._order: list[NodeInfo] | None = None

    # -- reading --------------------------------------------------------------------------------

    def order(self) -> list[NodeInfo]:
        """All nodes, zone by zone in turn, so that any stretch of them is spread over zones."""
        if self._order is None:
            zones: dict[tuple[str, str], list[NodeInfo]] = {}
            for name in sorted(self.nodes):
                node = self.nodes[name]
                have = node.labels
                zones.setdefault((have.get(REGION, ""), have.get(ZONE, "")), []).append(node)
            rows = list(zones.values())
            longest = max((len(row) for row in rows), default=0)
            self._order = [row[i] for i in range(longest) for row in rows if i < len(row)]
        return self._order

    def info(self, key: str) -> PodInfo | None:
        """A placed pod."""
        node = self.node_of.get(key)
        return self._on[node].get(key) if node is not None else None

    def counts(self, namespace: str, selector: selectors.Selector) -> Mapping[str, int]:
        """Node -> how many pods of the namespace there match; pods on their way out do not count.
        Do not keep."""
        groups = self._groups.get(namespace)
        if not groups:
            return _NOWHERE
        found = [groups[one] for one in self._matching(namespace, selector) if not one.deleting]
        if len(found) == 1:
            return found[0]
        total: dict[str, int] = {}
        for where in found:
            for node, count in where.items():
                total[node] = total.get(node, 0) + count
        return total

    def groups(self) -> Iterator[tuple[Group, Mapping[str, int]]]:
        """Pods that look the same, and how many of them each node has."""
        for groups in self._groups.values():
            yield from groups.items()

    def _matching(self, namespace: str, selector: selectors.Selector) -> list[Group]:
        key = (namespace, selector)
        found = self._matches.get(key)
        if found is None:
            if len(self._matches) >= MATCHES_MAX:
                self._matches.clear()
            found = self._matches[key] = [
                group for group in self._groups[namespace] if selector.matches(group.labels)
            ]
        return found

    # -- pods -----------------------------------------------------------------------------------

    def place(self, info: PodInfo, node: str) -> None:
        """The pod is on that node, or will be; what was known of it before is replaced."""
        self.forget(info.key)
        self._on.setdefault(node, {})[info.key] = info
        self.node_of[info.key] = node
        if info.affinity is not None:
            self.with_affinity[info.key] = info
        if node in self.nodes:
            self.nodes[node].add(info)
            self._count(info, node, 1)

    def forget(self, key: str) -> PodInfo | None:
        """The pod is not there any more; what was known of it."""
        node = self.node_of.pop(key, None)
        if node is None:
            return None
        pods = self._on[node]
        info = pods.pop(key)
        if not pods:
            del self._on[node]
        self.with_affinity.pop(key, None)
        if node in self.nodes:
            self.nodes[node].remove(key)
            self._count(info, node, -1)
        return info

    def _count(self, info: PodInfo, node: str, sign: int) -> None:
        groups = self._groups.setdefault(info.namespace, {})
        where = groups.get(info.group)
        if where is None:
            where = groups[info.group] = {}
            for (namespace, selector), found in self._matches.items():
                if namespace == info.namespace and selector.matches(info.labels):
                    found.append(info.group)
        count = where.get(node, 0) + sign
        if count:
            where[node] = count
            return
        where.pop(node, None)
        if not where:
            del groups[info.group]
            for (namespace, _), found in self._matches.items():
                if namespace == info.namespace and info.group in found:
                    found.remove(info.group)
            if not groups:
                del self._groups[info.namespace]

    # -- nodes ----------------------------------------------------------------------------------

    def put_node(self, node: Object) -> None:
        """A node, new or changed."""
        name = meta.name_of(node)
        info = self.nodes.get(name)
        if info is None:
            info = self.nodes[name] = NodeInfo(node)
            self._order = None
            for pod in self._on.get(name, {}).values():
                info.add(pod)
                self._count(pod, name, 1)
        else:
            if meta.labels_of(node) != info.labels:
                self._order = None
            self._count_facts(info, -1)
            info.set_node(node)
        self._count_facts(info, 1)

    def remove_node(self, name: str) -> None:
        info = self.nodes.pop(name, None)
        if info is None:
            return
        self._order = None
        self._count_facts(info, -1)
        for pod in info.pods.values():
            self._count(pod, name, -1)

    def _count_facts(self, info: NodeInfo, sign: int) -> None:
        self.closed_nodes += sign * info.unschedulable
        self.tainted_nodes += sign * bool(info.hard_taints)
        for image in info.images:
            count = self.image_nodes.get(image, 0) + sign
            if count:
                self.image_nodes[image] = count
            else:
                del self.image_nodes[image]
