"""HTTP in, HTTP out: forms of answers, headers, bodies that are no objects."""

from __future__ import annotations

import pytest

from apiserver_app.http import statuses
from apiserver_app.machinery import errors
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, header, server_session

FORM = "application/json;as={};v=v1;g=meta.k8s.io"


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a", k="<v>"))
    return session


def test_an_object_is_compact_json_with_a_newline_and_gos_escapes(session: Session) -> None:
    answer = session.request("GET", f"{CONFIGMAPS}/a")
    assert header(answer, "Content-Type") == ["application/json"]
    assert answer.text.endswith(b"}\n") and b'"k":"\\u003cv\\u003e"' in answer.text


def test_people_get_indented_json(session: Session) -> None:
    answer = session.request("GET", f"{CONFIGMAPS}/a", headers={"user-agent": "curl/8"})
    assert answer.text.startswith(b'{\n  "kind": "ConfigMap"')
    plain = session.request("GET", f"{CONFIGMAPS}/a?pretty=false", headers={"user-agent": "curl/8"})
    assert plain.text.startswith(b'{"kind"')


def test_yaml_is_sent_to_clients_that_accept_it(session: Session) -> None:
    answer = session.request("GET", f"{CONFIGMAPS}/a", headers={"accept": "application/yaml"})
    assert header(answer, "Content-Type") == ["application/yaml"]
    assert answer.text.startswith(b"apiVersion: v1\n")


@pytest.mark.parametrize(
    ("kind", "inside"), [("Table", "rows"), ("PartialObjectMetadata", "metadata")]
)
def test_one_object_is_given_in_the_form_that_is_asked_for(
    session: Session, kind: str, inside: str
) -> None:
    answer = session.request("GET", f"{CONFIGMAPS}/a", headers={"accept": FORM.format(kind)})
    assert answer.json()["kind"] == kind and inside in answer.json()


def test_a_refusal_is_json_whatever_was_asked_for(session: Session) -> None:
    headers = {"accept": FORM.format("Table")}
    answer = session.request("GET", f"{CONFIGMAPS}/none", headers=headers)
    assert (answer.status, answer.json()["kind"]) == (404, "Status")
    assert header(answer, "Content-Type") == ["application/json"]


def test_items_of_a_list_repeat_neither_kind_nor_version(session: Session) -> None:
    listed = session.request("GET", CONFIGMAPS).json()
    assert list(listed) == ["kind", "apiVersion", "metadata", "items"]
    assert all("kind" not in item and "apiVersion" not in item for item in listed["items"])


@pytest.mark.parametrize("path", [CONFIGMAPS, f"{CONFIGMAPS}/", "/version/", "/apis/"])
def test_a_slash_at_the_end_of_a_route_changes_nothing(session: Session, path: str) -> None:
    assert session.request("GET", path).status == 200


@pytest.mark.parametrize("path", ["/healthz/", "/metrics/", "//api/v1/pods", "/api//v1/pods"])
def test_another_slash_is_another_path(session: Session, path: str) -> None:
    assert session.request("GET", path).status == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api"), ("HEAD", "/api"), ("PUT", "/version"), ("DELETE", "/apis/apps/v1"),
     ("POST", "/openid/v1/jwks"), ("OPTIONS", CONFIGMAPS), ("HEAD", CONFIGMAPS)],
)  # fmt: skip
def test_a_method_without_a_route_is_not_allowed(session: Session, method: str, path: str) -> None:
    answer = session.request(method, path)
    assert answer.status == 405
    if method == "HEAD":
        assert answer.text == b""
        return
    assert (answer.json()["reason"], answer.json()["message"]) == (
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/", "/apis", "/apis/apps"])
def test_a_path_that_is_no_route_takes_any_method(session: Session, path: str) -> None:
    assert session.request("POST", path).status == 200


def test_a_content_type_is_read_whatever_its_case_and_parameters(session: Session) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"x"}}'
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert session.request("POST", CONFIGMAPS, body, headers=headers).status == 201


def test_a_percent_encoded_path_is_read(session: Session) -> None:
    assert session.request("GET", "/api/v1/namespaces/default/config%6Daps/a").status == 200


def test_the_body_of_a_create_is_json_when_nothing_is_said(session: Session) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"plain"}}'
    assert session.request("POST", CONFIGMAPS, body).status == 201


def test_a_repeated_key_is_warned_of(session: Session) -> None:
    body = b'{"metadata":{"name":"twice"},"data":{"k":"v"},"data":{"k":"w"}}'
    answer = session.request("POST", CONFIGMAPS, body)
    assert answer.status == 201
    assert header(answer, "Warning") == ['299 - "duplicate field \\"data\\""']


def test_a_body_too_large_is_the_edges_to_refuse_in_these_words() -> None:
    code, _, body = statuses.render(errors.too_large(3_145_728))
    assert code == 413 and b"Request entity too large: limit is 3145728" in body


def test_the_version_and_the_token_issuer_are_documents(session: Session) -> None:
    assert session.request("GET", "/version").json()["minor"] == "33"
    assert session.request("GET", "/openid/v1/jwks").json()["keys"]
    issuer = session.request("GET", "/.well-known/openid-configuration").json()
    assert issuer["issuer"] == "https://kubernetes.default.svc.cluster.local"
