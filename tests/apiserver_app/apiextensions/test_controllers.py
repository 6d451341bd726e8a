"""Controllers that look at every resource see custom resources come and go."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import CRONTABS, DEFINITIONS, NAME, crontab, define
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, configmap

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


@pytest.fixture
def session() -> Session:
    session = bare_session()
    define(session)
    return session


def owned(body: dict[str, Any], owner: dict[str, Any]) -> dict[str, Any]:
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
    ]
    return body


def test_what_a_custom_resource_owns_goes_with_it(session: Session) -> None:
    owner = session.request("POST", CRONTABS, crontab("owner")).json()
    session.request("POST", CONFIGMAPS, owned(configmap("mine"), owner))
    session.request("POST", CRONTABS, owned(crontab("child"), owner))
    session.request("DELETE", f"{CRONTABS}/owner")
    session.wait(5)
    assert session.request("GET", f"{CONFIGMAPS}/mine").status == 404
    assert session.request("GET", f"{CRONTABS}/child").status == 404


def test_what_is_left_as_an_orphan_loses_its_owner(session: Session) -> None:
    owner = session.request("POST", CRONTABS, crontab("owner")).json()
    session.request("POST", CRONTABS, owned(crontab("child"), owner))
    session.request("DELETE", f"{CRONTABS}/owner?propagationPolicy=Orphan")
    session.wait(5)
    child = session.request("GET", f"{CRONTABS}/child").json()
    assert not child["metadata"].get("ownerReferences")
    assert session.request("GET", f"{CRONTABS}/owner").status == 404


def test_a_namespace_takes_its_custom_resources_along(session: Session) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    session.request("POST", "/api/v1/namespaces", space)
    there = CRONTABS.replace("default", "team")
    assert session.request("POST", there, crontab("one")).status == 201
    session.request("DELETE", "/api/v1/namespaces/team")
    session.wait(20)
    assert session.request("GET", "/api/v1/namespaces/team").status == 404
    assert session.request("GET", there).json()["items"] == []


def test_a_quota_counts_custom_resources_by_name_and_group(session: Session) -> None:
    count = "count/crontabs.stable.example.com"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {count: "1"}},
    }
    session.request("POST", QUOTAS, quota)
    session.wait(2)
    assert session.request("POST", CRONTABS, crontab("one")).status == 201
    session.wait(2)
    assert session.request("GET", f"{QUOTAS}/few").json()["status"]["used"] == {count: "1"}
    refused = session.request("POST", CRONTABS, crontab("two"))
    assert refused.status == 403
    assert f"exceeded quota: few, requested: {count}=1, used: {count}=1" in refused.text.decode()


def test_a_definition_can_go_and_come_again(session: Session) -> None:
    session.request("POST", CRONTABS, crontab("one"))
    session.request("DELETE", f"{DEFINITIONS}/{NAME}")
    session.wait(10)
    define(session)
    owner = session.request("POST", CRONTABS, crontab("owner")).json()
    session.request("POST", CONFIGMAPS, owned(configmap("mine"), owner))
    session.request("DELETE", f"{CRONTABS}/owner")
    session.wait(5)
    assert session.request("GET", f"{CONFIGMAPS}/mine").status == 404
