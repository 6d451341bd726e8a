"""When what happens, in virtual time, the same on every machine: one Deployment of three pods whose
image is there already, and how long many pods take at the rates of upstream's clients.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.kernel import SECOND
from lifecycle.bench import machine
from lifecycle.bench.client import deployment
from lifecycle.hosting import scripted

PODS, NODES = 300, 30
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STEP_SECONDS, STEPS_MAX = 5, 60
_HOUSEKEEPING = ("nodes", "leases.coordination.k8s.io")

Records = list[dict[str, Any]]


def run() -> dict[str, Any]:
    few = story()
    seconds = _many(PODS, NODES)
    return {
        "bench": "timeline",
        "requests": few.pop("requests"),
        "milliseconds": few,
        "pods": PODS,
        "nodes": NODES,
        "all_running_seconds": seconds,
        "machine": machine.describe(),
    }


def story() -> dict[str, float]:
    """Milliseconds after the command of each mark of a Deployment of three pods, and how many
    requests it took."""
    session = scripted.Session(scripted.default_inputs(nodes=3))
    session.request("POST", DEPLOYMENTS, deployment("warm", 9))
    session.wait(60)
    session.request("DELETE", f"{DEPLOYMENTS}/warm")
    session.wait(60)
    mark = session.cluster.recorder.seq
    session.request("POST", DEPLOYMENTS, deployment("web", 3))
    session.wait(STEP_SECONDS)
    records = [record for record in session.records() if record["seq"] > mark]
    requests = [record for record in records if record["kind"] == "request"]
    pods, bindings = _begun(requests, "create", "pods"), _begun(requests, "create", "pods/binding")
    running = _running(records)
    times = {
        "ReplicaSet created": _begun(requests, "create", "replicasets.apps")[0],
        "first pod created": pods[0],
        "third pod created": pods[2],
        "first binding": bindings[0],
        "third binding": bindings[2],
        "first status": _begun(requests, "patch", "pods/status")[0],
        "first pod Running": running[0],
        "third pod Running": running[2],
    }
    began = requests[0]["t"]
    marks = {name: (t - began) / 1000 for name, t in times.items()}
    count = sum(request["resource"] not in _HOUSEKEEPING for request in requests)
    return {**marks, "requests": count}


def _many(pods: int, nodes: int) -> float:
    """Seconds until the last of so many pods runs."""
    session = scripted.Session(scripted.default_inputs(nodes=nodes))
    mark = session.cluster.recorder.seq
    session.request("POST", DEPLOYMENTS, deployment("many", pods))
    for _ in range(STEPS_MAX):
        session.wait(STEP_SECONDS)
        records = [record for record in session.records() if record["seq"] > mark]
        running = _running(records)
        if len(running) == pods:
            micros: int = running[-1] - records[0]["t"]
            return round(micros / SECOND, 1)
    raise RuntimeError(f"only {len(running)} of {pods} pods are running")


def _begun(requests: Records, verb: str, path: str) -> list[int]:
    """When the requests of that verb for that resource, or a part of it, began."""
    resource, _, part = path.partition("/")
    wanted = (verb, resource, part)
    return [
        request["t"]
        for request in requests
        if (request["verb"], request["resource"], request["subresource"]) == wanted
    ]


def _running(records: Records) -> list[int]:
    """When each pod was first written as Running."""
    first: dict[str, int] = {}
    for record in records:
        if record["kind"] == "write" and record["resource"] == "pods":
            status = (record["object"] or {}).get("status") or {}
            if status.get("phase") == "Running":
                first.setdefault(record["name"], record["t"])
    return sorted(first.values())
