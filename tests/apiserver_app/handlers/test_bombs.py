"""Requests made to cost more than they are worth: each is refused or answered soon, none breaks."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.serializer import bodies
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import (
    APPLY,
    CONFIGMAPS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    bare_session,
    configmap,
    pod,
)

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FREE = "/apis/bombs.example.com/v1/namespaces/default/frees"


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", **schema}},
    }
    names = {"plural": "frees", "kind": "Free"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "frees.bombs.example.com"},
        "spec": {
            "group": "bombs.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


def free(name: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "bombs.example.com/v1",
        "kind": "Free",
        "metadata": {"name": name},
        **more,
    }


def served(schema: dict[str, Any]) -> Session:
    session = bare_session()
    assert session.request("POST", DEFINITIONS, definition(schema)).status == 201
    session.wait(10)
    return session


@pytest.fixture(scope="module")
def session() -> Session:
    session = served(
        {
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}},
        }
    )
    assert session.request("POST", FREE, free("one")).status == 201
    assert session.request("POST", CONFIGMAPS, configmap("one", k="v")).status == 201
    assert session.request("POST", PODS, pod("one")).status == 201
    return session


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def test_a_pattern_that_backtracks_for_ever_elsewhere_takes_no_time(session: Session) -> None:
    answer = session.request("POST", FREE, free("slow", a="a" * 5000 + "!"))
    assert (answer.status, answer.json()["reason"]) == (422, "Invalid")


def test_a_pattern_that_go_does_not_take_is_refused_with_the_definition() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "(?=x)"}}}
    answer = bare_session().request("POST", DEFINITIONS, definition(schema))
    assert answer.status == 422
    assert "isn't: error parsing regexp: invalid or unsupported Perl" in answer.json()["message"]


@pytest.mark.parametrize("depth", [bodies.DEPTH_MAX, 200, 250, 900, 5000])
@pytest.mark.parametrize("form", [None, MERGE, APPLY])
def test_what_is_nested_too_deep_is_a_bad_request(
    session: Session, depth: int, form: dict[str, str] | None
) -> None:
    bare = b'{"apiVersion":"bombs.example.com/v1","kind":"Free","metadata":{"name":"one"},"spec":'
    body = bare + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    if form is None:
        answer = session.request("POST", FREE, body)
    else:
        answer = session.request("PATCH", f"{FREE}/one?fieldManager=me", body, headers=form)
    assert (answer.status, answer.json()["reason"]) == (400, "BadRequest")
    assert "exceeded max depth" in answer.json()["message"]


def test_what_may_be_nested_is_stored_and_read_back(session: Session) -> None:
    spec = nested(bodies.DEPTH_MAX - 10)
    assert session.request("POST", FREE, free("deep", spec=spec)).status == 201
    for accept in ("application/json", "application/yaml"):
        headers = {"accept": accept}
        assert session.request("GET", f"{FREE}/deep", headers=headers).status == 200
    assert session.request("GET", f"{FREE}/deep").json()["spec"] == spec
    again = {"op": "add", "path": "/spec" + "/a" * 60, "value": nested(90)}
    answer = session.request("PATCH", f"{FREE}/deep", [again], headers=JSON_PATCH)
    assert (answer.status, answer.json()["message"]) == (400, "json: exceeded max depth")


def test_an_object_larger_than_etcd_takes_is_refused_in_its_words(session: Session) -> None:
    answer = session.request("POST", FREE, free("large", k="v" * (1600 << 10)))
    assert (answer.status, answer.json()["message"]) == (500, "etcdserver: request is too large")
    assert session.request("GET", f"{FREE}/large").status == 404


def test_many_owners_and_many_elements_are_told_apart_in_no_time(session: Session) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x"}
    body = configmap("owned")
    body["metadata"]["ownerReferences"] = [{**owner, "uid": str(n)} for n in range(5000)]
    answer = session.request("POST", f"{CONFIGMAPS}?dryRun=All", body)
    assert answer.status == 201 and len(answer.json()["metadata"]["ownerReferences"]) == 5000
    many = [{"name": f"c{n}"} for n in range(3000)]
    wide = {"spec": {"containers": many, "$setElementOrder/containers": many}}
    answer = session.request("PATCH", f"{PODS}/one", wide, headers=STRATEGIC)
    assert answer.status == 422


def test_yaml_of_more_values_than_anybody_writes_is_refused(session: Session) -> None:
    body = b"data:\n" + b"".join(b"  k%d: v\n" % n for n in range(30_000))
    answer = session.request("POST", CONFIGMAPS, body, headers={"content-type": "application/yaml"})
    assert (answer.status, answer.json()["reason"]) == (400, "BadRequest")
    assert "document has more than 25000 values" in answer.json()["message"]
