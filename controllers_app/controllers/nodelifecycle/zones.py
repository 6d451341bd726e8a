"""How fast unhealthy nodes may be emptied, by how many of their zone are unhealthy.

One node every ten seconds in each zone. Where more than half of a zone is unhealthy the trouble is
likelier the network's than the nodes': a small zone is left as it is, a large one goes slower. When
no node at all is ready nothing is emptied, and nodes that were about to be are spared.

Models kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go (handleDisruption,
ComputeZoneState, ReducedQPSFunc) and scheduler/rate_limited_queue.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.bucket import Bucket
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object

PER_SECOND = 0.1
PER_SECOND_REDUCED = 0.01
UNHEALTHY_SHARE = 0.55
UNHEALTHY_MIN = 3
LARGE_ZONE = 50  # a zone with more nodes than that is emptied slowly, a smaller one not at all
_TOPOLOGY = "topology.kubernetes.io/"

NORMAL, PARTIAL, FULL = "normal", "partial disruption", "full disruption"

Health = tuple[str, bool]  # zone, ready


def zone_of(node: Object) -> str:
    """Region and zone of a node; empty when it names neither."""
    labels = meta.labels_of(node)
    named = [labels.get(_TOPOLOGY + name, "") for name in ("region", "zone")]
    return ":".join(named) if any(named) else ""


def everywhere(_node: Object) -> str:
    """All nodes are counted together."""
    return ""


def health_of(node: Object) -> Health:
    """What a census of the nodes counts."""
    ready = conditions.find(node.get("status"), "Ready")
    return zone_of(node), ready is not None and ready["status"] == "True"


class Zones:
    """The state of each zone, and the pace that goes with it."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._states: dict[str, str] = {}
        self._paces: dict[str, float] = {}
        self._buckets: dict[str, Bucket] = {}
        self.is_halted = False  # no node at all is ready

    def look(self, counts: Mapping[Health, int]) -> bool:
        """Judge the zones by a census; True when evictions halt or resume everywhere."""
        zones = sorted({zone for zone, _ in counts})
        sizes = {
            zone: (counts.get((zone, True), 0), counts.get((zone, False), 0)) for zone in zones
        }
        self._states = {zone: _state(*size) for zone, size in sizes.items()}
        was_halted = self.is_halted
        self.is_halted = bool(zones) and all(state == FULL for state in self._states.values())
        for zone, (ready, unready) in sizes.items():
            self._set_pace(zone, self._pace(zone, ready + unready))
        return self.is_halted != was_halted

    def wait(self, zone: str) -> float | None:
        """Seconds until one more node of a zone may be emptied, 0 if now; None: not as it is."""
        bucket = self._buckets.get(zone)
        return None if bucket is None else bucket.try_take(self._kernel.now)

    def _pace(self, zone: str, size: int) -> float:
        if self.is_halted:
            return 0.0
        if self._states[zone] == PARTIAL:
            return PER_SECOND_REDUCED if size > LARGE_ZONE else 0.0
        return PER_SECOND

    def _set_pace(self, zone: str, pace: float) -> None:
        """A new bucket starts empty when the old one was, so that a change gains nobody a turn."""
        if self._paces.get(zone) == pace:
            return
        is_new = zone not in self._paces
        old = self._buckets.pop(zone, None)
        self._paces[zone] = pace
        if pace > 0:
            self._buckets[zone] = bucket = Bucket(pace, 1)
            if not is_new and (old is None or old.try_take(self._kernel.now) > 0):
                bucket.try_take(self._kernel.now)


def _state(ready: int, unready: int) -> str:
    if not ready and unready:
        return FULL
    if unready >= UNHEALTHY_MIN and unready / (ready + unready) >= UNHEALTHY_SHARE:
        return PARTIAL
    return NORMAL
