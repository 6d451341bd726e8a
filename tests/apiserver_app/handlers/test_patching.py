"""What a PATCH is refused for, and in which words: handlers/patch.go, case by case."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import (
    APPLY,
    CONFIGMAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    configmap,
    header,
    pod,
    server_session,
)

WEB = f"{DEPLOYMENTS}/web"
DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "nginx"}]},
        },
    },
}


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    assert session.request("POST", DEPLOYMENTS, DEPLOYMENT).status == 201
    session.request("POST", CONFIGMAPS, configmap("a", k="<v>"))
    return session


def patch(
    session: Session, headers: dict[str, str], body: Any, query: str = "", path: str = WEB
) -> Answer:
    sent = body if isinstance(body, bytes) else orjson.dumps(body)
    return session.request("PATCH", f"{path}?{query}", sent, headers=headers)


def why(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["message"]


REPLICAS = {"spec": {"replicas": "x"}}
WRONG = (
    "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
)


@pytest.mark.parametrize(
    ("headers", "body"),
    [(MERGE, REPLICAS), (JSON_PATCH, [{"op": "add", "path": "/spec/replicas", "value": "x"}])],
)
def test_an_object_that_is_none_once_patched_is_invalid_and_quoted(
    session: Session, headers: dict[str, str], body: Any
) -> None:
    answer = patch(session, headers, body)
    code, message = why(answer)
    assert code == 422 and answer.json()["reason"] == "Invalid"
    assert message.startswith(
        ' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"apps/v1\\",'
    )
    assert message.endswith(f'}}": {WRONG}')
    (cause,) = answer.json()["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "patch")
    # what was touched has its names sorted, what was not stands as it was
    assert '\\"replicas\\":\\"x\\",\\"revisionHistoryLimit\\":10,\\"selector\\"' in message
    assert '{\\"name\\":\\"main\\",\\"image\\":\\"nginx\\"' in message


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"replicas": "x"}, "unrecognized type: int32"),
        ({"replicas": 1.5}, "cannot convert float64 to int32"),
        ({"paused": 1}, "unrecognized type: bool"),
        ({"selector": "x"}, "cannot restore struct from: string"),
        ({"selector": {"matchLabels": 7}}, "cannot restore map from int64"),
        ({"selector": {"matchLabels": {"app": 7}}}, "cannot convert int64 to string"),
        ({"selector": {"matchLabels": {"app": True}}}, "unrecognized type: string"),
        ({"selector": {"matchExpressions": {}}}, "cannot restore slice from map"),
        ({"strategy": {"type": 1}}, "cannot convert int64 to v1.DeploymentStrategyType"),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": {}}}},
            "json: cannot unmarshal object into Go value of type int32",
        ),
    ],
)
def test_a_strategic_patch_is_quoted_as_the_map_it_is(
    session: Session, spec: Any, text: str
) -> None:
    code, message = why(patch(session, STRATEGIC, {"spec": spec}))
    assert code == 422
    assert message.startswith(' "" is invalid: patch: Invalid value: "map[spec:map[')
    assert message.endswith(f']]": {text}')


def test_another_kind_is_no_matter_to_a_strategic_patch(session: Session) -> None:
    answer = patch(session, STRATEGIC, {"kind": "Other", "apiVersion": "x/v1"})
    assert (answer.status, answer.json()["kind"]) == (200, "Deployment")
    code, message = why(patch(session, MERGE, {"kind": "Other"}))
    assert code == 422 and message.endswith(
        'no kind "Other" is registered for version "apps/v1" in scheme '
        '"pkg/api/legacyscheme/scheme.go:30"'
    )


OPERATIONS = "Go value of type []handlers.jsonPatchOp"


@pytest.mark.parametrize(
    ("headers", "query", "body", "text"),
    [
        (JSON_PATCH, "", {},
         f"error decoding patch: json: cannot unmarshal object into {OPERATIONS}"),
        (JSON_PATCH, "", ["x"],
         "error decoding patch: json: cannot unmarshal string into Go value of type "
         "handlers.jsonPatchOp"),
        (JSON_PATCH, "", [{"op": 1}], "error decoding patch: json: cannot unmarshal number into Go "
         "struct field jsonPatchOp.op of type string"),
        (JSON_PATCH, "fieldValidation=Ignore", {},
         "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (JSON_PATCH, "fieldValidation=Ignore", [1],
         "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
        (JSON_PATCH, "", b"[", "error decoding patch: unexpected end of JSON input"),
        (MERGE, "", [], "error decoding patch: json: cannot unmarshal array into Go value of type "
         "map[string]interface {}"),
        (MERGE, "", b"null", "Invalid JSON Patch"),
        (MERGE, "fieldValidation=Ignore", b"{", "Invalid JSON Patch"),
        (MERGE, "fieldValidation=Ignore", b"7", "Invalid JSON Patch"),
        (STRATEGIC, "", [],
         "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (STRATEGIC, "", b"{", "unexpected end of JSON input"),
        (APPLY, "fieldManager=m", b"x",
         "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
         "unmarshal string into Go value of type map[string]interface {}"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_patch_is_a_bad_request(
    session: Session, headers: dict[str, str], query: str, body: Any, text: str
) -> None:
    assert why(patch(session, headers, body, query)) == (400, text)


def test_an_object_that_became_a_list_is_invalid(session: Session) -> None:
    text = 'patch: Invalid value: "[1]": couldn\'t get version/kind; json parse error: json: cannot'
    code, message = why(patch(session, MERGE, [1], "fieldValidation=Ignore"))
    assert code == 422 and text in message
    code, message = why(patch(session, JSON_PATCH, [{"op": "replace", "path": "", "value": [1]}]))
    assert code == 422 and text in message


@pytest.mark.parametrize("headers", [JSON_PATCH, STRATEGIC])
def test_a_patch_of_nothing_changes_nothing(session: Session, headers: dict[str, str]) -> None:
    assert patch(session, headers, b"null").status == 200


def test_what_is_not_there_is_not_found_however_bad_the_patch(session: Session) -> None:
    gone = f"{DEPLOYMENTS}/gone"
    assert patch(session, MERGE, b"{", path=gone).status == 404
    assert patch(session, {"content-type": "text/plain"}, b"{", path=gone).status == 415
    assert patch(
        session, {**MERGE, "content-type": f"{MERGE['content-type']};charset=x"}, {}
    ).status
    assert patch(session, APPLY, b"[", "fieldManager=m", path=gone).status == 400


DOUBLED = b'{"spec":{"zeta":1,"alpha":2},"spec":{"zeta":1,"alpha":2,"paused":false}}'
MERGED = ['duplicate field "spec"', 'unknown field "spec.alpha"', 'unknown field "spec.zeta"']
OPS = (
    b'[{"op":"add","path":"/spec/zeta","value":1,"op":"add","Path":""},'
    b'{"op":"add","path":"/spec/alpha","value":1}]'
)
OPERATED = [
    'json patch duplicate field "[0].op"',
    'json patch unknown field "[0].Path"',
    'unknown field "spec.alpha"',
    'unknown field "spec.zeta"',
]


@pytest.mark.parametrize(
    ("headers", "body", "found"),
    [(MERGE, DOUBLED, MERGED), (STRATEGIC, DOUBLED, MERGED), (JSON_PATCH, OPS, OPERATED)],
)
def test_unknown_and_doubled_fields_of_a_patch_are_warned_of_or_refused(
    session: Session, headers: dict[str, str], body: bytes, found: list[str]
) -> None:
    quoted = [f'299 - "{text}"'.replace('"', '\\"') for text in found]
    expected = [text.replace('\\"', '"', 1)[:-2] + '"' for text in quoted]
    for query in ("", "fieldValidation=Warn"):
        answer = patch(session, headers, body, query)
        assert (answer.status, header(answer, "Warning")) == (200, expected)
    assert header(patch(session, headers, body, "fieldValidation=Ignore"), "Warning") == []
    code, message = why(patch(session, headers, body, "fieldValidation=Strict"))
    assert code == 422 and message.startswith(' "" is invalid: patch: Invalid value: "')
    assert message.endswith(f": strict decoding error: {', '.join(found)}")


@pytest.mark.parametrize("headers", [MERGE, STRATEGIC])
def test_unknown_fields_are_dropped_in_silence_before_servers_validated_them(
    headers: dict[str, str],
) -> None:
    session = server_session(version="1.24")
    assert session.request("POST", DEPLOYMENTS, DEPLOYMENT).status == 201
    for query in ("", "fieldValidation=Strict"):
        answer = patch(session, headers, DOUBLED, query)
        assert (answer.status, header(answer, "Warning")) == (200, [])
    assert patch(session, headers, DOUBLED, "fieldValidation=Odd").status == 422
    before = server_session(version="1.22")
    assert before.request("POST", f"{CONFIGMAPS}?fieldValidation=Odd", configmap("b")).status == 201


def test_fields_applied_twice_are_warned_of_or_refused(session: Session) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata:\n  k: v\n  k: w\n"
    path = f"{CONFIGMAPS}/applied"
    answer = patch(session, APPLY, body, "fieldManager=m", path=path)
    assert answer.status == 201
    assert header(answer, "Warning") == ['299 - "line 6: key \\"k\\" already set in map"']
    answer = patch(session, APPLY, body, "fieldManager=m&fieldValidation=Strict", path=path)
    assert why(answer) == (
        400,
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 6: key "k" already set in map',
    )


def test_a_scale_is_patched_as_strictly(session: Session) -> None:
    path = f"{WEB}/scale"
    code, message = why(patch(session, MERGE, REPLICAS, path=path))
    assert code == 422 and message.endswith(
        "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"
    )
    answer = patch(session, MERGE, {"spec": {"bogus": 1}}, path=path)
    assert header(answer, "Warning") == ['299 - "unknown field \\"spec.bogus\\""']


@pytest.mark.parametrize("headers", [STRATEGIC, MERGE, JSON_PATCH])
def test_a_patch_of_a_pods_status_keeps_the_stored_spec_itself(
    session: Session, headers: dict[str, str]
) -> None:
    session.request("DELETE", f"{PODS}/kept?gracePeriodSeconds=0")
    assert session.request("POST", PODS, pod("kept")).status == 201
    before = session.cluster.cache.get("pods", "default", "kept")
    as_it_was = orjson.dumps(before)
    body: Any = {"status": {"message": "well"}}
    if headers is JSON_PATCH:
        body = [{"op": "add", "path": "/status/message", "value": "well"}]
    assert patch(session, headers, body, path=f"{PODS}/kept/status").status == 200
    after = session.cluster.cache.get("pods", "default", "kept")
    assert before is not None and after is not None
    assert after["spec"] is before["spec"] and orjson.dumps(before) == as_it_was
    assert list(after) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert after["status"]["message"] == "well"
