"""Requests to a whole cluster in virtual time, in the few words that tests need."""

from __future__ import annotations

from typing import Any

import orjson

from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests import builders

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"

MERGE = {"content-type": "application/merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


def bare_session(**inputs: Any) -> Session:
    """A cluster without nodes: nothing happens to a pod but what a test does to it."""
    return Session(default_inputs(nodes=0, **inputs))


def configmap(name: str, **more: Any) -> dict[str, Any]:
    """`labels` goes into the metadata, everything else into the data."""
    labels = more.pop("labels", None)
    metadata = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": more}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return builders.pod(name, container="main", labels={"app": name}, **spec)


def events(answer: Answer) -> list[tuple[str, Any]]:
    """The lines of a watch as (type, object)."""
    lines = [orjson.loads(line) for line in answer.text.splitlines() if line]
    return [(line["type"], line["object"]) for line in lines]


def told(answer: Answer) -> list[tuple[str, str]]:
    """The lines of a watch as (type, name)."""
    return [(kind, obj["metadata"].get("name", "")) for kind, obj in events(answer)]


def header(answer: Answer, name: str) -> list[str]:
    return [value for key, value in answer.headers if key.lower() == name.lower()]


def last_gates(session: Session) -> list[tuple[str, str]]:
    """The gates of the last outside request and what each decided."""
    records = session.records()
    span = [one["seq"] for one in records if one["kind"] == "request" and one["outside"]][-1]
    return [
        (one["gate"], one["verdict"])
        for one in records
        if one["kind"] == "gate" and one["span"] == span
    ]
