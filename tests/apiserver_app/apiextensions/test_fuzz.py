"""Any schema and any object get an answer that is the client's fault or a success, never a 5xx."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.apiextensions.crontab import (
    CRONTABS,
    DEFINITION,
    DEFINITIONS,
    NAME,
    TABLE,
    crontab,
    session_with_crontabs,
)
from tests.apiserver_app.cluster import APPLY, JSON_PATCH, MERGE, bare_session
from tests.fuzz.samples import examples

NAMES = st.sampled_from(
    ["cronSpec", "image", "replicas", "env", "tags", "labels", "free", "note", "port", "a.b", ""]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "", "odd"])
EXTENSIONS = st.sampled_from(
    [
        {"x-kubernetes-preserve-unknown-fields": True}, {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-embedded-resource": True}, {"x-kubernetes-list-type": "set"},
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["image"]},
        {"x-kubernetes-map-type": "atomic"}, {"nullable": True}, {"maximum": 3}, {"minItems": 1},
        {"maxLength": 2}, {"pattern": "^a(b"}, {"pattern": "^[[:alpha:]]+$"}, {"format": "date"},
        {"enum": ["a", 1]}, {"multipleOf": 0.5}, {"uniqueItems": True}, {"required": ["image"]},
        {"x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
        {"x-kubernetes-validations": [{"rule": "size(self) > 0"}]},
        {"oneOf": [{"required": ["image"]}, {"required": ["note"]}]}, {"not": {}}, {},
    ]
)  # fmt: skip


def schema_of(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, below, max_size=3),
            "items": below,
            "additionalProperties": below | st.booleans(),
            "default": VALUES,
            "anyOf": st.lists(below, max_size=2),
        },
    )
    return st.builds(
        lambda kind, one, two, more: {"type": kind, **one, **two, **more},
        TYPES,
        EXTENSIONS,
        EXTENSIONS,
        parts,
    )


SCHEMAS = st.recursive(
    st.builds(lambda kind, more: {"type": kind, **more}, TYPES, EXTENSIONS), schema_of, max_leaves=6
)
QUIETLY = settings(
    max_examples=examples(60),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def session() -> Session:
    session = session_with_crontabs()
    session.request("POST", CRONTABS, crontab("there"))
    return session


def send(
    session: Session, method: str, path: str, body: Any, headers: dict[str, str] | None = None
) -> Answer:
    """JSON as the standard library writes it: with numbers of any size."""
    sent = headers or {"content-type": "application/json"}
    return session.request(method, path, json.dumps(body).encode(), headers=sent)


@QUIETLY
@given(spec=VALUES, metadata=VALUES)
def test_no_object_is_the_servers_fault(session: Session, spec: Any, metadata: Any) -> None:
    body: Any = {**crontab("any"), "spec": spec}
    create, there = f"{CRONTABS}?dryRun=All", f"{CRONTABS}/there"
    answers = [
        send(session, "POST", create, body),
        send(session, "POST", create, {**body, "metadata": metadata}),
        send(session, "PATCH", there, {"spec": spec}, MERGE),
        send(session, "PATCH", there, [{"op": "add", "path": "/spec", "value": spec}], JSON_PATCH),
        send(session, "PATCH", f"{there}/status", {"status": spec}, MERGE),
        session.request("GET", there, headers=TABLE),
    ]
    assert [answer.text for answer in answers if answer.status >= 500] == []


@QUIETLY
@given(schema=SCHEMAS, spec=VALUES)
def test_no_schema_is_the_servers_fault(schema: Any, spec: Any) -> None:
    session = _session()
    body = copy.deepcopy(DEFINITION)
    version = body["spec"]["versions"][0]
    version["subresources"] = {"status": {}}
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema
    answer = send(session, "POST", DEFINITIONS, body)
    assert answer.status < 500, answer.text
    if answer.status != 201:
        return
    session.wait(3)
    body = {**crontab("any"), "spec": spec}
    created = send(session, "POST", CRONTABS, body)
    assert created.status < 500, created.text
    applied = send(session, "PATCH", f"{CRONTABS}/any?fieldManager=x&force=true", body, APPLY)
    # what cannot be typed is an error of the server upstream, too
    assert applied.status < 500 or b"failed to create typed patch object" in applied.text
    assert session.request("GET", CRONTABS).status == 200
    assert session.request("GET", "/openapi/v3/apis/stable.example.com/v1").status == 200
    session.request("DELETE", f"{DEFINITIONS}/{NAME}")
    session.wait(6)


_KEPT: list[Session] = []


def _session() -> Session:
    """One cluster for all examples; each takes its definition along."""
    if not _KEPT:
        _KEPT.append(bare_session())
    return _KEPT[0]
