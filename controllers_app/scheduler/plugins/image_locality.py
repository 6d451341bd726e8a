"""Prefer nodes that have the pod's images already, less so when few nodes have them.

Models kubernetes pkg/scheduler/framework/plugins/imagelocality/image_locality.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        """Image -> how many of the nodes have it."""
        names = [_normalized(one["image"]) for one in _containers(pod)]
        return {name: sum(name in node.images for node in nodes) / len(nodes) for name in names}

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        total = 0
        containers = _containers(pod)
        for container in containers:
            name = _normalized(container["image"])
            total += int(node.images.get(name, 0) * state[name])
        most = THRESHOLD_MAX * len(containers)
        total = min(max(total, THRESHOLD_MIN), most)
        return SCORE_MAX * (total - THRESHOLD_MIN) // (most - THRESHOLD_MIN)


def _containers(pod: PodInfo) -> list[Any]:
    return [*(pod.spec.get("initContainers") or ()), *(pod.spec.get("containers") or ())]


def _normalized(image: str) -> str:
    """`nginx` is `nginx:latest`; a digest or a tag stays."""
    last = image.rsplit("/", 1)[-1]
    return image if ":" in last or "@" in last else f"{image}:latest"
