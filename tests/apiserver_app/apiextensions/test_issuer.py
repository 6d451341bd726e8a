"""A definition as large operators have them: nested lists, unions, embedded resources."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import TABLE, define
from tests.apiserver_app.cluster import MERGE, server_session

ISSUERS = "/apis/pki.example.org/v1/issuers"
TEXT = {"type": "string"}
SECRET = {
    "type": "object",
    "required": ["name"],
    "x-kubernetes-map-type": "atomic",
    "properties": {"name": {**TEXT, "minLength": 1}, "key": {**TEXT, "default": "tls.key"}},
}
SOLVER = {
    "type": "object",
    "required": ["name"],
    "oneOf": [{"required": ["dns"]}, {"required": ["http"]}],
    "properties": {
        "name": TEXT,
        "dns": {
            "type": "object",
            "properties": {
                "provider": {**TEXT, "enum": ["route53", "cloud"]},
                "zones": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
                "credentials": SECRET,
            },
        },
        "http": {
            "type": "object",
            "properties": {
                "port": {"x-kubernetes-int-or-string": True, "default": 80},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        },
    },
}
SPEC = {
    "type": "object",
    "x-kubernetes-validations": [
        {"rule": "!has(self.renewBefore) || duration(self.renewBefore) < duration(self.duration)",
         "message": "must be renewed before it ends", "fieldPath": ".renewBefore"},
    ],
    "required": ["duration"],
    "properties": {
        "duration": {**TEXT, "default": "2160h"},
        "renewBefore": TEXT,
        "usages": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 4, "items": TEXT},
        "solvers": {
            "type": "array", "maxItems": 8, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"], "items": SOLVER,
        },
        "weights": {
            "type": "object", "maxProperties": 3,
            "additionalProperties": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        },
    },
}  # fmt: skip
CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        "type": TEXT,
        "status": TEXT,
        "reason": TEXT,
        "lastTransitionTime": {**TEXT, "format": "date-time"},
    },
}
STATUS = {
    "type": "object",
    "properties": {
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": CONDITION,
        }
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "issuers.pki.example.org"},
    "spec": {
        "group": "pki.example.org", "scope": "Cluster",
        "names": {"plural": "issuers", "kind": "Issuer"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "additionalPrinterColumns": [
                {"name": "Ready", "type": "string",
                 "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
                {"name": "Solvers", "type": "string", "jsonPath": ".spec.solvers[*].name"},
            ],
            "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": SPEC, "status": STATUS}}},
        }],
    },
}  # fmt: skip


def issuer(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name}
    return {
        "apiVersion": "pki.example.org/v1",
        "kind": "Issuer",
        "metadata": metadata,
        "spec": spec,
    }


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    answer = define(session, DEFINITION)
    assert answer.status == 201, answer.text
    return session


def test_defaults_reach_into_lists_and_embedded_resources_keep_what_they_have(
    session: Session,
) -> None:
    template = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "odd": 1},
        "spec": {"anything": [1, {"goes": True}]},
    }
    solvers = [
        {"name": "a", "dns": {"credentials": {"name": "s"}}, "odd": 1},
        {"name": "b", "http": {"template": template}},
    ]
    answer = session.request("POST", ISSUERS, issuer("whole", solvers=solvers)).json()
    first, second = answer["spec"]["solvers"]
    assert first == {"name": "a", "dns": {"credentials": {"name": "s", "key": "tls.key"}}}
    assert second["http"]["port"] == 80
    assert second["http"]["template"]["metadata"] == {"name": "x"}
    assert second["http"]["template"]["spec"] == {"anything": [1, {"goes": True}]}
    assert answer["spec"]["duration"] == "2160h"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"solvers": [{"name": "a"}]}, '<nil>: Invalid value: "": "spec.solvers[0]" must validate one '
     "and only one schema (oneOf). Found none valid"),
    ({"solvers": [{"name": "a", "dns": {"provider": "x"}}]}, "spec.solvers[0].dns.provider: "
     'Unsupported value: "x": supported values: "route53", "cloud"'),
    ({"solvers": [{"name": "a", "http": {"template": {"kind": "Pod"}}}]},
     "spec.solvers[0].http.template.apiVersion: Required value: must not be empty"),
    ({"weights": {"a": 0}}, "spec.weights.a: Invalid value: 0: spec.weights.a in body should be "
     "greater than 0"),
    ({"duration": "1h", "renewBefore": "2h"}, 'spec.renewBefore: Invalid value: "object": must be '
     "renewed before it ends"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "said"), REFUSED, ids=[case[1][:30] for case in REFUSED])
def test_what_is_wrong_deep_inside_is_found(
    session: Session, spec: dict[str, Any], said: str
) -> None:
    answer = session.request("POST", ISSUERS, issuer("wrong", **spec))
    assert answer.status == 422, answer.text
    assert said in answer.json()["message"]


def test_a_column_can_look_for_a_condition(session: Session) -> None:
    solvers = [{"name": "a", "dns": {}}]
    session.request("POST", ISSUERS, issuer("ready", solvers=solvers))
    status = {"status": {"conditions": [
        {"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}}  # fmt: skip
    session.request("PATCH", f"{ISSUERS}/ready/status", status, headers=MERGE)
    table = session.request("GET", f"{ISSUERS}/ready", headers=TABLE).json()
    assert table["rows"][0]["cells"] == ["ready", "True", "a"]
