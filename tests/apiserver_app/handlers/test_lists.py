"""Lists: selectors, pages, and which revision they show."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import CONFIGMAPS, MERGE, PODS, configmap, pod, server_session


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json()["items"]]


def filled(count: int) -> Session:
    session = server_session()
    for number in range(count):
        body = configmap(f"c{number}", labels={"n": str(number), "odd": str(number % 2)})
        session.request("POST", CONFIGMAPS, body)
    return session


@pytest.fixture(scope="module")
def seven() -> Session:
    return filled(7)


OURS = "labelSelector=n"  # not the root CA's


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("labelSelector=odd=1", ["c1", "c3", "c5"]),
        ("labelSelector=odd!=1,n", ["c0", "c2", "c4", "c6"]),
        ("labelSelector=n+in+(1,4)", ["c1", "c4"]),
        ("labelSelector=n,n+notin+(0,1,2,3,4)", ["c5", "c6"]),
        ("fieldSelector=metadata.name=c3", ["c3"]),
        ("fieldSelector=metadata.name!=c3&labelSelector=odd=1", ["c1", "c5"]),
        ("fieldSelector=metadata.namespace=other", []),
    ],
)
def test_selectors_choose(seven: Session, query: str, found: list[str]) -> None:
    assert names(seven.request("GET", f"{CONFIGMAPS}?{query}")) == found


def test_a_selector_that_means_nothing_is_a_bad_request(seven: Session) -> None:
    answer = seven.request("GET", f"{CONFIGMAPS}?fieldSelector=spec.color=red")
    assert (answer.status, answer.json()["reason"]) == (400, "BadRequest")


def test_pages_follow_on_each_other_at_one_revision(seven: Session) -> None:
    first = seven.request("GET", f"{CONFIGMAPS}?{OURS}&limit=3").json()
    token = first["metadata"]["continue"]
    seven.request("POST", CONFIGMAPS, configmap("c2a", labels={"n": "new"}))
    seven.request("DELETE", f"{CONFIGMAPS}/c2a")
    second = seven.request("GET", f"{CONFIGMAPS}?{OURS}&limit=3&continue={token}").json()
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    rest = second["metadata"]["continue"]
    third = seven.request("GET", f"{CONFIGMAPS}?{OURS}&limit=3&continue={rest}").json()
    pages = [
        [item["metadata"]["name"] for item in page["items"]] for page in (first, second, third)
    ]
    assert pages == [["c0", "c1", "c2"], ["c3", "c4", "c5"], ["c6"]]
    assert "continue" not in third["metadata"]


def test_a_page_shows_what_was_there_when_the_first_was_given() -> None:
    session = filled(3)
    first = session.request("GET", f"{CONFIGMAPS}?limit=1").json()
    session.request("DELETE", f"{CONFIGMAPS}/c2")
    session.request("POST", CONFIGMAPS, configmap("c1a"))
    token = first["metadata"]["continue"]
    rest = session.request("GET", f"{CONFIGMAPS}?continue={token}")
    assert [name for name in names(rest) if name.startswith("c")] == ["c1", "c2"]


def test_only_a_page_without_selectors_says_how_many_remain(seven: Session) -> None:
    plain = seven.request("GET", f"{CONFIGMAPS}?limit=3").json()["metadata"]
    assert plain["remainingItemCount"] == 5, "of seven and the root CA's"
    chosen = seven.request("GET", f"{CONFIGMAPS}?{OURS}&limit=3").json()["metadata"]
    assert "remainingItemCount" not in chosen


def test_a_page_behind_the_compaction_is_gone_and_gets_an_inconsistent_token() -> None:
    session = filled(4)
    first = session.request("GET", f"{CONFIGMAPS}?{OURS}&limit=2").json()
    session.request("DELETE", f"{CONFIGMAPS}/c3")
    store = session.cluster.store
    store.compact(store.revision)
    token = first["metadata"]["continue"]
    answer = session.request("GET", f"{CONFIGMAPS}?{OURS}&limit=2&continue={token}")
    status = answer.json()
    assert (answer.status, status["reason"]) == (410, "Expired")
    assert "Continuing with the provided token results in an inconsistent list" in status["message"]
    again = status["metadata"]["continue"]
    rest = session.request("GET", f"{CONFIGMAPS}?{OURS}&limit=2&continue={again}")
    assert names(rest) == ["c2"]
    assert rest.json()["metadata"]["resourceVersion"] == str(store.revision)


def test_an_exact_revision_behind_the_compaction_is_gone() -> None:
    session = filled(1)
    revision = session.cluster.store.revision
    session.request("PATCH", f"{CONFIGMAPS}/c0", {"data": {"k": "v"}}, headers=MERGE)
    session.cluster.store.compact(session.cluster.store.revision)
    query = f"resourceVersion={revision}&resourceVersionMatch=Exact"
    answer = session.request("GET", f"{CONFIGMAPS}?{query}")
    assert (answer.status, answer.json()["message"]) == (
        410,
        "The resourceVersion for the provided list is too old.",
    )


def test_an_old_revision_is_shown_exactly_when_asked_for_exactly() -> None:
    session = filled(2)
    revision = session.cluster.store.revision
    session.request("DELETE", f"{CONFIGMAPS}/c0")
    exact = f"{OURS}&resourceVersion={revision}&resourceVersionMatch=Exact"
    answer = session.request("GET", f"{CONFIGMAPS}?{exact}")
    assert names(answer) == ["c0", "c1"]
    assert answer.json()["metadata"]["resourceVersion"] == str(revision)
    for query in (f"resourceVersion={revision}", "resourceVersion=0", ""):
        assert names(session.request("GET", f"{CONFIGMAPS}?{OURS}&{query}")) == ["c1"]
    not_older = f"{OURS}&resourceVersion={revision}&resourceVersionMatch=NotOlderThan"
    assert names(session.request("GET", f"{CONFIGMAPS}?{not_older}")) == ["c1"]
    paged = f"{OURS}&resourceVersion={revision}&limit=5"
    assert names(session.request("GET", f"{CONFIGMAPS}?{paged}")) == ["c0", "c1"]


def test_the_watch_cache_gives_no_pages(seven: Session) -> None:
    answer = seven.request("GET", f"{CONFIGMAPS}?{OURS}&limit=2&resourceVersion=0")
    assert len(names(answer)) == 7 and "continue" not in answer.json()["metadata"]


@pytest.mark.parametrize(
    "match", ["", "&resourceVersionMatch=NotOlderThan", "&limit=1", "&resourceVersionMatch=Exact"]
)
def test_a_revision_yet_to_come_is_too_large(seven: Session, match: str) -> None:
    answer = seven.request("GET", f"{CONFIGMAPS}?resourceVersion=99999{match}")
    status = answer.json()
    revision = seven.cluster.store.revision
    assert (answer.status, status["reason"], status["message"]) == (
        504,
        "Timeout",
        f"Timeout: Too large resource version: 99999, current: {revision}",
    )
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_a_get_from_a_revision_yet_to_come_is_too_large(seven: Session) -> None:
    assert seven.request("GET", f"{CONFIGMAPS}/c0?resourceVersion=99999").status == 504
    assert seven.request("GET", f"{CONFIGMAPS}/c0?resourceVersion=0").status == 200


FORBIDDEN = 'ListOptions.meta.k8s.io "" is invalid: '


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("resourceVersionMatch=Exact", 422, f"{FORBIDDEN}resourceVersionMatch: Forbidden: "
         "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("resourceVersion=1&resourceVersionMatch=Odd", 422, f"{FORBIDDEN}resourceVersionMatch: "
         'Unsupported value: "Odd": supported values: "Exact", "NotOlderThan", ""'),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, f"{FORBIDDEN}resourceVersionMatch: "
         'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
        ("sendInitialEvents=true", 422, f"{FORBIDDEN}sendInitialEvents: Forbidden: "
         "sendInitialEvents is forbidden for list"),
        ("resourceVersion=x", 400, 'invalid resource version: resourceVersion: Invalid value: "x": '
         'strconv.ParseUint: parsing "x": invalid syntax'),
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("continue=x!", 400, "invalid continue token: continue key is not valid: "
         "illegal base64 data at input byte 1"),
    ],
)  # fmt: skip
def test_list_options_that_contradict_are_refused(
    seven: Session, query: str, code: int, message: str
) -> None:
    answer = seven.request("GET", f"{CONFIGMAPS}?{query}")
    assert (answer.status, answer.json()["message"]) == (code, message)


def test_a_page_names_no_revision_of_its_own(seven: Session) -> None:
    token = seven.request("GET", f"{CONFIGMAPS}?limit=1").json()["metadata"]["continue"]
    answer = seven.request("GET", f"{CONFIGMAPS}?limit=1&continue={token}&resourceVersion=5")
    assert (answer.status, answer.json()["message"]) == (
        400,
        "specifying resource version is not allowed when using continue",
    )
    assert (
        seven.request("GET", f"{CONFIGMAPS}?limit=1&continue={token}&resourceVersion=0").status
        == 200
    )


def test_pods_are_found_by_node_and_phase() -> None:
    session = server_session()
    for name, node in (("a", "node-1"), ("b", "node-2")):
        session.request("POST", PODS, pod(name, nodeName=node))
    for query, found in (("spec.nodeName=node-1", ["a"]), ("status.phase=Pending", ["a", "b"])):
        assert names(session.request("GET", f"{PODS}?fieldSelector={quote(query)}")) == found


@pytest.mark.parametrize("accept", ["Table", "PartialObjectMetadataList"])
def test_a_list_is_given_in_the_form_that_is_asked_for(seven: Session, accept: str) -> None:
    headers = {"accept": f"application/json;as={accept};v=v1;g=meta.k8s.io"}
    listed: Any = seven.request("GET", f"{CONFIGMAPS}?{OURS}", headers=headers).json()
    assert (listed["kind"], listed["apiVersion"]) == (accept, "meta.k8s.io/v1")
    assert len(listed.get("rows") or listed["items"]) == 7
