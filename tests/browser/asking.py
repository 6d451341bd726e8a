"""What tests ask of the demo beside the page, by the product API."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests import builders
from tests.lifecycle.hosting.running import Demo
from tests.suite import waiting

CLUSTER = "/viz/v1/clusters/demo"
SOON = 100


def state(demo: Demo) -> dict[str, Any]:
    """The clock, what holds it, and how far the trace is."""
    return dict(_json(demo, CLUSTER))


def control(demo: Demo, **body: Any) -> dict[str, Any]:
    """Act on the cluster's clock; what it says then."""
    sent = json.dumps(body).encode()
    answer = demo.ask("POST", f"{CLUSTER}/control", sent, Content_Type="application/json")
    assert answer.status == 200
    return dict(json.loads(answer.read()))


def free(demo: Demo, speed: int | str) -> None:
    """Nothing stops the cluster from now on."""
    control(demo, action="breakpoint", set=[])
    control(demo, action="resume")
    control(demo, action="speed", speed=speed)


def apply(demo: Demo, manifest: str, user: str = "admin") -> list[dict[str, Any]]:
    """Create what a manifest says; the result of each object."""
    answer = demo.ask("POST", f"{CLUSTER}/apply?as={user}", manifest.encode())
    return list(json.loads(answer.read())["results"])


def objects(demo: Demo, kind: str, namespace: str = "default") -> dict[str, Any]:
    """What is stored of a kind, by name."""
    found = _json(demo, f"{CLUSTER}/objects?prefix=/registry/{kind}/{namespace}/")["objects"]
    return {key.rpartition("/")[2]: one for key, one in found.items()}


def records(demo: Demo, first: int = 1) -> list[dict[str, Any]]:
    """The trace of the cluster from a record on."""
    found: list[dict[str, Any]] = []
    while first:
        page = _json(demo, f"{CLUSTER}/records?from={first}&limit=5000")
        found += page["records"]
        first = page["next"] or 0 if page["records"] else 0
    return found


def until_recorded(demo: Demo, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until the trace has such a record. What was read is not read again."""
    first = 1

    def found() -> dict[str, Any] | None:
        nonlocal first
        for record in records(demo, first):
            first = record["seq"] + 1
            if true(record):
                return record
        return None

    return dict(until(found, "a record of the trace"))


@contextlib.contextmanager
def soon(demo: Demo) -> Iterator[None]:
    """What comes by the clock comes soon: at "max" a cluster at rest is no quicker than any."""
    control(demo, action="speed", speed=SOON)
    yield
    control(demo, action="speed", speed="max")


def until_installed(demo: Demo) -> None:
    """Wait until the cluster's own pods run, so that no breakpoint, fault or headline is theirs."""
    until(lambda: "kubeadm-config" in objects(demo, "configmaps", "kube-system"))
    own = "kube-system"
    until(lambda: _ready(objects(demo, "deployments", own), "replicas", "readyReplicas"))
    until(lambda: _ready(objects(demo, "daemonsets", own), "desiredNumberScheduled", "numberReady"))


def until(true: Callable[[], Any], what: str = "") -> Any:
    """Ask until the answer is true, and return it."""
    return waiting.until(true, what=what)


def run(demo: Demo, name: str, replicas: int = 3) -> None:
    """Create a Deployment and wait until its pods are ready."""
    assert apply(demo, deployment(name, replicas))[0]["code"] == 201
    until_ready(demo, name, replicas)


def until_ready(demo: Demo, name: str, replicas: int) -> None:
    """Wait until so many pods of a Deployment are ready."""
    until(
        lambda: (
            objects(demo, "deployments")[name].get("status", {}).get("readyReplicas") == replicas
        )
    )


def deployment(name: str, replicas: int, namespace: str = "") -> str:
    metadata = {"namespace": namespace} if namespace else {}
    body = builders.deployment(name, container="web", replicas=replicas, **metadata)
    return json.dumps(body)


def pod(name: str, **spec: Any) -> str:
    return json.dumps(builders.pod(name, container="web", **spec))


def _ready(found: dict[str, Any], wanted: str, ready: str) -> bool:
    """Whether there are any, and as many of each are ready as its spec or status wants."""
    facts = [{**item.get("status", {}), **item["spec"]} for item in found.values()]
    return bool(facts) and all(fact.get(ready, 0) == fact.get(wanted, 0) > 0 for fact in facts)


def _json(demo: Demo, path: str) -> Any:
    return json.loads(demo.get(path).read())
