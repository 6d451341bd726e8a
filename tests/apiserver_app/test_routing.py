"""Which server and which of its muxes answered, where reads came from, whose trace it is."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.input import readpath
from apiserver_app.machinery.meta import Credential
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.aggregator.test_aggregator import CRD, CRDS
from tests.apiserver_app.cluster import CONFIGMAPS, DEPLOYMENTS, configmap, header, server_session

AGGREGATOR, KUBE, EXTENSIONS = "kube-aggregator", "kube-apiserver", "apiextensions-apiserver"
RESTFUL, PLAIN = "go-restful", "non-go-restful"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CRONTABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    assert session.request("POST", CRDS, CRD).status == 201
    return session


def routing(session: Session, method: str, path: str, body: Any = None) -> dict[str, Any]:
    session.request(method, path, body)
    gates = [record for record in session.records() if record["kind"] == "gate"]
    span = [
        record for record in session.records() if record["kind"] == "request" and record["outside"]
    ][-1]
    found = [gate for gate in gates if gate["gate"] == "routing" and gate["span"] == span["seq"]]
    return {"verdict": found[-1]["verdict"], **found[-1]["detail"]}


@pytest.mark.parametrize(
    ("path", "server", "mux"),
    [
        (DEPLOYMENTS, KUBE, RESTFUL),
        ("/api", KUBE, RESTFUL),
        ("/api/v1", KUBE, RESTFUL),
        ("/apis/apps/v1", KUBE, RESTFUL),
        ("/openid/v1/jwks", KUBE, RESTFUL),
        ("/.well-known/openid-configuration", KUBE, RESTFUL),
        ("/apis", AGGREGATOR, PLAIN),
        ("/apis/apps", AGGREGATOR, PLAIN),
        ("/apis/apiregistration.k8s.io/v1/apiservices", AGGREGATOR, RESTFUL),
        ("/version", AGGREGATOR, RESTFUL),
        ("/healthz", AGGREGATOR, PLAIN),
        ("/metrics", AGGREGATOR, PLAIN),
        ("/openapi/v2", AGGREGATOR, PLAIN),
        (CRDS, EXTENSIONS, RESTFUL),
        (CRONTABS, EXTENSIONS, PLAIN),
        ("/apis/stable.example.com/v1", EXTENSIONS, PLAIN),
    ],
)
def test_the_trace_names_the_server_and_its_mux(
    session: Session, path: str, server: str, mux: str
) -> None:
    told = routing(session, "GET", path)
    assert (told["word"], told["mux"]) == (server, mux)
    chain = [AGGREGATOR, KUBE, EXTENSIONS]
    assert told["chain"] == chain[: chain.index(server) + 1]


def test_three_kinds_of_paths_have_three_handlers_and_the_last_is_nobodys(session: Session) -> None:
    made = routing(session, "POST", DEPLOYMENTS, {})
    listed = routing(session, "GET", "/apis")
    nowhere = routing(session, "GET", "/nope")
    assert (made["verdict"], made["mux"]) == ("allow", RESTFUL)
    assert (listed["verdict"], listed["mux"]) == ("allow", PLAIN)
    assert (nowhere["verdict"], nowhere["word"]) == ("deny", "404")
    assert nowhere["chain"] == [AGGREGATOR, KUBE, EXTENSIONS]


@pytest.mark.parametrize(
    ("query", "by"),
    [
        ("resourceVersion=0", "watch cache"),
        ("", "watch cache"),
        ("limit=500", "etcd"),
        ("limit=500&resourceVersion=0", "watch cache"),
        ("resourceVersion=1&resourceVersionMatch=Exact", "etcd"),
        ("resourceVersion=1&resourceVersionMatch=NotOlderThan", "watch cache"),
    ],
)
def test_the_trace_tells_whether_a_list_came_from_the_watch_cache(
    session: Session, query: str, by: str
) -> None:
    told = routing(session, "GET", f"{CONFIGMAPS}?{query}")
    assert told["read"]["by"] == by
    assert told["read"]["why"]


@pytest.mark.parametrize(("query", "by"), [("", "etcd"), ("resourceVersion=0", "watch cache")])
def test_a_get_reaches_etcd_unless_it_takes_what_the_cache_has(
    session: Session, query: str, by: str
) -> None:
    session.request("POST", CONFIGMAPS, configmap("there"))
    assert routing(session, "GET", f"{CONFIGMAPS}/there?{query}")["read"]["by"] == by


def test_before_1_31_only_etcd_knew_the_latest() -> None:
    call = Call("list", CONFIGMAPS, Credential(), "test")
    assert readpath.of(call, Release(30)).by == readpath.ETCD
    assert readpath.of(call, Release(31)).by == readpath.CACHE


def test_an_answer_continues_the_trace_that_its_request_came_with(session: Session) -> None:
    for path, code in ((CONFIGMAPS, 200), ("/nope", 404), (CRONTABS, 200)):
        answer = session.request("GET", path, headers={"traceparent": TRACE})
        assert answer.status == code
        span = [
            record
            for record in session.records()
            if record["kind"] == "request" and record["outside"]
        ][-1]
        expected = f"00-0af7651916cd43dd8448eb211c80319c-{span['seq']:016x}-01"
        assert header(answer, "Traceparent") == [expected]
        audit = next(
            record
            for record in session.records()
            if record["kind"] == "gate"
            and record["span"] == span["seq"]
            and record["gate"] == "audit"
        )
        assert audit["detail"]["traceparent"] == TRACE


@pytest.mark.parametrize("given", ["", "nonsense", TRACE.replace("00-", "ff-", 1), "00-0-0-0"])
def test_what_is_no_traceparent_is_left_alone(session: Session, given: str) -> None:
    answer = session.request("GET", CONFIGMAPS, headers={"traceparent": given})
    assert header(answer, "Traceparent") == []


def test_two_servers_on_one_store_give_the_same_reads() -> None:
    one = server_session()
    one.request("POST", CONFIGMAPS, configmap("there", key="value"))
    other = Session(one.inputs, one.backend)
    assert (
        other.request("GET", f"{CONFIGMAPS}/there").json()
        == one.request("GET", f"{CONFIGMAPS}/there").json()
    )
    for path in (CONFIGMAPS, "/api/v1/namespaces"):
        found = [each.request("GET", path).json()["items"] for each in (one, other)]
        assert found[0] == found[1]
