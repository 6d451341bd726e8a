"""The product API through the running edge."""

from __future__ import annotations

import gzip
import json
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release
from lifecycle.api import addons
from tests.lifecycle.hosting.running import Demo


def call(
    demo: Demo, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    answer = demo.ask(
        method, f"/viz/v1/{path}", data, **{"Content_Type": "application/json", **headers}
    )
    text = answer.read()
    return answer.status, json.loads(text) if text else {}


def test_state_of_a_cluster_comes_from_its_worker(demo: Demo) -> None:
    status, state = call(demo, "GET", "clusters/demo")
    assert status == 200 and state["action"] == "state"
    assert state["epoch"] == "1970-01-01T00:00:00Z"
    assert call(demo, "GET", "clusters")[1]["clusters"][0]["mode"] == "run"


def test_unknown_cluster_is_not_found(demo: Demo) -> None:
    assert call(demo, "GET", "clusters/nope") == (404, {"detail": 'there is no cluster "nope"'})


@pytest.mark.parametrize(
    ("body", "action", "args"),
    [
        ({"action": "resume"}, "resume", {}),
        ({"action": "step-request"}, "step_request", {}),
        ({"action": "speed", "speed": "max"}, "speed", {"speed": "max"}),
        (
            {"action": "breakpoint", "set": [{"id": "a", "kind": "gate", "gate": "mutating"}]},
            "breakpoints",
            {"set": [{"id": "a", "kind": "gate", "gate": "mutating"}]},
        ),
        (
            {"action": "role", "role": "scheduler", "do": "stop"},
            "role",
            {"role": "scheduler", "do": "stop"},
        ),
        (
            {"action": "fault", "resource": "pods", "op": "create", "times": 2},
            "fault",
            {"resource": "pods", "op": "create", "times": 2},
        ),
    ],
)
def test_control_actions_cross_the_port(
    demo: Demo, body: dict[str, Any], action: str, args: dict[str, Any]
) -> None:
    status, state = call(demo, "POST", "clusters/demo/control", body)
    assert (status, state["action"], state["args"]) == (200, action, args)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            {"action": "explode"},
            "is none of pause, resume, step, step-request, speed, breakpoint, role, fault, "
            "apiserver, etcd, reset, stage",
        ),
        ({"action": "fault", "resourse": "pods"}, "is no field; there are action, speed, set"),
        ({"action": "speed"}, "speed needs speed"),
        ({"action": "role", "role": "scheduler"}, "role needs do"),
        ({"action": "apiserver"}, "apiserver needs do"),
        ({"action": "etcd"}, "etcd needs do"),
        ({"action": "breakpoint", "set": [{"id": "x"}]}, "This field is required"),
        ({"action": "fault", "times": -1}, "greater than or equal to 0"),
        ({"action": "pause"}, "not today"),
        (b"{", "JSON parse error"),
    ],
)
def test_bad_control_is_refused_with_the_reason(demo: Demo, body: Any, problem: str) -> None:
    status, answer = call(demo, "POST", "clusters/demo/control", body)
    assert status == 400 and problem in json.dumps(answer)


def test_a_command_of_the_console_crosses_the_port(demo: Demo) -> None:
    body = {"command": "etcdctl get / --prefix --keys-only"}
    status, answer = call(demo, "POST", "clusters/demo/console", body)
    assert (status, answer["exit_code"], answer["revision"]) == (200, 0, 7)
    assert answer["output"] == "ran etcdctl get / --prefix --keys-only\n"
    assert call(demo, "POST", "clusters/demo/console", {})[0] == 400
    assert call(demo, "POST", "clusters/nope/console", body)[0] == 404


def test_apply_sends_each_object_as_that_user(demo: Demo) -> None:
    text = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n{apiVersion: v1, kind: Nix}\n"
    status, answer = call(
        demo, "POST", "clusters/demo/apply?as=student", text, Content_Type="application/yaml"
    )
    assert status == 200
    created, failed = answer["results"]
    assert (created["code"], created["namespace"], created["name"]) == (200, "student", "a")
    assert (failed["code"], failed["reason"]) == (400, "BadRequest")
    assert 'no matches for kind "Nix"' in failed["message"]
    sent = demo.act("seen")["last_post"]
    assert sent["path"] == "/api/v1/namespaces/student/pods"
    assert sent["query"] == "fieldManager=page&fieldValidation=Strict"
    assert sent["tls"][:2] == ["student", ["students"]] and sent["tls"][3] == ""
    assert json.loads(sent["body"])["kind"] == "Pod"


