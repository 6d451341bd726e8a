"""The state of pods as controllers see it: active, ready, available; and their deletion order.

Pure functions of the pod and the time.

Models kubernetes pkg/controller/controller_utils.go (IsPodActive, ActivePodsWithRanks) and
pkg/api/v1/pod/util.go.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASE_RANK = {"Pending": 0, "Unknown": 1, "Running": 2}


def phase_of(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def is_finished(pod: Object) -> bool:
    """Whether the pod's containers have ended for good."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Whether the pod counts as a replica: neither finished nor being deleted."""
    return "deletionTimestamp" not in pod["metadata"] and not is_finished(pod)


def is_ready(pod: Object) -> bool:
    return conditions.is_true(pod.get("status"), "Ready")


def ready_since(pod: Object) -> int | None:
    """The time at which the pod became ready, in µs; None when it is not ready."""
    condition = conditions.find(pod.get("status"), "Ready")
    if condition is None or condition.get("status") != "True":
        return None
    moment = condition.get("lastTransitionTime")
    return meta.parse_time(moment) if moment else 0


def available_at(pod: Object, min_ready_seconds: int) -> int | None:
    """The time from which the pod counts as available; None when it is not ready."""
    since = ready_since(pod)
    if since is None:
        return None
    return since + min_ready_seconds * SECOND if min_ready_seconds else 0


def is_available(pod: Object, min_ready_seconds: int, now: int) -> bool:
    since = available_at(pod, min_ready_seconds)
    return since is not None and (min_ready_seconds == 0 or since < now)


def by_node(pod: Object) -> tuple[str, ...]:
    """Index function: the node the pod is bound to."""
    node = pod["spec"].get("nodeName")
    return (node,) if node else ()


BY_NODE = ("node", by_node)


def replica_facts(pod: Object) -> tuple[bool, bool, tuple[tuple[str, str], ...]]:
    """(active, ready, labels): the facts by which replica sets count pods."""
    labels = pod["metadata"].get("labels")
    return (is_active(pod), is_ready(pod), tuple(labels.items()) if labels else ())


def place_and_labels(pod: Object) -> str:
    """What pods that are alike to a selector have in common: their namespace and their labels."""
    metadata = pod["metadata"]
    return place_and_labels_of(meta.namespace_of(pod), metadata.get("labels") or {})


def place_and_labels_of(namespace: str, labels: Mapping[str, str]) -> str:
    return f"{namespace}/{','.join(sorted(map('='.join, labels.items())))}"


def owner_facts(pod: Object) -> tuple[str, str]:
    """(uid, kind and name) of the controller of an active pod; empty for others."""
    owner = meta.controller_of(pod) if is_active(pod) else None
    return (owner["uid"], f"{owner['kind']} {owner['name']}") if owner else ("", "")


class _Rank(msgspec.Struct, frozen=True):
    """A pod's sort key for deletion."""

    pod: Object
    first: tuple[int, ...]
    ready: int | None
    restarts: tuple[int, int]
    created: int
    uid: str


def first_to_delete(
    pods: Sequence[Object], count: int, related: Iterable[Object], now: int
) -> list[Object]:
    """The `count` pods to delete first, on nodes with many `related` pods before others."""
    if count >= len(pods):
        return list(pods)
    on_node: dict[str, int] = {}
    for pod in related:
        if is_active(pod):
            node = _node_of(pod)
            on_node[node] = on_node.get(node, 0) + 1
    ranks = [_rank(pod, on_node) for pod in pods]

    def compare(left: _Rank, right: _Rank) -> int:
        return _compare(left, right, now)

    ranks.sort(key=functools.cmp_to_key(compare))
    return [rank.pod for rank in ranks[:count]]


def _node_of(pod: Object) -> str:
    return str(pod["spec"].get("nodeName") or "")


def _rank(pod: Object, on_node: dict[str, int]) -> _Rank:
    node = _node_of(pod)
    ready = ready_since(pod)
    created = pod["metadata"].get("creationTimestamp")
    first = (
        1 if node else 0,
        _PHASE_RANK.get(phase_of(pod), 0),
        0 if ready is None else 1,
        _deletion_cost(pod),
        -on_node.get(node, 0),
    )
    return _Rank(
        pod,
        first,
        ready,
        _restarts(pod),
        meta.parse_time(created) if created else 0,
        meta.uid_of(pod),
    )


def _compare(left: _Rank, right: _Rank, now: int) -> int:
    if left.first != right.first:
        return -1 if left.first < right.first else 1
    if left.ready is not None and right.ready is not None and left.ready != right.ready:
        return _younger_first(left.ready, right.ready, left, right, now)
    if left.restarts != right.restarts:
        return -1 if left.restarts > right.restarts else 1
    if left.created != right.created:
        return _younger_first(left.created, right.created, left, right, now)
    return 0


def _younger_first(left_time: int, right_time: int, left: _Rank, right: _Rank, now: int) -> int:
    """Compares the logarithms of the ages; pods of about the same age are ordered by uid."""
    difference = _magnitude(now - left_time) - _magnitude(now - right_time)
    if difference:
        return difference
    return -1 if left.uid < right.uid else 1


def _magnitude(micros: int) -> int:
    """Integer part of the binary logarithm of the age in nanoseconds; -1 for no age."""
    return (micros * 1000).bit_length() - 1 if micros > 0 else -1


def _deletion_cost(pod: Object) -> int:
    text = meta.annotations_of(pod).get(DELETION_COST, "")
    try:
        return int(text)
    except ValueError:
        return 0


def _restarts(pod: Object) -> tuple[int, int]:
    """The highest restart counts of a container and of a sidecar."""
    status: dict[str, Any] = pod.get("status") or {}
    sidecars = {
        container["name"]
        for container in pod["spec"].get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    regular = [item.get("restartCount", 0) for item in status.get("containerStatuses") or ()]
    sidecar_restarts = [
        item.get("restartCount", 0)
        for item in status.get("initContainerStatuses") or ()
        if item.get("name") in sidecars
    ]
    return max(regular, default=0), max(sidecar_restarts, default=0)
