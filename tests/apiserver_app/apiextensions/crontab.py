"""The CronTab of the Kubernetes documentation, and requests about it."""

from __future__ import annotations

import copy
from typing import Any

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import server_session

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "crontabs.stable.example.com"
CRONTABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["cronSpec"],
    "properties": {
        "cronSpec": {"type": "string", "pattern": r"^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$"},
        "image": {"type": "string", "default": "my-cron-image"},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
        "policy": {"type": "string", "enum": ["Allow", "Forbid"]},
        "port": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "env": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": "string", "default": "none"},
                },
            },
        },
        "tags": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "maxItems": 3,
            "items": {"type": "string", "maxLength": 8},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "note": {"type": "string", "nullable": True},
    },
}
STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "labelSelector": {"type": "string"}},
}
VERSION: dict[str, Any] = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {
        "openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
    },
    "subresources": {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.labelSelector",
        },
    },
    "additionalPrinterColumns": [
        {"name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec"},
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ],
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {
            "plural": "crontabs",
            "singular": "crontab",
            "kind": "CronTab",
            "shortNames": ["ct"],
            "categories": ["all"],
        },
        "versions": [VERSION],
    },
}


def definition(**names: Any) -> dict[str, Any]:
    """A copy of the definition; `names` go into spec.names."""
    out = copy.deepcopy(DEFINITION)
    out["spec"]["names"].update(names)
    if "plural" in names:
        out["metadata"]["name"] = f"{names['plural']}.{out['spec']['group']}"
    return out


def crontab(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": name},
        "spec": {"cronSpec": "* * * * */5", **spec},
    }


def define(session: Session, body: dict[str, Any] | None = None) -> Answer:
    """Create a definition and wait until its controllers have looked at it."""
    answer = session.request("POST", DEFINITIONS, body or DEFINITION)
    session.wait(3)
    return answer


def conditions(session: Session, name: str = NAME) -> dict[str, tuple[str, str, str]]:
    """type -> (status, reason, message)"""
    status = session.request("GET", f"{DEFINITIONS}/{name}").json().get("status") or {}
    return {
        condition["type"]: (
            condition["status"],
            condition.get("reason", ""),
            condition.get("message", ""),
        )
        for condition in status.get("conditions") or ()
    }


def session_with_crontabs() -> Session:
    session = server_session()
    assert define(session).status == 201
    return session
