"""The scheduler's picture of the cluster: nodes, the pods on them, and indexes kept up at each
change, so that an attempt never walks all pods.

A pod counts as placed as soon as its binding was sent. Pods of a node that is not known (yet, or
any more) are kept beside.

Models kubernetes pkg/scheduler/backend/cache/{cache,node_tree,snapshot}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels as selectors
from controllers_app.scheduler.nodeinfo import ZONE, Group, NodeInfo, PodInfo

REGION = "topology.kubernetes.io/region"
MATCHES_MAX = 1024
KEYS_MAX = 16


class _Matching:
    """The pods of a namespace that a selector matches, counted by node, and by the domains of the
    labels that were asked about."""

    __slots__ = ("by_domain", "by_node")

    def __init__(self) -> None:
        self.by_node: dict[str, int] = {}
        self.by_domain: dict[str, dict[str, int]] = {}  # label -> its value -> pods

    def count(self, node: NodeInfo, number: int) -> None:
        _add(self.by_node, node.name, number)
        for key, domains in self.by_domain.items():
            _add(domains, node.labels.get(key, ""), number)


def _add(into: dict[str, int], key: str, number: int) -> None:
    count = into.get(key, 0) + number
    if count:
        into[key] = count
    else:
        into.pop(key, None)


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
        self._matches: dict[tuple[str, selectors.Selector], _Matching] = {}
        self._counted_in: dict[Group, list[_Matching]] = {}
        self._order: list[NodeInfo] | None = None
        self._domains: dict[str, dict[str, None]] = {}  # label -> its values
        self._complete: dict[str, bool] = {}  # label -> whether every node has it

    # -- reading --------------------------------------------------------------------------------

    def order(self) -> list[NodeInfo]:
        """All nodes, zone by zone in turn, so that any stretch of them is spread over zones."""
        if self._order is None:
            zones: dict[tuple[str, str], list[NodeInfo]] = {}
            for rank, name in enumerate(sorted(self.nodes)):
                node = self.nodes[name]
                node.rank = rank
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
        return self._matching(namespace, selector).by_node

    def domain_counts(
        self, namespace: str, selector: selectors.Selector, key: str
    ) -> Mapping[str, int]:
        """The same by values of a label of the nodes; nodes without it together as ""."""
        matching = self._matching(namespace, selector)
        counts = matching.by_domain.get(key)
        if counts is None:
            if len(matching.by_domain) >= KEYS_MAX:
                matching.by_domain.clear()
            counts = matching.by_domain[key] = {}
            for name, count in matching.by_node.items():
                _add(counts, self.nodes[name].labels.get(key, ""), count)
        return counts

    def all_have(self, key: str) -> bool:
        """Whether every node has the label."""
        if key not in self._complete:
            self._complete[key] = all(key in node.labels for node in self.nodes.values())
        return self._complete[key]

    def domains(self, key: str) -> Iterable[str]:
        """The values that the nodes have of a label."""
        domains = self._domains.get(key)
        if domains is None:
            if len(self._domains) >= KEYS_MAX:
                self._domains.clear()
            domains = self._domains[key] = dict.fromkeys(
                node.labels[key] for node in self.nodes.values() if key in node.labels
            )
        return domains

    def groups(self) -> Iterator[tuple[Group, Mapping[str, int]]]:
        """Pods that look the same, and how many of them each node has."""
        for groups in self._groups.values():
            yield from groups.items()

    def _matching(self, namespace: str, selector: selectors.Selector) -> _Matching:
        key = (namespace, selector)
        matching = self._matches.get(key)
        if matching is None:
            if len(self._matches) >= MATCHES_MAX:
                self._matches.clear()
                for counted_in in self._counted_in.values():
                    counted_in.clear()
            matching = self._matches[key] = _Matching()
            for group, where in self._groups.get(namespace, {}).items():
                if not group.deleting and selector.matches(group.labels):
                    self._counted_in[group].append(matching)
                    for node, count in where.items():
                        matching.count(self.nodes[node], count)
        return matching

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
            self._counted_in[info.group] = [
                counted
                for (namespace, selector), counted in self._matches.items()
                if namespace == info.namespace
                and not info.group.deleting
                and selector.matches(info.labels)
            ]
        _add(where, node, sign)
        for matching in self._counted_in[info.group]:
            matching.count(self.nodes[node], sign)
        if not where:
            del groups[info.group], self._counted_in[info.group]
            if not groups:
                del self._groups[info.namespace]

    # -- nodes ----------------------------------------------------------------------------------

    def put_node(self, node: Object) -> None:
        """A node, new or changed."""
        name = meta.name_of(node)
        info = self.nodes.get(name)
        if info is None:
            info = self.nodes[name] = NodeInfo(node)
            self._places_changed()
            for pod in self._on.get(name, {}).values():
                info.add(pod)
                self._count(pod, name, 1)
        else:
            if meta.labels_of(node) != info.labels:
                self._places_changed()
            self._count_facts(info, -1)
            info.set_node(node)
        self._count_facts(info, 1)

    def remove_node(self, name: str) -> None:
        info = self.nodes.get(name)
        if info is None:
            return
        for pod in info.pods.values():
            self._count(pod, name, -1)
        del self.nodes[name]
        self._places_changed()
        self._count_facts(info, -1)

    def _places_changed(self) -> None:
        """What was counted by labels of nodes is counted anew when it is asked about."""
        self._order = None
        self._domains.clear()
        self._complete.clear()
        for matching in self._matches.values():
            matching.by_domain.clear()

    def _count_facts(self, info: NodeInfo, sign: int) -> None:
        self.closed_nodes += sign * info.unschedulable
        self.tainted_nodes += sign * bool(info.hard_taints)
        for image in info.images:
            count = self.image_nodes.get(image, 0) + sign
            if count:
                self.image_nodes[image] = count
            else:
                del self.image_nodes[image]
