"""Paths nobody documented and parameters of the wrong kind, on built-in and custom resources."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import hypothesis
import pytest
from hypothesis import strategies as st

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import CRONTABS, crontab, session_with_crontabs
from tests.apiserver_app.cluster import CONFIGMAPS, MERGE, PODS, configmap, pod
from tests.conftest import FUZZ
from tests.fuzz import servererrors
from tests.fuzz.samples import examples

STEPS = st.sampled_from((
    "api", "apis", "v1", "apps", "stable.example.com", "namespaces", "default", "pods",
    "configmaps", "crontabs", "fuzzed", "status", "scale", "log", "exec", "proxy", "watch", "",
    ".", "..", "%2f", "%00", "%FF", "*", "openapi", "v2", "v3", "healthz", "metrics", "finalize",
    "binding", "token",
))  # fmt: skip
PATHS = st.lists(STEPS, max_size=8).map(lambda steps: "/" + "/".join(steps))
METHODS = st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FOO"))
BODIES = st.sampled_from((b"", b"{}", b"[]", b"null", b"{nope", b"\xff", b'{"kind":"Pod"}'))
ODD = (
    "",
    "-1",
    "0",
    "abc",
    "1.5",
    "9" * 20,
    "9" * 5000,
    " ",
    "\x00",
    "é",
    "!!!",
    "a,b",
    "(",
    "true",
)
NAMES = (
    "limit", "timeoutSeconds", "resourceVersion", "resourceVersionMatch", "continue", "dryRun",
    "fieldSelector", "labelSelector", "propagationPolicy", "gracePeriodSeconds", "timeout", "force",
    "orphanDependents", "fieldManager", "fieldValidation", "pretty", "sendInitialEvents",
    "container", "tailLines", "limitBytes", "sinceSeconds", "sinceTime", "command", "ports",
    "stdin",
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    session = session_with_crontabs()
    for path, body in (
        (CRONTABS, crontab("fuzzed", replicas=1)),
        (CONFIGMAPS, configmap("fuzzed")),
        (PODS, pod("fuzzed")),
    ):
        assert session.request("POST", path, body).status == 201
    return session


def check(session: Session, method: str, path: str, body: Any = None) -> None:
    answer = session.request(method, path, body, headers=MERGE if method == "PATCH" else None)
    if not answer.done:
        answer.cancel()
        return
    upstreams = answer.status == 500 and servererrors.is_upstreams(method, answer.text)
    assert upstreams or 100 <= answer.status < 500, (path, answer.text)
    if answer.status >= 400 and method != "HEAD" and b'"kind"' in answer.text:
        assert answer.json()["kind"] == "Status", (path, answer.text)


def test_any_path_is_answered(session: Session) -> None:
    @hypothesis.settings(max_examples=examples(300) * FUZZ)
    @hypothesis.given(METHODS, PATHS, BODIES)
    def run(method: str, path: str, body: bytes) -> None:
        check(session, method, path, body)

    run()


def test_any_parameter_is_read_or_refused(session: Session) -> None:
    places = [("GET", path) for path in (CONFIGMAPS, CRONTABS)]
    places += [
        (method, f"{path}/{name}")
        for path in (CONFIGMAPS, CRONTABS, PODS)
        for method, name in (("GET", "fuzzed"), ("PATCH", "fuzzed"), ("DELETE", "none"))
    ]
    places += [("GET", f"{PODS}/fuzzed/{one}") for one in ("log", "exec", "portforward", "attach")]

    @hypothesis.settings(max_examples=examples(300) * FUZZ)
    @hypothesis.given(
        st.sampled_from(places), st.sampled_from(NAMES), st.sampled_from(ODD), st.booleans()
    )
    def run(place: tuple[str, str], name: str, value: str, watch: bool) -> None:
        query = f"{name}={quote(value, safe='')}" + "&watch=1" * watch
        check(session, place[0], f"{place[1]}?{query}", b"{}" if place[0] == "PATCH" else None)

    run()
