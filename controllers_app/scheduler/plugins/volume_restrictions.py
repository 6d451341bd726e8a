"""What only one may use at a time: claims that say so, and disks named in the pod itself.

Models kubernetes pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.scheduler import framework
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import UNRESOLVABLE, ClusterEvent, No
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.plugins.volume_binding import VolumePlugin, mounted, not_found

_TAKEN_WORDS = (
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
)
_TAKEN = No((_TAKEN_WORDS,))
_NO_DISK = No(("node(s) had no available disk",))
_DISKS = frozenset(("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"))


class _State(msgspec.Struct):
    exclusive: set[str]  # claims that only one pod may use
    taken: int  # how many of them are used
    disks: list[Object]


class VolumeRestrictions(VolumePlugin):
    name = "VolumeRestrictions"
    filters = True
    counts_pods = True
    wakes_on = (framework.NODE_ADDED, framework.POD_DELETED, framework.CLAIM_ADDED)
    source = "pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go"

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        state = _State(set(), 0, _disks(pod))
        for key, volume in mounted(pod) if pod.claims else ():
            if "persistentVolumeClaim" not in volume:
                continue
            claim = self.volumes.claim(key)
            if claim is None:
                return No((not_found(key),), UNRESOLVABLE)
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ()):
                state.exclusive.add(key)
                state.taken += _is_used(key, cache)
        return state if state.taken or state.disks else None

    def filter(self, state: _State, pod: PodInfo, node: NodeInfo) -> No | None:
        if any(_conflict(disk, other) for disk in state.disks for other in _others(node)):
            return _NO_DISK
        return _TAKEN if state.taken > 0 else None

    def count_pod(
        self, state: _State, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int
    ) -> None:
        state.taken += sign * len(state.exclusive & _named_claims(other))

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A pod of the namespace left that used a claim or a disk of this one, or a claim came."""
        if event.pod is not None:
            if event.pod.namespace != pod.namespace:
                return False
            if not _named_claims(event.pod).isdisjoint(_named_claims(pod)):
                return True
            return any(_conflict(disk, two) for disk in _disks(pod) for two in _disks(event.pod))
        if event.what == framework.NODE_ADDED:
            return True
        return event.new is not None and meta.key_of(event.new) in _named_claims(pod)


def _named_claims(pod: PodInfo) -> set[str]:
    """The claims that the pod names itself."""
    if not pod.claims:
        return set()
    return {key for key, volume in mounted(pod) if "persistentVolumeClaim" in volume}


def _disks(pod: PodInfo) -> list[Object]:
    return [volume for volume in pod.spec.get("volumes") or () if not _DISKS.isdisjoint(volume)]


def _is_used(key: str, cache: Cache) -> bool:
    return any(key in pod.claims for node in cache.order() for pod in node.pods.values())


def _others(node: NodeInfo) -> Iterable[Object]:
    return (disk for pod in node.pods.values() for disk in _disks(pod))


def _conflict(mine: Object, other: Object) -> bool:
    """Whether both are the same disk, and not all who use it only read."""
    kind = next((kind for kind in sorted(_DISKS) if kind in mine and kind in other), None)
    if kind is None:
        return False
    disk, other_disk = mine[kind], other[kind]
    only_read = bool(disk.get("readOnly") and other_disk.get("readOnly"))
    if kind == "gcePersistentDisk":
        return disk.get("pdName") == other_disk.get("pdName") and not only_read
    if kind == "awsElasticBlockStore":
        return bool(disk.get("volumeID") == other_disk.get("volumeID"))
    if kind == "iscsi":
        return disk.get("iqn") == other_disk.get("iqn") and not only_read
    shared = not set(disk.get("monitors") or ()).isdisjoint(other_disk.get("monitors") or ())
    same = all(disk.get(field) == other_disk.get(field) for field in ("pool", "image"))
    return shared and same and not only_read
