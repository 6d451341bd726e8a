"""What gates remember of a client is forgotten when what it rests on changes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from apiserver_app.auth.authz import union
from apiserver_app.authprotocols import Attributes, Decision
from apiserver_app.egress.outbound import ServiceTarget
from apiserver_app.flowcontrol import control
from apiserver_app.handlers.call import Call
from apiserver_app.localclient import LocalClient
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import User
from apiserver_app.registry.apiregistration.apiservices import Remote
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, server_session

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
ROBOT = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}


def answer(session: Session, ask: Callable[[], Coroutine[Any, Any, Any]]) -> int:
    """The status of what a component inside the cluster asks for."""
    codes: list[int] = []

    async def run() -> None:
        try:
            await ask()
            codes.append(200)
        except errors.ApiError as error:
            codes.append(error.code)

    session.cluster.kernel.spawn("asks", run())
    session.settle()
    return codes[0]


def reads(session: Session, client: LocalClient, name: str = "a") -> int:
    return answer(session, lambda: client.get("configmaps", "default", name))


def account(session: Session, name: str) -> LocalClient:
    """A component that presents a token of its own service account."""
    session.request("POST", ACCOUNTS, {"metadata": {"name": name}})
    session.request("POST", CONFIGMAPS, configmap("a"))
    made = session.request("POST", f"{ACCOUNTS}/{name}/token", {"spec": {}})
    client = session.cluster.clients.account(name, name)
    client.present(made.json()["status"]["token"])
    return client


def test_a_component_is_asked_again_once_its_token_may_have_become_invalid() -> None:
    session = server_session()
    client = account(session, "robot")
    assert [reads(session, client) for _ in range(3)] == [403] * 3
    session.request("DELETE", f"{ACCOUNTS}/robot")
    assert reads(session, client) == 403, "a verified token is good for ten seconds"
    session.wait(11)
    assert reads(session, client) == 401


def grant(session: Session, *names: str) -> None:
    rule: dict[str, Any] = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    if names:
        rule["resourceNames"] = list(names)
    role = {"metadata": {"name": "reads"}, "rules": [rule]}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"}
    binding = {"metadata": {"name": "reads"}, "roleRef": ref, "subjects": [ROBOT]}
    for plural, body in (("roles", role), ("rolebindings", binding)):
        path = f"{RBAC}/namespaces/default/{plural}"
        assert session.request("POST", path, body).status == 201


def flow_of(session: Session) -> str:
    """The flow schema of the last request from inside for configmaps."""
    records = session.records()
    span = [
        record["seq"]
        for record in records
        if record["kind"] == "request" and record["client"] == "robot"
    ][-1]
    gates = [record for record in records if record["kind"] == "gate" and record["span"] == span]
    return str(
        next(gate for gate in gates if gate["gate"] == "flowcontrol")["detail"]["flowSchema"]
    )


def test_an_allowed_request_is_not_judged_again_until_a_role_or_binding_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = server_session()
    client = account(session, "robot")
    grant(session)
    assert reads(session, client) == 200
    authorization = session.cluster.context.access.authorization
    asked: list[str] = []
    authorize = authorization.authorize

    async def counted(attributes: Attributes) -> Decision:
        asked.append(attributes.user.name)
        return await authorize(attributes)

    monkeypatch.setattr(authorization, "authorize", counted)
    assert [reads(session, client) for _ in range(3)] == [200] * 3
    assert asked == []
    session.request("DELETE", f"{RBAC}/namespaces/default/rolebindings/reads")
    assert reads(session, client) == 403
    assert asked[-1] == "system:serviceaccount:default:robot"


def test_who_may_read_one_object_may_not_read_the_next() -> None:
    session = server_session()
    client = account(session, "robot")
    session.request("POST", CONFIGMAPS, configmap("b"))
    grant(session, "a")
    assert [reads(session, client, name) for name in ("a", "b", "a")] == [200, 403, 200]


def test_a_request_is_judged_again_by_new_authorizers() -> None:
    session = server_session()
    client = account(session, "robot")
    grant(session)
    assert [reads(session, client) for _ in range(2)] == [200] * 2
    context = session.cluster.context
    context.access.authorization.replace(union.build(["AlwaysDeny"], context.cache))
    assert reads(session, client) == 403


def test_a_request_is_classified_again_by_a_new_flow_schema() -> None:
    session = server_session()
    client = account(session, "robot")
    reads(session, client)
    assert flow_of(session) == "service-accounts"
    subject = {
        "kind": "ServiceAccount",
        "serviceAccount": {"name": "robot", "namespace": "default"},
    }
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
    spec = {
        "priorityLevelConfiguration": {"name": "workload-high"},
        "matchingPrecedence": 2,
        "rules": [{"subjects": [subject], "resourceRules": [everything]}],
    }
    assert (
        session.request("POST", SCHEMAS, {"metadata": {"name": "mine"}, "spec": spec}).status == 201
    )
    reads(session, client)
    assert flow_of(session) == "mine"
    session.request("DELETE", f"{SCHEMAS}/mine")
    reads(session, client)
    assert flow_of(session) == "service-accounts"


def test_more_kinds_of_requests_than_are_remembered_do_not_make_flow_control_forget_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control, "KNOWN_MAX", 64)
    session = server_session()
    client = session.cluster.clients.client("ann", "ann", ("system:masters",), "ann")
    matched: list[str] = []
    schemas = session.cluster.context.flow.schemas  # type: ignore[attr-defined]
    match = schemas.match

    def counted(user: User, call: Call) -> Any:
        matched.append(call.namespace)
        return match(user, call)

    def turn() -> int:
        before = len(matched)
        for number in range(70):
            answer(session, functools.partial(client.get, "configmaps", str(number), "a"))
        return len(matched) - before

    turn()
    monkeypatch.setattr(schemas, "match", counted)
    assert turn() < 55


def test_what_a_kubelet_asks_is_classified_once_for_all_kubelets_and_not_again_by_other_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = server_session()
    flow = session.cluster.context.flow
    assert isinstance(flow, control.Control)
    matched, match = [], flow.schemas.match

    def counted(user: User, call: Call) -> Any:
        matched.append(user.name)
        return match(user, call)

    def heartbeats() -> int:
        before = len(matched)
        for number in range(20):
            client = session.cluster.clients.kubelet(f"node-{number}", (50, 100))
            answer(session, functools.partial(client.get, "nodes", "", f"node-{number}"))
        return len(matched) - before

    monkeypatch.setattr(flow.schemas, "match", counted)
    assert heartbeats() == 1
    level = flow.levels["node-high"]
    limit = level.account.current
    level.account.bounds = msgspec.structs.replace(level.account.bounds, minimum=limit + 7)
    flow.adjust()
    assert level.account.current != limit
    assert heartbeats() == 0
    told = [record["detail"] for record in session.records() if record.get("gate") == "flowcontrol"]
    assert told[-1]["limit"] == level.account.current


def test_a_resource_that_another_server_serves_from_now_on_is_looked_for_there() -> None:
    session = server_session()
    client = account(session, "robot")
    grant(session)
    assert [reads(session, client) for _ in range(2)] == [200] * 2
    services = session.cluster.context.aggregation.services
    target = ServiceTarget("default", "elsewhere", 443, "")
    services.remote["", "v1"] = Remote("v1.", "", "v1", target, "", True, False)
    assert reads(session, client) == 503
