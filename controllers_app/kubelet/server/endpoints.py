"""The kubelet's own HTTP server: its health, configuration, pods, logs and figures.

Figures of use are modelled: nothing is measured, each container is said to use a little of what it
asks for, or what the catalog gives for its image when it asks for nothing, or what its pod's
annotations say; and the CPU time of what it answered lately, up to its limit.

Models kubernetes pkg/kubelet/server/server.go and server/stats/summary.go.
"""

from __future__ import annotations

from typing import Any

import orjson

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from apiserver_app.machinery.syntax import quantity
from controllers_app.cri import memory as memories
from controllers_app.cri.images import Image
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.kubelet import Kubelet
from controllers_app.kubelet.server import cadvisor, logs, metrics, own

NODE_CPU_NANOS, NODE_MEMORY_BYTES = 80_000_000, 600_000_000  # beside the containers
_PLAIN = "text/plain; charset=utf-8"
_CONFIG: Object = {
    "enableServer": True, "syncFrequency": "1m0s", "fileCheckFrequency": "20s",
    "httpCheckFrequency": "20s", "streamingConnectionIdleTimeout": "4h0m0s",
    "address": "0.0.0.0", "port": 10250,
    "authentication": {
        "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        "webhook": {"enabled": True, "cacheTTL": "2m0s"}, "anonymous": {"enabled": False},
    },
    "authorization": {"mode": "Webhook"}, "clusterDomain": "cluster.local",
    "nodeStatusUpdateFrequency": "10s",
    "nodeStatusReportFrequency": "5m0s", "nodeLeaseDurationSeconds": 40,
    "cgroupDriver": "systemd", "maxPods": 110, "containerLogMaxSize": "10Mi",
    "containerLogMaxFiles": 5, "evictionHard": {"memory.available": "100Mi"},
    "serializeImagePulls": True, "registryPullQPS": 5, "registryBurst": 10,
    "failSwapOn": True, "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
}  # fmt: skip


async def answer(kubelet: Kubelet, request: HttpRequest) -> HttpAnswer:
    """Answers an authorized request."""
    whole, _, query = request.path.partition("?")
    path = whole.rstrip("/")
    if request.method not in ("GET", "HEAD"):
        return HttpAnswer(405, {"content-type": _PLAIN}, b"405: Method Not Allowed")
    if path in ("/healthz", "/healthz/ping", "/healthz/syncloop", "/healthz/log"):
        return HttpAnswer(200, {"content-type": _PLAIN}, b"ok")
    if path == "/configz":
        return _json(
            {
                "kubeletconfig": {
                    **_CONFIG,
                    "clusterDNS": [kubelet.dependencies.runtime.host.dns_address],
                }
            }
        )
    if path in ("/pods", "/runningpods"):
        items = [worker.pod for worker in kubelet.workers.values()]
        return _json({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})
    if path.startswith("/containerLogs/"):
        return await logs.container(kubelet, path.removeprefix("/containerLogs/"), query)
    if whole.startswith("/logs/"):
        return logs.files(kubelet, whole.removeprefix("/logs/"))
    if path == "/stats/summary":
        return _json(_summary(kubelet))
    if path == "/metrics":
        return _figures(own.kubelet(kubelet))
    if path == "/metrics/probes":
        return _figures(own.probes(kubelet))
    if path == "/metrics/resource":
        return _figures(metrics.resource(_summary(kubelet)))
    if path == "/metrics/cadvisor":
        pods = {uid: worker.pod for uid, worker in kubelet.workers.items()}
        return _figures(cadvisor.containers(_summary(kubelet), pods))
    return HttpAnswer(404, {"content-type": _PLAIN}, b"404 page not found\n")


def _figures(text: str) -> HttpAnswer:
    kind = "text/plain; version=0.0.4; charset=utf-8"
    return HttpAnswer(200, {"content-type": kind}, text.encode())


def _json(value: Any) -> HttpAnswer:
    return HttpAnswer(200, {"content-type": "application/json"}, orjson.dumps(value))


