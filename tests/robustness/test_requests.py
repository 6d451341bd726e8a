"""One request does not hold all others: what it may cost is judged before, or paid in steps."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest
import yaml

from apiserver_app import pipeline
from apiserver_app.cel import stepping
from apiserver_app.http.exchange import Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.patch import typedvalues
from apiserver_app.machinery.serializer import bodies
from apiserver_app.machinery.syntax import labels
from lifecycle.hosting import scripted
from lifecycle.hosting.scripted import Answer, Session
from lifecycle.hosting.worker import clusterhost
from tests.apiserver_app.cluster import (
    APPLY,
    CONFIGMAPS,
    JSON_PATCH,
    MERGE,
    bare_session,
    configmap,
)

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
NUMBERS = "[" + ",".join("1" for _ in range(40)) + "]"
COSTLY = f"{NUMBERS}.all(a, {NUMBERS}.all(b, {NUMBERS}.all(c, a * b * c == 1)))"
MANY = bodies.VALUES_MAX + 1


def policy(expressions: list[str]) -> dict[str, Any]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "costly"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression} for expression in expressions],
        },
    }


BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "costly"},
    "spec": {"policyName": "costly", "validationActions": ["Deny"]},
}


def test_costly_expressions_are_evaluated_in_steps_between_which_others_have_their_turn() -> None:
    session = bare_session()
    before = session.cluster.kernel.steps
    assert session.request("POST", CONFIGMAPS, configmap("cheap")).status == 201
    usual = session.cluster.kernel.steps - before
    path = f"{ADMISSION}/validatingadmissionpolicies"
    assert session.request("POST", path, policy([COSTLY] * 10)).status == 201
    path = f"{ADMISSION}/validatingadmissionpolicybindings"
    assert session.request("POST", path, BINDING).status == 201
    before = session.cluster.kernel.steps
    session.host.wall = itertools.count(step=0.001).__next__  # each step takes long
    costly = session.send("POST", CONFIGMAPS, configmap("a"))
    session.host.run_slice(0.0)
    assert not costly.done  # the slice is over, and others are let in
    other = session.request("GET", f"{CONFIGMAPS}/cheap", settle=False)
    assert other.status == 200 and not costly.done
    session.settle()
    assert costly.status == 201 and session.cluster.kernel.steps - before > usual + 10


def definition(rules: int) -> dict[str, Any]:
    written = [{"rule": f"self.a{n} != '{n}'"} for n in range(rules)]
    fields = {f"a{n}": {"type": "string"} for n in range(rules)}
    spec = {"type": "object", "properties": fields, "x-kubernetes-validations": written}
    schema = {"type": "object", "properties": {"spec": spec}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Cluster", "versions": [version]},
    }


def steps_of(session: Session, method: str, path: str, body: dict[str, Any]) -> int:
    before = session.cluster.kernel.steps
    assert session.request(method, path, body).status == 201
    return session.cluster.kernel.steps - before


@pytest.mark.parametrize("count", [40, 160])
def test_expressions_are_compiled_in_steps_when_they_are_written_and_when_they_are_used(
    count: int,
) -> None:
    session = bare_session()
    before = session.cluster.kernel.steps
    expressions = [f"object.metadata.name != 'a{n}'" for n in range(count)]
    path = f"{ADMISSION}/validatingadmissionpolicies"
    one_step = stepping.CHARACTERS // (stepping.EACH + len(expressions[0]))
    assert steps_of(session, "POST", path, policy(expressions)) > count // one_step
    path = f"{ADMISSION}/validatingadmissionpolicybindings"
    assert session.request("POST", path, BINDING).status == 201
    assert steps_of(session, "POST", CONFIGMAPS, configmap("a")) > count // one_step
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert steps_of(session, "POST", path, definition(count)) > count // one_step
    assert session.cluster.kernel.steps > before


def test_a_large_object_passes_one_gate_in_a_step() -> None:
    session = bare_session()
    large = configmap("large", text="x" * pipeline.LARGE_BYTES)
    steps = steps_of(session, "POST", CONFIGMAPS, large)
    assert steps > steps_of(session, "POST", CONFIGMAPS, configmap("small")) + 4
    before = session.cluster.kernel.steps
    patch = {"metadata": {"labels": {"a": "b"}}}
    path = f"{CONFIGMAPS}/large"
    assert session.request("PATCH", path, patch, headers=MERGE).status == 200
    assert session.cluster.kernel.steps - before > 4


def test_a_selector_of_too_many_requirements_is_refused() -> None:
    session = bare_session()
    terms = ",".join(f"k{n}!=v" for n in range(labels.REQUIREMENTS_MAX + 1))
    answer = session.request("GET", f"{CONFIGMAPS}?labelSelector={terms}")
    assert answer.status == 400 and "at most 200 are allowed" in answer.json()["message"]
    answer = session.request("GET", f"{CONFIGMAPS}?labelSelector={terms * 30}")
    assert answer.status == 400 and "may have 30000 characters" in answer.json()["message"]
    terms = terms.rpartition(",")[0]
    assert session.request("GET", f"{CONFIGMAPS}?labelSelector={terms}").status == 200
    many = [{"key": f"k{n}", "operator": "DoesNotExist"} for n in range(201)]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a"},
        "spec": {"maxUnavailable": 1, "selector": {"matchExpressions": many}},
    }
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    answer = session.request("POST", path, budget)
    assert answer.status == 422 and "must have at most 200 items" in answer.json()["message"]


def test_who_sends_many_requests_waits_behind_others_and_not_they_behind_him() -> None:
    session = bare_session()
    order: list[str] = []
    for number in range(50):
        offered(session, "student", f"{number}", order)
    offered(session, "viewer", "other", order)
    session.settle()
    assert order.index("other") <= 1 and len(order) == 51
    assert [one for one in order if one != "other"] == [str(number) for number in range(50)]


def test_not_all_that_wait_are_under_way_at_once() -> None:
    session, order = bare_session(), list[str]()
    mark = session.cluster.recorder.seq
    for number in range(3 * clusterhost.UNDER_WAY_MAX):
        offered(session, "student", f"{number}", order)
    session.settle()
    sides = {"request": 1, "response": -1}
    told = [sides.get(record["kind"], 0) for record in session.records() if record["seq"] > mark]
    assert max(itertools.accumulate(told)) == clusterhost.UNDER_WAY_MAX
    assert len(order) == 3 * clusterhost.UNDER_WAY_MAX


def offered(session: Session, user: str, name: str, order: list[str]) -> None:
    """A request that waits with others for a slice to take it in."""

    class Noted(Answer):
        def head(self, *args: Any, **more: Any) -> None:
            order.append(name)

    request = Request("GET", "/version", "", [], b"", scripted.identity(user))
    session.host.request(0, request, Noted(), user)


@pytest.fixture(scope="module")
def session() -> Session:
    session = bare_session()
    assert session.request("POST", CONFIGMAPS, configmap("here", a="b")).status == 201
    return session


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", CONFIGMAPS, {**configmap("a"), "data": {f"k{n}": "" for n in range(MANY)}}, None),
        ("POST", CONFIGMAPS, {**configmap("a"), "x": [1] * MANY}, None),
        ("PATCH", f"{CONFIGMAPS}/here", {"data": {f"k{n}": "" for n in range(MANY)}}, MERGE),
        (
            "PATCH",
            f"{CONFIGMAPS}/here",
            [{"op": "add", "path": "/data", "value": {f"k{n}": "" for n in range(MANY)}}],
            JSON_PATCH,
        ),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"x": [1] * MANY}, None),
    ],
)
def test_a_body_of_too_many_values_is_refused_before_it_costs(
    session: Session, method: str, path: str, body: Any, headers: dict[str, str] | None
) -> None:
    answer = session.request(method, path, body, headers=headers)
    assert answer.status == (400 if method == "PATCH" else 413)
    assert answer.json()["message"].endswith(
        f"Request entity too large: limit is {bodies.VALUES_MAX} fields and items"
    )


@pytest.mark.parametrize(
    "body",
    [
        orjson.dumps({"data": {f"k{n}": "" for n in range(MANY)}}),
        orjson.dumps([f'"{n}\\,{{' for n in range(MANY)]),
        orjson.dumps([","] * 4 * MANY),
        orjson.dumps([{}] * (bodies.PARTS_MAX + 1)),
    ],
    ids=["fields", "texts that look like more", "very many texts", "objects"],
)
def test_a_body_is_judged_before_it_is_parsed(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orjson, "loads", None)
    with pytest.raises(errors.ApiError, match="Request entity too large"):
        bodies.decode(body)


@pytest.mark.parametrize("text", ["1,2,3\n", '"{[,', "\\,{", '\\",[', "a:,"])
def test_what_stands_in_texts_is_not_counted(text: str) -> None:
    value = {"data": {"a": text * bodies.VALUES_MAX, "b": [text, "", '"']}}
    assert bodies.decode(orjson.dumps(value)) == (value, [])


def test_an_apply_of_more_fields_than_may_have_owners_is_refused(session: Session) -> None:
    path = f"{CONFIGMAPS}/applied?fieldManager=a"
    fields = {f"k{n}": "" for n in range(bodies.APPLIED_MAX)}
    answer = session.request("PATCH", path, {**configmap("applied"), "data": fields}, headers=APPLY)
    assert answer.status == 400
    assert answer.json()["message"].endswith("limit is 30000 fields and items")
    for _ in range(10):
        del fields[next(iter(fields))]
    answer = session.request("PATCH", path, {**configmap("applied"), "data": fields}, headers=APPLY)
    assert answer.status == 201


PORTS = [{"port": n + 1, "name": f"p{n}"} for n in range(typedvalues.ITEMS_MAX + 1)]
YAML = {"content-type": "application/yaml"}
SERVICES = "/api/v1/namespaces/default/services"


def service(ports: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "many"},
        "spec": {"ports": ports},
    }


def kept(count: int) -> dict[str, Any]:
    return {"metadata": {"name": "kept", "finalizers": [f"a.b/{n}" for n in range(count)]}}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", SERVICES, service(PORTS), None),
        ("POST", CONFIGMAPS, yaml.dump(kept(5001)).encode(), YAML),
        ("PATCH", f"{SERVICES}/many?fieldManager=a", service(PORTS), APPLY),
        ("PATCH", f"{SERVICES}/few", {"spec": {"ports": PORTS}}, MERGE),
        ("POST", CONFIGMAPS, kept(5001), None),
    ],
    ids=["create", "YAML", "apply", "patch", "a set"],
)
def test_lists_of_more_items_than_can_have_owners_are_refused(
    session: Session, method: str, path: str, body: Any, headers: dict[str, str] | None
) -> None:
    few = {**service(PORTS[:1]), "metadata": {"name": "few"}}
    assert session.request("POST", SERVICES, few).status in (201, 409)
    answer = session.request(method, path, body, headers=headers)
    assert answer.status == 413
    assert answer.json()["message"].endswith("limit is 5000 items of lists with owners")


def test_lists_do_not_grow_past_what_can_have_owners_by_small_patches(session: Session) -> None:
    assert session.request("POST", SERVICES, service(PORTS[:2500])).status == 201
    path = f"{SERVICES}/many"
    strategic = {"content-type": "application/strategic-merge-patch+json"}
    for ports, status in ((PORTS[2500:5000], 200), (PORTS[5000:], 413)):
        answer = session.request("PATCH", path, {"spec": {"ports": ports}}, headers=strategic)
        assert answer.status == status


def test_a_body_within_the_bounds_is_taken(session: Session) -> None:
    data = {f"k{n}": "v" for n in range(30_000)}
    body = orjson.dumps({**configmap("large"), "data": data})
    assert session.request("POST", CONFIGMAPS, body).status == 201
