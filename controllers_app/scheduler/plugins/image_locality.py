"""Prefer nodes that have the pod's images already, less so when few nodes have them.

Images are compared by the names nodes report, as upstream does: a container's short name (`nginx`)
is no name of `docker.io/library/nginx:latest`.

Models kubernetes pkg/scheduler/framework/plugins/imagelocality/image_locality.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import SCORE_MAX, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

_MIB = 1024 * 1024
THRESHOLD_MIN = 23 * _MIB
THRESHOLD_MAX = 1000 * _MIB  # for each container


class ImageLocality(Plugin):
    name = "ImageLocality"
    weight = 1
    scores = True
    source = "pkg/scheduler/framework/plugins/imagelocality/image_locality.go"

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        """How many containers there are, and image -> which share of all nodes has it."""
        spec = pod.spec
        containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
        shares = []
        for container in containers:
            name = _normalized(container["image"])
            have = cache.image_nodes.get(name)
            if have:
                shares.append((name, have / len(cache.nodes)))
        return len(containers), shares

    def scores_by(self, state: Any, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        return []

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        count: int = state[0]
        shares: list[tuple[str, float]] = state[1]
        if not shares:
            return 0
        total: int = sum(int(node.images.get(name, 0) * share) for name, share in shares)
        most = THRESHOLD_MAX * count
        total = min(max(total, THRESHOLD_MIN), most)
        return SCORE_MAX * (total - THRESHOLD_MIN) // (most - THRESHOLD_MIN)


def _normalized(image: str) -> str:
    """`nginx` is `nginx:latest`; a name with a tag or a digest stays."""
    last = image.rsplit("/", 1)[-1]
    return image if ":" in last or "@" in last else f"{image}:latest"
