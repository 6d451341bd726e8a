"""MutatingAdmissionPolicy on the real pipeline: what users write in CEL is done to the object."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, server_session

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE: Object = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


@pytest.fixture(scope="module")
def newer() -> Session:
    return server_session(version="1.36")


def applies(text: str) -> Object:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def patches(text: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


class Policies:
    """Policies that are gone when the test is over."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.names: list[str] = []

    def make(self, name: str, *mutations: Object, **spec: Any) -> Answer:
        made = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [RULE]},
                "mutations": list(mutations),
                "reinvocationPolicy": "Never",
                **spec,
            },
        }
        return self.session.request("POST", f"{GROUP}/mutatingadmissionpolicies", made)

    def bind(self, name: str, *mutations: Object, **spec: Any) -> None:
        answer = self.make(name, *mutations, **spec)
        assert answer.status == 201, answer.text
        bound = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name},
        }
        answer = self.session.request("POST", f"{GROUP}/mutatingadmissionpolicybindings", bound)
        assert answer.status == 201, answer.text
        self.names.append(name)

    def create(self, name: str = "one", **labels: str) -> Answer:
        self.session.request("DELETE", f"{CONFIGMAPS}/{name}")
        return self.session.request("POST", CONFIGMAPS, configmap(name, labels=labels))

    def close(self) -> None:
        for name in self.names:
            for kind in ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"):
                self.session.request("DELETE", f"{GROUP}/{kind}/{name}")


@pytest.fixture
def policies(newer: Session) -> Any:
    made = Policies(newer)
    yield made
    made.close()


def test_apply_configuration_is_merged(policies: Policies) -> None:
    policies.bind(
        "mark",
        applies(
            'Object{metadata: Object.metadata{labels: Object.metadata.labels{env: "prod", '
            "`example.com/name`: object.metadata.name}}}"
        ),
    )
    stored = policies.create(app="web").json()
    assert stored["metadata"]["labels"] == {"app": "web", "env": "prod", "example.com/name": "one"}
    record = next(
        one
        for one in policies.session.records()
        if one["kind"] == "plugin" and one["plugin"] == "MutatingAdmissionPolicy"
    )
    assert record["verdict"] == "change" and record["why"] == "applied: mark"
    (told,) = record["detail"]["policies"]
    assert told["policy"] == "mark" and told["mutations"][0]["patchType"] == "ApplyConfiguration"


def test_json_patch_is_carried_out_unless_its_test_fails(policies: Policies) -> None:
    policies.bind(
        "patch",
        patches(
            '[JSONPatch{op: "test", path: "/metadata/labels/app", value: "web"}, '
            'JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a.b/c"), '
            'value: "yes"}]'
        ),
    )
    assert policies.create(app="web").json()["metadata"]["labels"] == {"a.b/c": "yes", "app": "web"}
    assert policies.create(app="db").json()["metadata"]["labels"] == {"app": "db"}


def test_mutations_see_what_those_before_them_did(policies: Policies) -> None:
    policies.bind(
        "two",
        patches('[JSONPatch{op: "add", path: "/data", value: {"n": "1"}}]'),
        patches('[JSONPatch{op: "add", path: "/data/m", value: object.data.n + "2"}]'),
    )
    assert policies.create().json()["data"] == {"m": "12", "n": "1"}


def test_policy_that_asks_for_it_is_evaluated_again_after_a_change(policies: Policies) -> None:
    count = (
        "[JSONPatch{op: 'add', path: '/metadata/labels/rounds', value: "
        "object.metadata.labels[?'rounds'].orValue('') + 'x'}]"
    )
    policies.bind("a-count", patches(count), reinvocationPolicy="IfNeeded")
    once = patches("[JSONPatch{op: 'add', path: '/metadata/labels/set', value: 'yes'}]")
    policies.bind("b-set", once)
    assert policies.create(app="web").json()["metadata"]["labels"]["rounds"] == "xx"


def test_error_of_a_mutation_refuses_unless_failures_are_ignored(policies: Policies) -> None:
    wrong = applies("Object{data: Object.metadata{a: object.nothing}}")
    policies.bind("wrong", wrong)
    answer = policies.create()
    assert answer.status == 403
    assert answer.json()["message"] == (
        "policy 'wrong' with binding 'wrong' denied request: expression 'Object{data: "
        "Object.metadata{a: object.nothing}}' resulted in error: no such key: nothing"
    )
    policies.close()
    policies.bind("ignored", wrong, failurePolicy="Ignore")
    assert policies.create().status == 201


def test_type_name_must_match_the_field_it_stands_for(policies: Policies) -> None:
    policies.bind("named", applies("Object{metadata: Object.spec{name: 'a'}}"))
    assert (
        policies.create()
        .json()["message"]
        .endswith(
            'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which '
            "matches field name path from root Object type"
        )
    )


def test_mutation_of_another_type_is_refused(policies: Policies) -> None:
    answer = policies.make("broken", applies("1"), patches("Object{}"))
    assert [cause["message"] for cause in answer.json()["details"]["causes"]] == [
        'Invalid value: "1": must evaluate to Object but got int',
        'Invalid value: "Object{}": must evaluate to list(JSONPatch) but got Object',
    ]


@pytest.mark.parametrize(
    ("value", "held"), [("b'\\xff\\x00'", "/wA="), ("string(duration('90s'))", "90s"), ("'x'", "x")]
)
def test_values_are_stored_as_json_has_them(policies: Policies, value: str, held: str) -> None:
    policies.bind("data", applies(f"Object{{data: Object.data{{k: {value}}}}}"))
    assert policies.create().json()["data"]["k"] == held


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{1: 'a'}", 'map key "1" is of type types.Int, not string'),
        ("double('NaN')", "json: unsupported value: NaN"),
    ],
)
def test_values_that_json_has_not_refuse(policies: Policies, value: str, why: str) -> None:
    policies.bind("data", patches(f"[JSONPatch{{op: 'add', path: '/data', value: {value}}}]"))
    answer = policies.create()
    assert answer.status == 403 and answer.json()["message"].endswith(f"denied request: {why}")
