"""Every gate's refusal is told and ends the request; paths and methods as a real server routes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from apiserver_app import flags
from apiserver_app.handlers.call import Call
from apiserver_app.handlers.input import bodies
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Credential
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import (
    CONFIGMAPS,
    DEPLOYMENTS,
    MERGE,
    PODS,
    configmap,
    events,
    header,
    last_gates,
    pod,
    server_session,
)


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("there", k="v"))
    return session


REFUSALS: list[tuple[str, int, str, str, dict[str, Any]]] = [
    ("authentication", 401, "GET", PODS, {"user": "", "headers": {"authorization": "Bearer none"}}),
    ("authorization", 403, "POST", CONFIGMAPS, {"user": "student", "body": configmap("x")}),
    ("authorization", 403, "GET", "/nothing", {"user": ""}),
    ("authorization", 403, "GET", PODS,
     {"user": "student", "headers": {"impersonate-user": "kubernetes-admin"}}),
    ("routing", 405, "POST", f"{CONFIGMAPS}/there", {"body": configmap("there")}),
    ("routing", 404, "GET", "/api/v1/namespaces/default/unicorns", {}),
    ("routing", 406, "POST", CONFIGMAPS,
     {"body": configmap("x"), "headers": {"accept": "image/png"}}),
    ("decode", 400, "POST", CONFIGMAPS, {"body": b"{"}),
    ("decode", 415, "POST", CONFIGMAPS, {"body": b"x", "headers": {"content-type": "text/plain"}}),
    ("decode", 415, "PATCH", f"{CONFIGMAPS}/there", {"body": {}}),
    ("decode", 400, "POST", f"{CONFIGMAPS}?fieldValidation=Strict",
     {"body": {**configmap("x"), "odd": 1}}),
    ("decode", 400, "PUT", f"{CONFIGMAPS}/there", {"body": configmap("other")}),
    ("decode", 400, "GET", f"{PODS}?labelSelector=a==b==c", {}),
    ("decode", 422, "GET", f"{PODS}?resourceVersionMatch=Exact", {}),
    ("etcd", 404, "GET", f"{CONFIGMAPS}/missing", {}),
    ("etcd", 404, "DELETE", f"{CONFIGMAPS}/missing", {}),
    ("etcd", 409, "POST", CONFIGMAPS, {"body": configmap("there")}),
    ("mutating", 404, "POST", "/api/v1/namespaces/no/configmaps",
     {"body": {**configmap("x"), "metadata": {"name": "x", "namespace": "no"}}}),
    ("validation", 422, "POST", CONFIGMAPS, {"body": configmap("Not_A_Name")}),
    ("validation", 422, "POST", CONFIGMAPS, {"body": {**configmap(""), "metadata": {}}}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("gate", "code", "method", "path", "more"),
    REFUSALS,
    ids=[f"{refusal[0]} {refusal[1]} {refusal[2]} {refusal[3][-20:]}" for refusal in REFUSALS],
)
def test_a_refusal_is_told_by_its_gate_and_ends_the_request(
    session: Session, gate: str, code: int, method: str, path: str, more: dict[str, Any]
) -> None:
    revision = session.cluster.store.revision
    answer = session.request(method, path, **more)
    status = answer.json()
    assert (answer.status, status["code"], status["kind"]) == (code, code, "Status")
    gates = last_gates(session)
    assert gates[-1] == (gate, "deny")
    assert [verdict for _, verdict in gates].count("deny") == 1
    assert session.cluster.store.revision == revision
    response = [record for record in session.records() if record["kind"] == "response"][-1]
    assert (response["code"], response["message"]) == (code, status["message"])


def test_a_path_of_nobody_is_refused_by_routing_in_plain_text(session: Session) -> None:
    answer = session.request("GET", "/nothing")
    assert (answer.status, answer.text) == (404, b"404 page not found\n")
    gates = last_gates(session)
    assert gates[-1] == ("routing", "deny")
    assert [verdict for _, verdict in gates].count("deny") == 1


def test_even_a_401_names_its_audit_id(session: Session) -> None:
    answer = session.request("GET", PODS, user="", headers={"authorization": "Bearer none"})
    assert len(header(answer, "Audit-Id")[0]) == 36


def test_an_audit_id_of_the_client_is_kept(session: Session) -> None:
    answer = session.request("GET", PODS, headers={"audit-id": "mine"})
    assert header(answer, "Audit-Id") == ["mine"]


def test_answers_name_the_flow_schema_and_forbid_caching(session: Session) -> None:
    answer = session.request("GET", PODS)
    assert header(answer, "X-Kubernetes-Pf-Flowschema-Uid")
    assert header(answer, "X-Kubernetes-Pf-Prioritylevel-Uid")
    assert header(answer, "Cache-Control") == ["no-cache, private"]


def test_the_date_is_left_to_the_edge(session: Session) -> None:
    assert header(session.request("GET", PODS), "Date") == []


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("HEAD", PODS, 405),
        ("HEAD", f"{PODS}?watch=1", 405),
        ("PUT", CONFIGMAPS, 405),
        ("PATCH", CONFIGMAPS, 405),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", f"{PODS}/x/binding", 405),
        ("GET", "/api/v1/configmaps/there", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", f"{CONFIGMAPS}/there/status", 404),
        ("GET", f"{PODS}/there/status/more", 404),
        ("GET", "/apis/apps/v9/deployments", 404),
    ],
)
def test_a_path_has_only_the_methods_that_are_routed(
    session: Session, method: str, path: str, code: int
) -> None:
    answer = session.request(method, path, {} if method in ("PUT", "POST", "PATCH") else None)
    assert answer.status == code
    if method != "HEAD":
        assert (
            answer.json()["message"]
            == {
                404: "the server could not find the requested resource",
                405: "the server does not allow this method on the requested resource",
            }[code]
        )


def test_a_head_of_a_document_has_no_body(session: Session) -> None:
    answer = session.request("HEAD", "/healthz")
    assert (answer.status, answer.text) == (200, b"")
    answer = session.request("HEAD", "/version")  # a route, which is of GET alone
    assert (answer.status, answer.text) == (405, b"")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/etcd"])
def test_health_is_ok_in_plain_text(session: Session, path: str) -> None:
    answer = session.request("GET", path, user="")
    assert (answer.status, answer.text) == (200, b"ok")
    assert header(answer, "Content-Type") == ["text/plain; charset=utf-8"]


def test_health_names_each_check_when_asked(session: Session) -> None:
    lines = session.request("GET", "/readyz?verbose").text.decode().splitlines()
    assert "[+]ping ok" in lines and lines[-1] == "readyz check passed"
    excluded = session.request("GET", "/readyz?verbose&exclude=ping").text.decode()
    assert "[+]ping excluded: ok" in excluded
    odd = session.request("GET", "/readyz?verbose&exclude=x").text.decode()
    assert 'warn: some health checks cannot be excluded: no matches for "x"' in odd


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_each_check_and_hook_is_listed_once(session: Session, path: str) -> None:
    lines = session.request("GET", f"{path}?verbose").text.decode().splitlines()[:-1]
    assert len(lines) == len(set(lines)) > 25
    assert lines[:3] == ["[+]ping ok", "[+]log ok", "[+]etcd ok"]
    hooks = ("rbac/bootstrap-roles", "crd-informer-synced", "apiservice-registration-controller")
    assert all(f"[+]poststarthook/{name} ok" in lines for name in hooks)
    for line in lines:
        assert session.request("GET", f"{path}/{line[3:-3]}").text == b"ok"
    assert ("[+]shutdown ok" in lines) == (path == "/readyz")


def test_every_base_route_answers_in_its_own_way(session: Session) -> None:
    index = session.request("GET", "/index.html").json()
    assert index == session.request("GET", "/").json()
    assert session.request("GET", "/debug/pprof/").status == 200
    assert session.request("GET", "/debug/api_priority_and_fairness/dump_queues").status == 200
    assert session.request("DELETE", "/metrics").text == b"metrics reset\n"


def test_without_profiling_neither_the_profiler_nor_the_reset_is_there() -> None:
    quiet = server_session(flags=flags.Flags(profiling=False))
    assert quiet.request("GET", "/debug/pprof/").status == 404
    before = quiet.request("GET", "/metrics").text
    # a path takes any method: nothing is reset, the metrics are told once more
    assert b"apiserver_request_total{" in before
    assert b"apiserver_request_total{" in quiet.request("DELETE", "/metrics").text
    assert b"apiserver_request_total{" in quiet.request("GET", "/metrics").text


def test_a_server_that_is_not_ready_says_so_and_is_alive() -> None:
    session = server_session()
    session.cluster.ready = False
    answer = session.request("GET", "/readyz")
    assert answer.status == 500
    assert b"[-]informer-sync failed: reason withheld\n" in answer.text
    assert answer.text.endswith(b"readyz check failed\n")
    assert session.request("GET", "/livez").status == 200


def test_metrics_are_prometheus_text(session: Session) -> None:
    text = session.request("GET", "/metrics").text.decode()
    assert 'apiserver_storage_objects{resource="configmaps"}' in text
    for line in text.splitlines():
        assert line.startswith("#") or re.fullmatch(r"[a-z_]+({.*})? [0-9.e+-]+", line), line
    families = re.findall(r"^# TYPE (\S+)", text, re.M)
    assert len(families) == len(set(families)) > 10


def test_metrics_count_requests_by_what_they_ask_and_their_code() -> None:
    session = server_session()
    for _ in range(3):
        session.request("GET", "/api/v1/namespaces/default/podtemplates/none")
    text = session.request("GET", "/metrics").text.decode()
    sort = 'group="",resource="podtemplates",scope="resource",subresource="",verb="GET"'
    sort += ',version="v1"'
    line = f'apiserver_request_total{{code="404",component="apiserver",dry_run="",{sort}}} 3'
    assert line in text.splitlines()
    name = "apiserver_request_duration_seconds"
    assert f'{name}_count{{component="apiserver",dry_run="",{sort}}} 3' in text
    assert 'apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 245' in text


def test_warnings_stand_in_headers_once_each() -> None:
    session = server_session()
    body = {**configmap("a"), "odd": 1}
    answer = session.request("POST", CONFIGMAPS, body)
    assert (answer.status, header(answer, "Warning")) == (201, ['299 - "unknown field \\"odd\\""'])


def test_a_request_that_ends_by_a_bug_is_answered_and_its_span_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bugs: list[str] = []

    def report(kind: str, what: Any) -> None:
        if kind == "bug":
            bugs.append(what)

    session = Session(default_inputs(nodes=0), report=report)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(session.cluster.context.storage, "page", broken)
    answer = session.request("GET", PODS)
    assert answer.status == 500 and answer.json()["reason"] == "InternalError"
    assert len(bugs) == 1 and "ZeroDivisionError" in bugs[0]
    opened = [
        record for record in session.records() if record["kind"] == "request" and record["outside"]
    ][-1]
    closed = [record for record in session.records() if record["kind"] == "response"][-1]
    assert (closed["span"], closed["code"]) == (opened["seq"], 500)


def test_who_acts_as_somebody_else_has_his_rights_and_no_more(session: Session) -> None:
    as_student = {"impersonate-user": "student"}
    answer = session.request("POST", CONFIGMAPS, configmap("x"), headers=as_student)
    assert answer.status == 403 and 'User "student" cannot create' in answer.json()["message"]


def test_a_component_cannot_tell_its_client_from_http() -> None:
    session = server_session()
    cluster = session.cluster
    seen: list[Any] = []

    async def component() -> None:
        client = cluster.clients.client("admin", "test", ("system:masters",))
        made = await client.create("configmaps", "default", configmap("a", k="v"))
        seen.append(made["metadata"]["name"])
        patched = await client.patch("configmaps", "default", "a", {"data": {"k": "w"}})
        seen.append(patched["data"])
        listed = await client.list("configmaps", "default", fields="metadata.name=a")
        seen.append([item["metadata"]["name"] for item in listed["items"]])
        await client.delete("configmaps", "default", "a")
        try:
            await client.get("configmaps", "default", "a")
        except errors.ApiError as error:
            seen.append(error.message)

    cluster.kernel.spawn("component", component())
    session.settle()
    assert seen == ["a", {"k": "w"}, ["a"], 'configmaps "a" not found']
    asked = [
        record
        for record in session.records()
        if record["kind"] == "request" and record["verb"] == "list"
    ]
    assert (asked[-1]["name"], asked[-1]["path"]) == ("a", CONFIGMAPS)


def test_a_restart_goes_on_with_the_same_revision_time_and_identities() -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    session.wait(5)
    uid = session.request("GET", f"{CONFIGMAPS}/a").json()["metadata"]["uid"]
    cluster = session.cluster
    before = (cluster.store.revision, cluster.kernel.now, cluster.recorder.seq, cluster.rand.state)
    state = session.backend.load()
    assert state is not None
    assert (state.revision, state.now, state.seq, state.rand) == before
    session.restart()
    assert session.cluster.store.revision >= before[0]
    assert session.cluster.kernel.now >= before[1]
    assert session.request("GET", f"{CONFIGMAPS}/a").json()["metadata"]["uid"] == uid
    numbers = [record["seq"] for record in session.records()]
    assert numbers == list(range(1, len(numbers) + 1))
    patched = session.request("PATCH", f"{CONFIGMAPS}/a", {"data": {"k": "v"}}, headers=MERGE)
    assert int(patched.json()["metadata"]["resourceVersion"]) > before[0]


def test_a_watch_begun_before_a_restart_is_found_in_the_log_after_it() -> None:
    session = server_session()
    begin = session.cluster.store.revision
    session.request("POST", PODS, pod("p"))
    session.restart()
    answer = session.request("GET", f"{PODS}?watch=1&resourceVersion={begin}")
    assert [kind for kind, _ in events(answer)][:1] == ["ADDED"]


def test_the_deployments_path_serves_what_it_created() -> None:
    session = server_session()
    labels = {"app": "x"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod("x")["spec"]},
        },
    }
    assert session.request("POST", DEPLOYMENTS, body).status == 201
    assert session.request("GET", f"{DEPLOYMENTS}/x").json()["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("body", "content_type", "name"),
    [
        ({"metadata": {"name": "web"}}, "application/json", "web"),
        (b'{"metadata": {"name": "web"}}', "application/json", "web"),
        (b'{"metadata": {"generateName": "web-"}}', "application/json", ""),
        (b"metadata: {name: web}", "application/yaml", ""),
        (b"k8s\x00\xff", "application/vnd.kubernetes.protobuf", ""),
        (b"[]", "application/json", ""),
        (b'{"metadata": {"name": 3}}', "application/json", ""),
        (None, "", ""),
    ],
)
def test_the_name_a_create_is_about_is_told_before_the_gates_where_it_can_be_read(
    body: Any, content_type: str, name: str
) -> None:
    call = Call("create", "/", Credential(), "t", body=body, content_type=content_type)
    assert bodies.name_in(call) == name
