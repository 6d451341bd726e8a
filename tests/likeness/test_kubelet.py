"""Stories of pods: a kubelet sends about each what the real one sent, in the same order.

The real one ran over a runtime that pretends; the audit log of its API server had the requests.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from apiserver_app.machinery.kernel import SECOND
from controllers_app.containerruntime.service import Service
from lifecycle.cluster.composition import Cluster
from lifecycle.hosting.scripted import Session
from tests.controllers_app import podlab
from tests.likeness.stage import Recording, Sent, missing

STORIES_OF_NODES = pathlib.Path(__file__).parent / "nodes"
STORIES = sorted((pathlib.Path(__file__).parent / "kubelet").glob("*.yaml"))
KUBELET = "system:node:node-1"
NAMESPACE = "/api/v1/namespaces/default"
STEPS_MAX = 100_000


def _patch(session: Session, what: dict[str, Any]) -> None:
    podlab.patch(session, f"{podlab.PODS}/{what['pod']}", what["with"])


def _change(session: Session, what: dict[str, Any]) -> None:
    path = f"{podlab.PODS}/{what['pod']}"
    session.request("PATCH", path, what["with"], headers=podlab.STRATEGIC, settle=False)


def _remove(session: Session, what: dict[str, Any]) -> None:
    path = f"{podlab.PODS}/{what['pod']}"
    session.request("DELETE", path, what.get("options"), settle=False)


def _run(session: Session, seconds: float) -> None:
    """Just so long, where `wait` goes on until nothing is left to do."""
    kernel = session.cluster.kernel
    target = kernel.now + int(seconds * SECOND)
    kernel.run_ready(STEPS_MAX)
    while kernel.fire_timer(target, jump=False):
        kernel.run_ready(STEPS_MAX)
    kernel.advance(target)


STEPS: dict[str, Callable[[Session, Any], Any]] = {
    "pod": podlab.create,
    "start": lambda session, pod: podlab.create(session, pod, settle=False),
    "wait": Session.wait,
    "run": _run,
    "config map": lambda session, obj: session.request("POST", f"{NAMESPACE}/configmaps", obj),
    "secret": lambda session, obj: session.request("POST", f"{NAMESPACE}/secrets", obj),
    "patch": _patch,
    "change": _change,
    "remove": _remove,
    "delete": lambda session, what: session.request(
        "DELETE", f"{podlab.PODS}/{what['pod']}", what.get("options")
    ),
}


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_kubelet_sends_what_the_real_one_sent(path: pathlib.Path) -> None:
    story = yaml.safe_load(path.read_text())
    session = podlab.new_cluster(nodes=1)
    recording = Recording(session.cluster, watches=True)
    for step in story["steps"]:
        for word, argument in step.items():
            STEPS[word](session, argument)
    sent = [
        request
        for request in recording.sent
        if request.who == KUBELET
        and request.namespace == "default"
        and "events" not in request.line
    ]
    for pod, wanted in story["pods"].items():
        _compare(pod, wanted, [request for request in sent if _about(request) == pod])
    reads = {_line(request) for request in sent if not _about(request)}
    assert sorted(reads) == sorted(story["reads"])
    events = session.request("GET", "/api/v1/namespaces/default/events").json()["items"]
    told = [
        f"{event['type']} {event['reason']} {event.get('count')} {event['message']}"
        for event in events
    ]
    assert set(story.get("events", ())) <= set(told)


def test_a_kubelet_registers_its_node_as_the_real_one_does(monkeypatch: Any) -> None:
    start, recordings = Cluster.start, []

    def recorded(cluster: Cluster) -> None:
        recordings.append(Recording(cluster, watches=True))
        start(cluster)

    monkeypatch.setattr(Cluster, "start", recorded)
    # the runtime that pretends has a network from the start
    monkeypatch.setattr(Service, "network_error", lambda self: "")
    podlab.new_cluster(nodes=1)
    wanted = yaml.safe_load((STORIES_OF_NODES / "registration.yaml").read_text())["node-1"]
    sent = [
        request
        for request in recordings[0].sent
        if request.who == KUBELET and request.name == "node-1" and "events" not in request.line
    ]
    _compare("node-1", wanted, [replace(request, line=_line(request)) for request in sent])


def _compare(pod: str, wanted: list[Any], sent: list[Sent]) -> None:
    lines = [one if isinstance(one, str) else str(next(iter(one))) for one in wanted]
    assert [one.line for one in sent] == lines, pod
    for one, request in zip(wanted, sent, strict=True):
        if isinstance(one, dict):
            found = list(missing(next(iter(one.values())), request.body))
            assert not found, f"{pod}: {request.line}: {found}"


def _about(sent: Sent) -> str:
    """The pod that a request is about, or for which a token is requested."""
    if sent.line.split()[1] == "serviceaccounts/token":
        return str(sent.body["spec"]["boundObjectRef"]["name"])
    return sent.name if sent.line.split()[1].startswith("pods") else ""


def _line(sent: Sent) -> str:
    """The line without the revision at which a watch begins, another number in each run."""
    parts = sent.line.split("&")
    if sent.line.startswith("watch"):
        parts = [part for part in parts if not part.startswith("resourceVersion=")]
    return "&".join(parts)
