"""Pods on a whole cluster in virtual time: what tests of kubelet and scheduler share."""

from __future__ import annotations

from typing import Any

from controllers_app.containerruntime.addresses import Addresses
from controllers_app.containerruntime.service import Service
from controllers_app.kubelet.kubelet import Kubelet
from lifecycle.hosting import scripted
from lifecycle.hosting.scripted import Session
from tests import builders
from tests.apiserver_app.cluster import started_session

PODS = "/api/v1/namespaces/default/pods"
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}


def cluster(**inputs: Any) -> Session:
    """Scheduler and kubelets; it goes on where one of the same inputs stood after its first start,
    with controllers."""
    return started_session(runs=("scheduler", "kubelet"), **inputs)


def whole_cluster(**inputs: Any) -> Session:
    """That, and its controllers."""
    return started_session(**inputs)


def new_cluster(**inputs: Any) -> Session:
    """One that starts for the first time: with nodes that join, or with options of its own."""
    return Session(scripted.default_inputs(**inputs))


def pod(name: str = "web", image: str = "nginx", **spec: Any) -> dict[str, Any]:
    """A pod of one container, unless the spec says otherwise; `notes` are annotations without
    their prefix, `labels` labels."""
    notes = {f"simulation.lifecycle/{key}": text for key, text in spec.pop("notes", {}).items()}
    container = {"name": "c", "image": image, **spec.pop("container", {})}
    spec = {"labels": {}, "containers": [container], **spec}
    return builders.pod(name, annotations=notes, **spec)


def create(session: Session, body: dict[str, Any], *, settle: bool = True) -> None:
    answer = session.request("POST", PODS, body, settle=settle)
    if settle:
        assert answer.status == 201, answer.json()


def get(session: Session, name: str = "web") -> dict[str, Any]:
    found: dict[str, Any] = session.request("GET", f"{PODS}/{name}").json()
    return found


def items(session: Session) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = session.request("GET", PODS).json()["items"]
    return found


def state(session: Session, name: str = "web") -> dict[str, Any]:
    """The status of the pod's first container."""
    found: dict[str, Any] = get(session, name)["status"]["containerStatuses"][0]
    return found


def condition(session: Session, kind: str, name: str = "web") -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in get(session, name)["status"]["conditions"] if one["type"] == kind
    )
    return found


def events(session: Session, name: str = "web") -> list[tuple[str, str, str]]:
    """(type, reason, message) of the pod's events in order of their first time."""
    found = session.request("GET", "/api/v1/namespaces/default/events").json()["items"]
    mine = [one for one in found if one["involvedObject"]["name"] == name]
    return [(event["type"], event["reason"], event["message"]) for event in mine]


def patch(session: Session, path: str, body: dict[str, Any]) -> None:
    answer = session.request("PATCH", path, body, headers=STRATEGIC)
    assert answer.status == 200, answer.json()


def addresses(session: Session, name: str = "node-1") -> Addresses:
    """The pod addresses that are taken on a node."""
    runtime = kubelet(session, name).dependencies.runtime
    assert isinstance(runtime, Service)
    return runtime.addresses


def kubelet(session: Session, name: str = "node-1") -> Kubelet:
    """The running kubelet."""
    return session.cluster.nodes.kubelets[name]
