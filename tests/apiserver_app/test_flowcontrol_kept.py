"""The flow schemas and priority levels that every cluster has come back."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import MERGE, header, server_session

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
LEVELS, SCHEMAS = f"{GROUP}/prioritylevelconfigurations", f"{GROUP}/flowschemas"
AUTO = "apf.kubernetes.io/autoupdate-spec"


@pytest.fixture(scope="module")
def session() -> Session:
    return server_session()


def spec(session: Session, path: str) -> dict[str, Any]:
    return dict(session.request("GET", path).json()["spec"])


def test_what_is_deleted_is_made_again_within_a_minute(session: Session) -> None:
    for path in (f"{LEVELS}/catch-all", f"{SCHEMAS}/catch-all", f"{SCHEMAS}/service-accounts"):
        assert session.request("DELETE", path).status == 200
    session.wait(61)
    for path in (f"{LEVELS}/catch-all", f"{SCHEMAS}/catch-all", f"{SCHEMAS}/service-accounts"):
        assert session.request("GET", path).status == 200, path
    schema = session.request("GET", f"{SCHEMAS}/exempt").json()["metadata"]["uid"]
    level = session.request("GET", f"{LEVELS}/exempt").json()["metadata"]["uid"]
    answer = session.request("GET", f"{SCHEMAS}/catch-all")
    assert header(answer, "x-kubernetes-pf-flowschema-uid") == [schema]
    assert header(answer, "x-kubernetes-pf-prioritylevel-uid") == [level]


def test_a_mandatory_one_gets_its_spec_back(session: Session) -> None:
    before = spec(session, f"{SCHEMAS}/catch-all")
    change = {"spec": {"matchingPrecedence": 9999}, "metadata": {"annotations": {AUTO: "false"}}}
    session.request("PATCH", f"{SCHEMAS}/catch-all", change, headers=MERGE)
    session.wait(61)
    after = session.request("GET", f"{SCHEMAS}/catch-all").json()
    assert after["spec"] == before
    assert after["metadata"]["annotations"][AUTO] == "true"


def test_a_suggested_one_stays_as_a_user_made_it(session: Session) -> None:
    change = {"spec": {"matchingPrecedence": 8999}, "metadata": {"annotations": {AUTO: "false"}}}
    session.request("PATCH", f"{SCHEMAS}/service-accounts", change, headers=MERGE)
    session.wait(61)
    assert spec(session, f"{SCHEMAS}/service-accounts")["matchingPrecedence"] == 8999
    change["metadata"] = {"annotations": {AUTO: "true"}}
    session.request("PATCH", f"{SCHEMAS}/service-accounts", change, headers=MERGE)
    session.wait(61)
    assert spec(session, f"{SCHEMAS}/service-accounts")["matchingPrecedence"] == 9000


def test_nothing_is_written_when_all_is_there() -> None:
    quiet = server_session()
    before = quiet.cluster.cache.generation("flowschemas.flowcontrol.apiserver.k8s.io")
    quiet.wait(130)
    assert quiet.cluster.cache.generation("flowschemas.flowcontrol.apiserver.k8s.io") == before
