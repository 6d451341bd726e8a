"""What a decision of the scheduler costs on few nodes and on many: filters, scores, and what is
told of both, in processor time. The least of many decisions counts: what others on the machine do
only adds to it.
"""

from __future__ import annotations

import time
from typing import Any

from apiserver_app.machinery.syntax import labels
from controllers_app.scheduler import framework, scoring
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import Plugin
from controllers_app.scheduler.nodeinfo import PodInfo
from controllers_app.scheduler.nominator import Nominator
from controllers_app.scheduler.plugins import PLUGINS
from controllers_app.scheduler.plugins.pod_topology_spread import PodTopologySpread
from lifecycle.bench import harness

FEW, MANY = 100, 5000
DECISIONS = 300
ZONES = 3

_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_LABELS = {"app": "bench"}
_ON_SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# of which kind the pods are, and what their specs have beside a container
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "service": {},
    "node_affinity": {"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [_ON_SSD]}}}},
}


def run(runs: int = harness.RUNS) -> dict[str, Any]:
    return harness.repeated("scheduling", _measure, runs, few=FEW, many=MANY, decisions=DECISIONS)


def _measure() -> dict[str, Any]:
    figures: dict[str, float] = {}
    for kind in KINDS:
        few, many = (_least(kind, nodes) for nodes in (FEW, MANY))
        figures[f"{kind}_few_ms"] = round(few * 1000, 3)
        figures[f"{kind}_many_ms"] = round(many * 1000, 3)
        figures[f"{kind}_times"] = round(many / few, 2)
    return figures


def _least(kind: str, nodes: int) -> float:
    """Seconds of the quickest decision; each pod stays where it was placed."""
    cache, plugins = Cache(), _plugins(kind)
    for number in range(nodes):
        cache.put_node(_node(number))
    filters, scorers = (
        [plugin for plugin in plugins if getattr(plugin, phase)] for phase in ("filters", "scores")
    )
    least, start = float("inf"), 0
    for number in range(DECISIONS):
        pod = _pod(kind, number)
        began = time.thread_time()
        filtered = framework.run_filters(filters, pod, cache, Nominator(), start)
        filtered.detail()
        scored = scoring.run_scores(scorers, pod, filtered.feasible, cache)
        scored.detail()
        chosen = scored.nodes[scored.total.index(max(scored.totals))]
        cache.place(pod, chosen.name)
        least = min(least, time.thread_time() - began)
        start = (start + len(filtered.looked_at)) % nodes
    return least


def _plugins(kind: str) -> list[Plugin]:
    plugins = [make() for make in PLUGINS]
    for plugin in plugins:
        if isinstance(plugin, PodTopologySpread) and kind == "service":
            plugin.owner_selector = lambda _pod: labels.from_set(_LABELS)
    return plugins


def _node(number: int) -> dict[str, Any]:
    name = f"node-{number}"
    marks = {_HOST: name, _ZONE: f"zone-{number % ZONES}", "disk": "ssd"}
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "labels": marks},
        "spec": {},
        "status": {"allocatable": allocatable, "images": []},
    }


def _pod(kind: str, number: int) -> PodInfo:
    requests = {"cpu": "100m", "memory": "64Mi"}
    container = {"name": "c", "image": "nginx:1.27", "resources": {"requests": requests}}
    name = f"pod-{number}"
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": _LABELS}
    return PodInfo({"metadata": metadata, "spec": {"containers": [container], **KINDS[kind]}})
