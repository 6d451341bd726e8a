"""The gates: every kind of request passes the same list in one order, and a refusal ends it."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app import gates
from apiserver_app.gates import admission
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import (
    APPLY,
    CONFIGMAPS,
    DEPLOYMENTS,
    MERGE,
    PODS,
    configmap,
    last_gates,
    pod,
    server_session,
)
from tests.sim.test_story import deployment

REFUSED = 418
FILTERS = ["authentication", "audit", "flowcontrol", "authorization", "routing"]
WRITE = ["decode", "mutating", "prepare", "validation", "validating", "etcd"]
ADMISSION = ["mutating", "validating"]
POD, MAP = f"{PODS}/p", f"{CONFIGMAPS}/a"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
BINDING = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-1"}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
REVIEW = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
SCALE = {"metadata": {"name": "nginx"}, "spec": {"replicas": 2}}
SPDY = {
    "connection": "Upgrade",
    "upgrade": "SPDY/3.1",
    "x-stream-protocol-version": "v4.channel.k8s.io",
}

# method, path, body, headers, and the gates behind routing
PATHS: list[tuple[str, str, Any, dict[str, str], list[str]]] = [
    ("GET", MAP, None, {}, []),
    ("GET", CONFIGMAPS, None, {}, []),
    ("GET", "/version", None, {}, []),
    ("POST", CONFIGMAPS, configmap("b"), {}, WRITE),
    ("PUT", MAP, configmap("a", k="w"), {}, WRITE),
    ("PATCH", MAP, {"data": {"k": "x"}}, MERGE, WRITE),
    ("PATCH", f"{MAP}?fieldManager=me", configmap("a", m="n"), APPLY, WRITE),
    ("PATCH", f"{CONFIGMAPS}/c?fieldManager=me", configmap("c"), APPLY, WRITE),
    ("PATCH", f"{POD}/status", {"status": {"message": "m"}}, MERGE, WRITE),
    ("PUT", f"{DEPLOYMENTS}/nginx/scale", SCALE, {}, WRITE),
    ("POST", f"{POD}/binding", BINDING, {}, ["decode", "mutating", *WRITE[3:]]),
    ("POST", f"{ACCOUNT}/token", {"spec": {}}, {}, ["decode", "mutating", *WRITE[3:]]),
    ("POST", f"{POD}/exec?command=ls&stdout=true", None, SPDY, ["decode", *ADMISSION]),
    ("POST", REVIEWS, REVIEW, {}, ["decode", "etcd"]),
    ("POST", f"{POD}/eviction", EVICTION, {}, ["decode", *ADMISSION, "etcd"]),
    ("DELETE", MAP, None, {}, [*ADMISSION, "etcd"]),
    ("DELETE", f"{CONFIGMAPS}?fieldSelector=metadata.name%3Dc", None, {}, [*ADMISSION, "etcd"]),
]


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    for path, body in (
        (CONFIGMAPS, configmap("a", k="v")),
        (PODS, pod("p", schedulerName="nobody")),
        (DEPLOYMENTS, deployment()),
    ):
        assert session.request("POST", path, body).status == 201
    return session


@pytest.mark.parametrize(("method", "path", "body", "headers", "expected"), PATHS)
def test_every_request_passes_the_same_gates_in_upstreams_order(
    session: Session,
    method: str,
    path: str,
    body: Any,
    headers: dict[str, str],
    expected: list[str],
) -> None:
    session.request(method, path, body, headers=headers)
    found = [gate for gate, verdict in last_gates(session) if verdict != "deny"]
    assert found == FILTERS + expected


def test_the_list_is_what_the_requests_pass() -> None:
    assert [gate.name for gate in gates.TOLD] == FILTERS + WRITE


@pytest.mark.parametrize("gate", gates.GATES, ids=lambda gate: gate.name)
def test_a_refusal_in_a_gate_is_recorded_once_and_counted_once(
    monkeypatch: pytest.MonkeyPatch, gate: type[Gate]
) -> None:
    decide = gate.decide

    def refuse(self: Gate, request: Request) -> Any:
        if not request.call.outside:
            return decide(self, request)
        return Decision("deny", {"word": "no"}, refusal=errors.ApiError(REFUSED, "", "no"))

    monkeypatch.setattr(gate, "decide", refuse)
    session = server_session()
    answer = session.request("POST", CONFIGMAPS, configmap("refused"))
    requests = session.cluster.context.counters.requests
    counted = sum(count for (_, _, code), count in requests.items() if code == REFUSED)
    assert (answer.status, counted) == (REFUSED, 1)
    told = last_gates(session)
    assert told[-1] == (gate.refuses_as, "deny")
    assert [verdict for _, verdict in told].count("deny") == 1
    assert session.cluster.store.get("/registry/configmaps/default/refused") is None


def _agreed(session: Session, name: str) -> list[list[str]]:
    """What the plugins that judged the creation of a pod said."""
    assert session.request("POST", PODS, pod(name)).status == 201
    records = session.records()
    [span] = [
        record["seq"]
        for record in records
        if record["kind"] == "request" and record["name"] == name and record["verb"] == "create"
    ]
    told = [
        record
        for record in records
        if record.get("gate") == "validating" and record["span"] == span
    ]
    assert told[-1]["detail"]["word"] == "agreed"
    passed: list[list[str]] = told[-1]["detail"]["passed"]
    return passed


def test_what_plugins_agreed_on_is_told_from_memory_only_while_they_say_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "AGREED_MAX", 2)
    session = server_session()
    first, again = _agreed(session, "first"), _agreed(session, "again")
    assert first == again and ["LimitRanger", "allow", "no LimitRange here"] in first
    limits = {"limits": [{"type": "Container", "max": {"memory": "4Gi"}}]}
    ranges = "/api/v1/namespaces/default/limitranges"
    made = session.request("POST", ranges, {"metadata": {"name": "some"}, "spec": limits})
    assert made.status == 201, made.text
    changed = _agreed(session, "changed")
    assert changed != first and [one[0] for one in changed] == [one[0] for one in first]
    for number in range(6):
        session.request("POST", CONFIGMAPS, configmap(f"some-{number}"))
    assert _agreed(session, "once-more") == changed
