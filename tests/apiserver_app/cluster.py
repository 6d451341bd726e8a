"""Requests to a whole cluster in virtual time, in the few words that tests need."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Collection
from typing import Any

import orjson

from apiserver_app.etcd.backend import Backend, MemoryBackend
from apiserver_app.machinery import releases
from lifecycle.cluster.inputs import Inputs
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
    return started_session(nodes=0, **inputs)


def server_session(version: str = str(releases.DEFAULT), **more: Any) -> Session:
    """The API server of such a cluster, with nobody beside it: no controller, no scheduler. What
    they make at a first start is there; that start had no flags. A quarter of the time."""
    given, backend = _started(nodes=0, version=version)
    return Session(dataclasses.replace(given, **more), copied(backend), runs=())


def started_session(*, runs: Collection[str] | None = None, **inputs: Any) -> Session:
    """A cluster that goes on where one of the same inputs stood after its first start, which takes
    half the time; beside its API server only `runs`, if they are named."""
    given, backend = _started(**inputs)
    return Session(given, copied(backend), runs=runs)


@functools.cache
def _started(**inputs: Any) -> tuple[Inputs, Backend]:
    session = Session(default_inputs(**inputs))
    return session.inputs, session.backend


def copied(backend: Backend) -> MemoryBackend:
    """The same once more: what goes on there changes nothing here."""
    made, state = MemoryBackend(), backend.load()
    assert state is not None
    rows, trace = list(backend.since("", 0)), list(backend.segments(1, state.seq))
    made.commit(copy.deepcopy(state), rows, trace, list(backend.inputs()))
    return made


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
    span = [
        record["seq"] for record in records if record["kind"] == "request" and record["outside"]
    ][-1]
    return [
        (record["gate"], record["verdict"])
        for record in records
        if record["kind"] == "gate" and record["span"] == span
    ]
