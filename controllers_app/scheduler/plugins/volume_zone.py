"""A volume whose labels name a zone or region is used there only.

Models kubernetes pkg/scheduler/framework/plugins/volumezone/volume_zone.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime import persistentvolumes
from controllers_app.scheduler import framework
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import UNRESOLVABLE, ClusterEvent, No
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.plugins.volume_binding import VolumePlugin, mounted, not_found

# label of a volume -> what nodes call it today
LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
_SEPARATOR = "__"  # a volume may be in several zones
_NO = No(("node(s) had no available volume zone",), UNRESOLVABLE)

Places = list[tuple[str, frozenset[str]]]  # (label, its values)


class VolumeZone(VolumePlugin):
    name = "VolumeZone"
    filters = True
    wakes_on = (
        *framework.NODE_EVENTS,
        framework.CLAIM_ADDED,
        framework.CLAIM_UPDATED,
        framework.VOLUME_ADDED,
        framework.VOLUME_UPDATED,
        framework.CLASS_ADDED,
    )
    source = "pkg/scheduler/framework/plugins/volumezone/volume_zone.go"

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        if not pod.claims:
            return None
        places: Places = []
        for key, mount in mounted(pod):
            if "persistentVolumeClaim" not in mount:
                continue
            claim = self.volumes.claim(key)
            if claim is None:
                return No((not_found(key),), UNRESOLVABLE)
            name = claim["spec"].get("volumeName")
            if not name:
                if persistentvolumes.waits_for_consumer(self.volumes.storage_class(claim)):
                    continue
                return No(("PersistentVolume had no name",), UNRESOLVABLE)
            volume = self.volumes.volume(name)
            if volume is None:
                return No((f'persistentvolume "{name}" not found',), UNRESOLVABLE)
            places += _places(volume)
        return places or None

    def filter(self, state: Places, pod: PodInfo, node: NodeInfo) -> No | None:
        have = node.labels
        if not any(label in have for label in LABELS):
            return None  # a node that says nothing of zones
        for label, values in state:
            value = have.get(label, have.get(LABELS[label]))
            if value not in values:
                return _NO
        return None

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        if event.what in (framework.CLAIM_ADDED, framework.CLAIM_UPDATED):
            assert event.new is not None
            return meta.key_of(event.new) in pod.claims
        if event.what == framework.CLASS_ADDED:
            return persistentvolumes.waits_for_consumer(event.new)
        if event.old is None or event.new is None:
            return True
        if event.what == framework.VOLUME_UPDATED:
            return _places(event.old) != _places(event.new)
        return meta.labels_of(event.old) != meta.labels_of(event.new)


def _places(volume: Object) -> Places:
    return [
        (label, frozenset(value.split(_SEPARATOR)))
        for label, value in sorted(meta.labels_of(volume).items())
        if label in LABELS
    ]