def usage(spec: Object, image: Image, cores: float = 0.0) -> tuple[int, int]:
    """Nano-cores and bytes that a container uses; `cores` is the CPU that its answers take."""
    cpu, memory = _at_rest(spec, image)
    limit = ((spec.get("resources") or {}).get("limits") or {}).get("cpu")
    cpu += int(cores * 1_000_000_000)
    if limit is not None:
        cpu = min(cpu, quantity.milli_value(limit) * 1_000_000)
    return cpu, memory


def _at_rest(spec: Object, image: Image) -> tuple[int, int]:
    requests = (spec.get("resources") or {}).get("requests") or {}
    cpu = quantity.milli_value(requests["cpu"]) * 1_000_000 // 20 if "cpu" in requests else None
    memory = quantity.value(requests["memory"]) // 2 if "memory" in requests else None
    if image.used_cpu_millis is not None:
        cpu = int(image.used_cpu_millis * 1_000_000)
    if (used := memories.used(spec, image)) is not None:
        memory = int(used)
    return (
        int(image.cpu_millis * 1_000_000) if cpu is None else cpu,
        image.memory_bytes if memory is None else memory,
    )


def _summary(kubelet: Kubelet) -> Object:
    now = kubelet.dependencies.kernel.now
    pods, cpu_all, memory_all = [], NODE_CPU_NANOS, NODE_MEMORY_BYTES
    for pod, containers in _running(kubelet):
        listed: list[Object] = []
        for name, since, cpu, memory in containers:
            listed.append(
                {
                    "name": name,
                    "startTime": meta.rfc3339(since),
                    "cpu": _cpu(now, cpu, now - since),
                    "memory": _memory(now, memory),
                }
            )
        cpu_pod, memory_pod = (
            sum(usage[2] for usage in containers),
            sum(usage[3] for usage in containers),
        )
        cpu_all, memory_all = cpu_all + cpu_pod, memory_all + memory_pod
        spent = sum(one["cpu"]["usageCoreNanoSeconds"] for one in listed)
        reference = {
            "name": meta.name_of(pod),
            "namespace": meta.namespace_of(pod),
            "uid": meta.uid_of(pod),
        }
        pods.append(
            {
                "podRef": reference,
                "startTime": (pod.get("status") or {}).get("startTime"),
                "containers": listed,
                "cpu": {**_cpu(now, cpu_pod, 0), "usageCoreNanoSeconds": spent},
                "memory": _memory(now, memory_pod),
            }
        )
    node = {
        "nodeName": kubelet.dependencies.name,
        "startTime": meta.rfc3339(kubelet.dependencies.began),
        "cpu": _cpu(now, cpu_all, now - kubelet.dependencies.began),
        "memory": _memory(now, memory_all),
    }
    return {"node": node, "pods": pods}


def _running(kubelet: Kubelet) -> list[tuple[Object, list[tuple[str, int, int, int]]]]:
    """Pods with their running containers as (name, since, nano-cores, bytes)."""
    out = []
    for worker in kubelet.workers.values():
        containers = []
        for container in worker.containers.running():
            since = meta.parse_time(container.state["running"]["startedAt"])
            known = worker.containers
            record = statuses.record_of(container)
            cores = kubelet.dependencies.runtime.cpu_cores(worker.uid, record)
            amounts = usage(known.spec_of(container), known.image_of(container), cores)
            containers.append((container.name, since, *amounts))
        if containers:
            out.append((worker.pod, containers))
    return out


def _cpu(now: int, nanos: int, lasted: int) -> Object:
    return {
        "time": meta.rfc3339(now),
        "usageNanoCores": nanos,
        "usageCoreNanoSeconds": nanos * max(0, lasted) // SECOND,
    }


def _memory(now: int, size: int) -> Object:
    return {
        "time": meta.rfc3339(now),
        "usageBytes": size + size // 8,
        "workingSetBytes": size,
        "rssBytes": size * 3 // 4,
        "pageFaults": 0,
        "majorPageFaults": 0,
    }