def test_a_request_to_a_service_goes_by_its_proxy(demo: Demo) -> None:
    where = "clusters/demo/services/shop/web/request?as=student"
    status, answer = call(demo, "POST", where, {"port": 80, "path": "/cart"})
    assert (status, answer["code"]) == (200, 200)
    sent = json.loads(answer["answer"])
    assert sent["method"] == "GET" and sent["tls"][:2] == ["student", ["students"]]
    assert sent["path"] == "/api/v1/namespaces/shop/services/web:80/proxy/cart"
    assert call(demo, "POST", where, {"port": 0})[0] == 400
    assert call(demo, "POST", where.replace("student", "nobody-known"), {"port": 80})[0] == 400


def test_a_name_is_resolved_as_a_pod_of_a_namespace_would(demo: Demo) -> None:
    where = "clusters/demo/resolve"
    assert call(demo, "GET", f"{where}?name=web.shop&namespace=shop")[0] == 200
    assert call(demo, "GET", f"{where}?name=web")[0] == 200
    for query, problem in (
        ("", "This field is required"),
        (f"?name={'a' * 254}", "no more than 253 characters"),
        (f"?name=web&namespace={'a' * 64}", "no more than 63 characters"),
        ("?name=web&nameserver=x", "is no field; there are name, namespace"),
    ):
        status, answer = call(demo, "GET", where + query)
        assert status == 400 and problem in json.dumps(answer), query
    assert call(demo, "GET", "clusters/nope/resolve?name=web")[0] == 404


def test_a_change_of_an_object_is_one_request_of_that_user(demo: Demo) -> None:
    where = "clusters/demo/object/request?as=student"
    web = {"api_version": "apps/v1", "resource": "deployments", "namespace": "shop", "name": "web"}
    patch = {"spec": {"replicas": 5}}
    scale = {"verb": "patch", **web, "subresource": "scale", "patch": patch}
    status, answer = call(demo, "POST", where, scale)
    assert status == 200
    assert answer == {"code": 200, "reason": "", "message": "", "causes": []}
    sent = demo.act("seen")["last_post"]
    assert sent["path"] == "/apis/apps/v1/namespaces/shop/deployments/web/scale"
    assert sent["method"] == "PATCH" and sent["tls"][:2] == ["student", ["students"]]
    assert sent["headers"]["content-type"] == "application/merge-patch+json"
    assert json.loads(sent["body"]) == patch

    node = {"verb": "delete", "api_version": "v1", "resource": "nodes", "name": "a b/../c?d"}
    assert call(demo, "POST", where, node)[0] == 200
    sent = demo.act("seen")["last_post"]
    assert (sent["method"], sent["query"]) == ("DELETE", "")
    assert sent["path"] == "/api/v1/nodes/a%20b%2F..%2Fc%3Fd"


def test_a_dry_run_says_so_to_the_server(demo: Demo) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    call(demo, "POST", "clusters/demo/apply?dry-run=true", pod)
    assert demo.act("seen")["last_post"]["query"].endswith("&dryRun=All")

    text = "apiVersion: v1\nkind: Pod\n"
    one = {"api_version": "v1", "resource": "pods", "namespace": "default", "name": "a"}
    update = {"verb": "update", **one, "manifest": text, "dry_run": True}
    call(demo, "POST", "clusters/demo/object/request", update)
    sent = demo.act("seen")["last_post"]
    assert (sent["method"], sent["path"]) == ("PUT", "/api/v1/namespaces/default/pods/a")
    assert sent["query"] == "fieldManager=page&fieldValidation=Strict&dryRun=All"
    assert (sent["headers"]["content-type"], sent["body"]) == ("application/yaml", text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"verb": "connect"},
        {"api_version": "../v1"},
        {"api_version": "a/b/v1"},
        {"subresource": "exec"},
        {"name": ""},
        {"patch": []},
    ],
)
def test_what_is_no_change_of_an_object_is_refused(demo: Demo, wrong: dict[str, Any]) -> None:
    body = {"verb": "delete", "api_version": "v1", "resource": "pods", "name": "a", **wrong}
    assert call(demo, "POST", "clusters/demo/object/request", body)[0] == 400


def test_apply_with_a_token_sends_no_certificate(demo: Demo) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "t"}}
    call(demo, "POST", "clusters/demo/apply?as=token-user", pod)
    sent = demo.act("seen")["last_post"]
    assert sent["tls"] is None
    token = sent["headers"]["authorization"].removeprefix("Bearer ")
    assert token in (demo.data_dir / "tokens.csv").read_text()


