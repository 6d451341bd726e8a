"""The kubelet's metrics of itself, at /metrics, and of its probes, at /metrics/probes. Pure.

Of upstream's families those that can be told from what the kubelet knows of its pods now; none
counts operations or measures how long they took.

Models kubernetes pkg/kubelet/metrics/metrics.go, kubelet_pods.go (HandlePodCleanups),
pleg/generic.go (updateRunningPodAndContainerMetrics) and prober/prober_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from controllers_app.kubelet.kubelet import Kubelet
from controllers_app.kubelet.pods.staticpods import MIRROR
from controllers_app.kubelet.pods.worker import PodWorker
from controllers_app.kubelet.server import metrics

_STATIC = "static is true if the pod is not from the apiserver."
_STARTED = ("process_start_time_seconds", "gauge",
            "[ALPHA] Start time of the process since unix epoch in seconds.")  # fmt: skip
_FAMILIES = (  # in the order of their names, as a registry gathers them
    ("kubelet_active_pods", "gauge",
     "[ALPHA] The number of pods the kubelet considers active and which are being considered when "
     f"admitting new pods. {_STATIC}"),
    ("kubelet_desired_pods", "gauge",
     f"[ALPHA] The number of pods the kubelet is being instructed to run. {_STATIC}"),
    ("kubelet_managed_ephemeral_containers", "gauge",
     "[ALPHA] Current number of ephemeral containers in pods managed by this kubelet."),
    ("kubelet_mirror_pods", "gauge",
     "[ALPHA] The number of mirror pods the kubelet will try to create (one per admitted static "
     "pod)"),
    ("kubelet_node_name", "gauge", "[ALPHA] The node's name. The count is always 1."),
    ("kubelet_running_containers", "gauge", "[ALPHA] Number of containers currently running"),
    ("kubelet_running_pods", "gauge", "[ALPHA] Number of pods that have a running pod sandbox"),
    _STARTED,
)  # fmt: skip
_PROBES = (
    ("prober_probe_total", "counter",
     "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by "
     "result."),
    _STARTED,
)  # fmt: skip
_OVER = ("finished", "terminating", "gone")


def kubelet(of: Kubelet) -> str:
    """The text at /metrics."""
    workers = list(of.workers.values())
    lines: metrics.Lines = {name: [] for name, _, _ in _FAMILIES}
    for name, among in (
        ("kubelet_active_pods", [one for one in workers if one.state not in _OVER]),
        ("kubelet_desired_pods", workers),
    ):
        static = sum(_is_static(one) for one in among)
        lines[name] += [f'{{static=""}} {len(among) - static}', f'{{static="true"}} {static}']
    ephemeral = sum(len(one.containers.ephemeral) for one in workers)
    lines["kubelet_managed_ephemeral_containers"].append(f" {ephemeral}")
    lines["kubelet_mirror_pods"].append(f" {sum(map(_is_static, workers))}")
    lines["kubelet_node_name"].append(f'{{node="{of.dependencies.name}"}} 1')
    for state, number in (("exited", _exited(workers)), ("running", _running(workers))):
        if number:
            lines["kubelet_running_containers"].append(f'{{container_state="{state}"}} {number}')
    running = sum(one.sandbox is not None for one in workers)
    lines["kubelet_running_pods"].append(f" {running}")
    return metrics.text(_FAMILIES, lines | _started(of))


def probes(of: Kubelet) -> str:
    """The text at /metrics/probes: what came of the probes of each container's present run."""
    lines: list[str] = []
    for worker in of.workers.values():
        namespace, name = meta.namespace_of(worker.pod), meta.name_of(worker.pod)
        pod = f'namespace="{namespace}",pod="{name}",pod_uid="{worker.uid}"'
        for container in worker.containers.running():
            for kind, good, bad in worker.containers.probes.results(container):
                known = f'container="{container.name}",{pod},probe_type="{kind}"'
                for result, number in (("failed", bad), ("successful", good)):
                    if number:
                        value = metrics.number(number)
                        lines.append(f'{{{known},result="{result}"}} {value}')
    return metrics.text(_PROBES, {"prober_probe_total": lines} | _started(of))


def _started(of: Kubelet) -> metrics.Lines:
    began = metrics.number(of.dependencies.began / SECOND)
    return {"process_start_time_seconds": [f" {began}"]}


def _is_static(worker: PodWorker) -> bool:
    return MIRROR in meta.annotations_of(worker.pod)


def _running(workers: Iterable[PodWorker]) -> int:
    return sum(len(one.containers.running()) for one in workers)


def _exited(workers: Iterable[PodWorker]) -> int:
    """The container that ended last is kept of each, as by default."""
    return sum(
        bool((each.terminated or each.last.get("terminated") or {}).get("containerID"))
        for one in workers
        for each in (*one.containers.init, *one.containers.main, *one.containers.ephemeral)
    )
