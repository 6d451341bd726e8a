"""Patches of all four kinds, and queries, made up: never a bug, and what is stored reads back."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import hypothesis
import pytest
from hypothesis import strategies as st

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
from tests.conftest import FUZZ
from tests.fuzz import servererrors
from tests.fuzz.samples import examples

QUIET = hypothesis.settings(
    max_examples=examples(60) * FUZZ,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.generate],
)
NAMES = st.sampled_from((
    "metadata", "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "name",
    "data", "spec", "containers", "image", "env", "ports", "tolerations", "status", "uid",
    "$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers",
    "apiVersion", "kind", "", "a/b~c", "é",
))  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**40),
    st.floats(allow_nan=False),
    st.sampled_from(("", "merge", "replace", "delete", "v1", "Pod", "x", "\x00", "fuzzed")),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
MAPS = st.dictionaries(NAMES, VALUES, max_size=4)
POINTERS = st.lists(NAMES | st.sampled_from(("0", "-", "-1", "9")), max_size=4).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(("add", "remove", "replace", "move", "copy", "test", "zap"))},
    optional={"path": POINTERS, "from": POINTERS, "value": VALUES},
)
TEXTS = st.text(max_size=20) | st.sampled_from(("0", "1", "-1", "Exact", "NotOlderThan", "true"))
QUERIES = st.dictionaries(
    st.sampled_from((
        "labelSelector", "fieldSelector", "limit", "continue", "resourceVersion",
        "resourceVersionMatch", "timeoutSeconds", "pretty", "sendInitialEvents", "includeObject",
        "dryRun", "gracePeriodSeconds", "propagationPolicy", "fieldManager", "fieldValidation",
    )),
    TEXTS,
    max_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    session = bare_session()
    assert session.request("POST", CONFIGMAPS, configmap("fuzzed", k="v")).status == 201
    assert session.request("POST", PODS, pod("fuzzed")).status == 201
    return session


def asked(
    session: Session, method: str, path: str, body: Any = None, headers: Any = None
) -> tuple[int, Any]:
    answer = session.request(method, path, body, headers=headers or {})
    assert answer.done, f"{method} {path}: no answer to {body!r}"
    found = answer.json()
    assert answer.status < 500 or servererrors.is_upstreams(method, answer.text), (
        f"{body!r}: {found}"
    )
    assert answer.status < 400 or found["kind"] == "Status"
    return answer.status, found


def patch(session: Session, path: str, body: Any, headers: dict[str, str]) -> None:
    query = "?fieldManager=fuzz" if headers is APPLY else ""
    status, found = asked(session, "PATCH", f"{path}/fuzzed{query}", body, headers)
    if status == 200:
        assert asked(session, "GET", f"{path}/fuzzed") == (200, found)


@pytest.mark.parametrize("path", [CONFIGMAPS, PODS])
@pytest.mark.parametrize("headers", [MERGE, STRATEGIC, APPLY], ids=["merge", "strategic", "apply"])
def test_a_patch_is_refused_or_stored(session: Session, path: str, headers: Any) -> None:
    kind = {CONFIGMAPS: "ConfigMap", PODS: "Pod"}[path]

    @QUIET
    @hypothesis.given(body=MAPS, whole=st.booleans())
    def run(body: Any, whole: bool) -> None:
        if whole or headers is APPLY:
            body = {**body, "apiVersion": "v1", "kind": kind}
        patch(session, path, body, headers)

    run()


@pytest.mark.parametrize("path", [CONFIGMAPS, PODS])
def test_a_json_patch_is_refused_or_stored(session: Session, path: str) -> None:
    @QUIET
    @hypothesis.given(body=st.lists(OPERATIONS, max_size=5))
    def run(body: Any) -> None:
        patch(session, path, body, JSON_PATCH)

    run()


def test_a_query_is_refused_or_answered(session: Session) -> None:
    @QUIET
    @hypothesis.given(query=QUERIES, which=st.sampled_from((CONFIGMAPS, PODS, "/api/v1/nodes")))
    def run(query: dict[str, str], which: str) -> None:
        text = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
        status = session.request("GET", f"{which}?{text}").status
        assert status in (200, 400, 410, 422, 504), text

    run()