def test_apply_without_a_user_is_the_admin(demo: Demo) -> None:
    call(demo, "POST", "clusters/demo/apply", {"apiVersion": "v1", "kind": "Pod"})
    assert demo.act("seen")["last_post"]["tls"][:2] == ["kubernetes-admin", ["system:masters"]]


def test_only_the_cast_can_be_acted_as(demo: Demo) -> None:
    for name in ("root", "../admin", "ca", "apiserver"):
        status, answer = call(demo, "POST", f"clusters/demo/apply?as={name}", {})
        assert status == 400 and "there are: admin, teacher" in answer["detail"]
    cast = call(demo, "GET", "cast")[1]
    assert cast["users"][0] == "admin"
    assert cast["namespaces"]["student"] == "student" and "teacher" not in cast["namespaces"]


def test_foreign_pages_may_neither_act_nor_read(demo: Demo) -> None:
    path = "/viz/v1/clusters/demo/control"
    assert demo.ask("POST", path, b"{}", Origin="http://evil.example").status == 403
    assert demo.get("/viz/v1/clusters/demo", Host="evil.example").status == 400
    assert demo.get("/", Host="evil.example").status == 400


def test_saved_trace_can_be_listed_downloaded_imported_and_removed(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        _save_and_import(demo)


def test_trace_whose_records_are_gone_is_not_saved(demo: Demo) -> None:
    demo.act("trace", count=1)
    status, answer = call(demo, "POST", "traces", {"name": "One"})
    assert status == 400
    assert answer["detail"] == "the records from 1 on are no longer in the store"
    assert call(demo, "GET", "traces") == (200, {"traces": []})


def _save_and_import(demo: Demo) -> None:
    status, saved = call(demo, "POST", "traces", {"name": "One"})
    assert status == 201 and saved["id"] == "one"
    file = demo.get("/viz/v1/traces/one")
    assert file.headers["Content-Type"] == "application/gzip"
    data = file.read()
    assert json.loads(gzip.decompress(data).splitlines()[0])["format"] == "lifecycle-trace"
    status, again = call(demo, "POST", "traces/import?name=Two", data)
    assert (status, again["id"]) == (201, "two")
    assert {one["id"] for one in call(demo, "GET", "traces")[1]["traces"]} >= {"one", "two"}
    assert call(demo, "GET", "traces/two/records?from=1") == (
        200,
        {
            "header": {**json.loads(gzip.decompress(data).splitlines()[0]), "name": "Two"},
            "records": [],
            "last": 0,
            "next": None,
        },
    )
    for trace in ("one", "two"):
        assert demo.ask("DELETE", f"/viz/v1/traces/{trace}", b"").status == 204
    assert call(demo, "GET", "traces/two")[0] == 404


def test_bookmarks_of_the_cluster_go_into_the_trace_and_are_changed_there(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        assert call(demo, "GET", "clusters/demo/bookmarks") == (200, {"bookmarks": []})
        status, answer = call(demo, "PUT", "clusters/demo/bookmarks", {"bookmarks": [mark(99)]})
        assert status == 400 and "there is no record 99" in answer["detail"]
        demo.act("trace", count=3)
        two = {"bookmarks": [mark(1), mark(2)]}
        assert call(demo, "PUT", "clusters/demo/bookmarks", two) == (200, two)
        assert call(demo, "GET", "clusters/demo/bookmarks") == (200, two)


def mark(seq: int) -> dict[str, Any]:
    return {"seq": seq, "t": 0, "title": f"record {seq}"}


def test_bad_trace_is_refused_by_line(demo: Demo) -> None:
    status, answer = call(demo, "POST", "traces/import", b"{}\n")
    assert status == 400 and answer["detail"].startswith("line 1: this is no trace")


@pytest.mark.parametrize("query", ["from=0", "limit=999999", "from=x", "limit=-1"])
def test_bad_pages_are_refused(demo: Demo, query: str) -> None:
    status, answer = call(demo, "GET", f"clusters/demo/records?{query}")
    assert status == 400 and "must be a number from" in answer["detail"]


@pytest.mark.parametrize("number", [str(2**64), "9" * 5000, "-1", "1_0", "١", " 1", "1.0", "x"])
@pytest.mark.parametrize("query", ["object?key=/x&revision=", "records?from=", "records?limit="])
def test_a_number_out_of_range_is_refused_in_a_sentence(
    demo: Demo, query: str, number: str
) -> None:
    path = f"clusters/demo/{query}{urllib.parse.quote(number)}"
    status, answer = call(demo, "GET", path)
    assert status == 400 and " must be a number from 1 to " in answer["detail"]


def test_a_number_beyond_64_bits_takes_no_other_request_with_it(demo: Demo) -> None:
    bodies = [{"action": "speed", "speed": 2**64}, {"action": "speed", "speed": "\ud800"}]
    bodies += [{"action": "breakpoint", "set": [{"kind": "gate", "seq": -(2**80)}]}]
    for body in bodies:
        status, answer = call(demo, "POST", "clusters/demo/control", body)
        assert status == 400 and answer["detail"]
    assert call(demo, "GET", f"clusters/demo/requests/{2**64}/forms")[0] == 400
    assert demo.get(f"/viz/v1/clusters/demo/requests/{'9' * 5000}/forms").status == 404


def test_schema_describes_every_path_and_docs_load_nothing_from_elsewhere(demo: Demo) -> None:
    schema = json.loads(demo.get("/viz/v1/schema?format=json").read())
    paths = {path for path in schema["paths"] if "{" not in path}
    assert paths == {
        "/viz/v1/addons",
        "/viz/v1/cast",
        "/viz/v1/clusters",
        "/viz/v1/traces",
        "/viz/v1/traces/import",
    }
    assert len(schema["paths"]) == 28
    for operations in schema["paths"].values():
        for method in operations.keys() & {"get", "post", "put", "delete"}:
            assert {"token": []} in operations[method]["security"]
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    docs = demo.get("/viz/v1/docs").read().decode()
    for path in schema["paths"]:
        assert path in docs
    assert "http://" not in docs and "https://" not in docs and "<script" not in docs


def test_answers_wait_for_django_and_unknown_paths_are_not_found(demo: Demo) -> None:
    assert demo.get("/viz/v1/nothing").status == 404
    moved = demo.get("/viz")
    assert (moved.status, moved.headers["Location"]) == (301, "/viz/v1/docs")


def test_a_long_trace_comes_in_pages(demo: Demo) -> None:
    lines = [{
        "format": "lifecycle-trace", "version": 1, "cluster": "demo", "kubernetes": "1.33",
        "epoch": "2025-01-01T00:00:00Z", "first": 1, "last": 2300,
    }]  # fmt: skip
    clock = {"kind": "clock", "span": 0, "mode": "run", "speed": 1}
    lines += [{"seq": seq, "t": seq, **clock} for seq in range(1, 2301)]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    assert call(demo, "POST", "traces/import?name=long", data)[0] == 201
    seqs: list[int] = []
    start: int | None = 1
    while start is not None:
        page = call(demo, "GET", f"traces/long/records?from={start}&limit=5000")[1]
        seqs += [record["seq"] for record in page["records"]]
        start = page["next"]
    assert seqs == list(range(1, 2301))
    assert demo.ask("DELETE", "/viz/v1/traces/long", b"").status == 204


def test_addons_say_what_they_are_made_of_and_what_installs_them(demo: Demo) -> None:
    status, told = call(demo, "GET", "addons")
    assert status == 200
    known = {addon["name"]: addon for addon in told["addons"]}
    assert [*known] == ["coredns", "kube-proxy", "metrics-server", "ingress-nginx"]
    dns = {
        (part["resource"], part["namespace"], part["name"]) for part in known["coredns"]["objects"]
    }
    assert ("deployments.apps", "kube-system", "coredns") in dns
    assert known["coredns"]["manifest"] == ""
    metrics = known["metrics-server"]
    assert metrics["manifest"].count("\nkind: ") == len(metrics["objects"]) == 9
    assert metrics["objects"][-1] == {
        "kind": "APIService",
        "api_version": "apiregistration.k8s.io/v1",
        "resource": "apiservices.apiregistration.k8s.io",
        "namespace": "",
        "name": "v1beta1.metrics.k8s.io",
    }


@pytest.mark.parametrize("minor", [8, 16, 22, releases.DEFAULT.minor, 35])
def test_every_release_serves_what_the_addons_are_made_of(minor: int) -> None:
    for addon in addons.shown(Release.parse(f"1.{minor}.0")):
        assert all(part["resource"].startswith(part["kind"].lower()) for part in addon["objects"])
