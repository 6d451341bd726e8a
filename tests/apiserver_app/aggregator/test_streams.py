"""What goes on between a client and an aggregated server outside: watches, and other protocols."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apiserver_app.egress.carriers import Arrived, Dial, Done, Line, Opened
from apiserver_app.egress.outbound import Answer, Call, CallFailed
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.aggregator.test_aggregator import APISERVICES, remote
from tests.apiserver_app.cluster import header, server_session

SAMPLE = "/apis/sample.example.com/v1"
SERVICE = {"metadata": {"name": "sample"}, "spec": {"ports": [{"name": "https", "port": 443}]}}
SLICE = {
    "metadata": {"name": "sample", "labels": {"kubernetes.io/service-name": "sample"}},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["192.0.2.7"]}],
    "ports": [{"name": "https", "port": 6443}],
}


class Far:
    """A host whose network is a test: calls are answered, connections wait for what it says."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.dials: list[Dial] = []
        self.sent = b""
        self.closed = False
        self.used = 0
        self.refuses = ""
        self.answer = Answer(200, {"content-type": "application/json"}, b"{}")
        self.arrived: Arrived = lambda data: None

    def input(self, start: Callable[[], None]) -> None:
        self.session.host.offer("wire", [1, None], start)

    def ask(self, call: Call, dial: Dial, done: Done) -> None:
        self.input(lambda: done(self.answer))

    def open(self, call: Call, dial: Dial, opened: Opened, arrived: Arrived) -> None:
        self.dials.append(dial)
        self.arrived = arrived
        answer: Line | CallFailed = CallFailed(self.refuses) if self.refuses else self
        self.input(lambda: opened(answer))

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def took(self, count: int) -> None:
        self.used += count

    def say(self, data: bytes | None) -> None:
        self.input(lambda: self.arrived(data))
        self.session.settle()


@pytest.fixture
def far() -> Far:
    session = server_session()
    far = Far(session)
    session.cluster.outbound.network = far
    for path, body in (
        ("/api/v1/namespaces/default/services", SERVICE),
        ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", SLICE),
        (APISERVICES, remote()),
    ):
        assert session.request("POST", path, body).status == 201
    session.settle()
    session.wait(2)
    return far


def test_a_watch_is_passed_on_as_it_comes(far: Far) -> None:
    answer = far.session.request("GET", f"{SAMPLE}/flunders?watch=true&resourceVersion=5")
    assert not answer.status
    assert (far.dials[-1].host, far.dials[-1].port) == ("192.0.2.7", 6443)
    assert far.sent.startswith(b"GET /apis/sample.example.com/v1/flunders?watch=true&resourceV")
    assert b"\r\nX-Remote-User: kubernetes-admin\r\n" in far.sent
    assert b"\r\nHost: sample.default.svc:443\r\n" in far.sent
    far.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chu")
    far.say(b"nked\r\n\r\n4\r\none\n\r\n")
    assert (answer.status, answer.text, answer.done) == (200, b"one\n", False)
    assert header(answer, "Content-Type") == ["application/json"]
    assert header(answer, "Transfer-Encoding") == []
    far.say(b"4\r\ntwo\n\r\n")
    assert answer.text == b"one\ntwo\n"
    far.say(b"0\r\n\r\n")
    assert answer.done and far.closed
    (ended,) = [record for record in far.session.records() if record["kind"] == "stream"][-1:]
    assert (ended["state"], ended["detail"]["why"], ended["detail"]["out"]) == (
        "end",
        "the answer ended",
        8,
    )


def test_who_leaves_a_watch_ends_it_there_too(far: Far) -> None:
    answer = far.session.request("GET", f"{SAMPLE}/flunders?watch=true")
    far.say(b"HTTP/1.1 200 OK\r\n\r\n")
    assert answer.status == 200 and not far.closed
    answer.cancel()
    far.session.settle()
    assert far.closed


@pytest.mark.parametrize("query", ["", "?watch=true"])
def test_a_server_that_redirects_its_clients_elsewhere_is_refused(far: Far, query: str) -> None:
    """CVE-2022-3172: a client would send its credential there."""
    far.answer = Answer(302, {"location": "https://evil.example/"}, b"")
    answer = far.session.request("GET", f"{SAMPLE}/flunders{query}")
    if query:
        far.say(b"HTTP/1.1 307 Elsewhere\r\nLocation: https://evil.example/\r\n\r\n")
        assert far.closed
    assert answer.status == 502 and header(answer, "Location") == []
    assert answer.text == b"the backend attempted to redirect this request, which is not permitted"


def test_another_protocol_is_passed_on_both_ways(far: Far) -> None:
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "x"}
    answer = far.session.request("GET", f"{SAMPLE}/flunders/one/exec", headers=headers)
    assert b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" in far.sent
    assert b"\r\nSec-Websocket-Key: x\r\n" in far.sent
    far.say(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: y\r\n\r\n\x82\x01a"
    )
    assert (answer.status, answer.headers) == (101, [("sec-websocket-accept", "y")])
    far.session.host.offer("data", [0, b"b"], lambda: answer.on("data", b"\x82\x81b"))
    far.session.settle()
    assert far.sent.endswith(b"\x82\x81b") and answer.text == b"\x82\x01a"
    far.say(None)
    assert answer.closed == (1000, "")


def test_a_server_that_is_not_there_is_unavailable(far: Far) -> None:
    far.refuses = "dial tcp 192.0.2.7:6443: connect: connection refused"
    answer = far.session.request("GET", f"{SAMPLE}/flunders?watch=true")
    assert (answer.status, answer.text) == (503, far.refuses.encode() + b"\n")
    far.refuses = ""
    answer = far.session.request("GET", f"{SAMPLE}/flunders?watch=true")
    far.say(None)
    assert (answer.status, answer.text) == (503, b"EOF\n")


def test_a_server_that_says_nothing_is_given_up(far: Far) -> None:
    answer = far.session.request("GET", f"{SAMPLE}/flunders?watch=true")
    far.session.wait(61)
    assert (answer.status, far.closed) == (503, True)
