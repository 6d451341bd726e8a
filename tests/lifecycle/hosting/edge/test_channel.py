"""One connection of the edge, without a socket: what ends it, when, and what it costs meanwhile."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from lifecycle.hosting.edge import http_head
from lifecycle.hosting.edge.adapter import channel

from lifecycle.hosting.edge.adapter import server  # isort: skip
from twisted.internet import task
from twisted.internet.testing import StringTransport

from tests.lifecycle.hosting.edge.test_http_head import GET, HEADS, POST

TIMES = channel.Times()
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


class Wire(StringTransport):
    """A transport that keeps what is written; `dataBuffer` is what its client does not read."""

    dataBuffer, offset, _tempDataLen = b"", 0, 0

    def setTcpNoDelay(self, _enabled: bool) -> None:
        return

    @property
    def text(self) -> str:
        return str(self.value(), "latin-1")


class Server:
    """Takes every request; answers each at once, or never."""

    times = TIMES
    server_name = ""

    def __init__(self, answers: bool = True) -> None:
        self.answers = answers
        self.scopes: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.open = 0

    def protocol_connected(self, _request: Any) -> None:
        self.open += 1

    def protocol_disconnected(self, _request: Any) -> None:
        self.open -= 1

    def date(self) -> bytes:
        return b"now"

    def log_action(self, *_: Any) -> None:
        return

    def create_application(self, request: Any, scope: dict[str, Any]) -> Any:
        self.scopes.append(scope)
        self.bodies.append(request.content.getvalue())
        if self.answers:
            headers = [(b"content-length", b"2")]
            request.handle_reply({"type": "http.response.start", "status": 200, "headers": headers})
            request.handle_reply({"type": "http.response.body", "body": b"ok"})
            return None
        return asyncio.Queue()


class Line:
    """A client's end of a connection."""

    def __init__(self, answers: bool = True) -> None:
        self.server, self.clock, self.wire = Server(answers), task.Clock(), Wire()
        factory: Any = server.EdgeFactory(self.server)
        factory.reactor = self.clock
        self.channel = factory.buildProtocol(None)
        self.channel.makeConnection(self.wire)

    def send(self, data: bytes) -> None:
        self.channel.dataReceived(data)

    def later(self, seconds: float) -> bool:
        """Whether the connection was given up meanwhile."""
        for _ in range(int(seconds)):
            self.clock.advance(1)
        return bool(self.wire.disconnecting or self.wire.disconnected)


def test_a_head_that_comes_a_byte_a_second_is_waited_for_so_long_and_no_longer() -> None:
    line = Line()
    for byte in (GET * 3)[: int(TIMES.head) - 1]:
        line.send(bytes([byte]))
        assert not line.later(1)
    line.send(b"x")
    assert line.later(1)
    assert (line.wire.text, line.server.scopes) == ("", [])


def test_a_connection_that_says_nothing_is_closed() -> None:
    assert not Line().later(TIMES.head - 1)
    assert Line().later(TIMES.head)


def test_a_connection_between_requests_may_be_idle_longer() -> None:
    line = Line()
    line.send(GET + b"\r\n")
    assert not line.later(TIMES.idle - 1)
    line.send(GET + b"\r\n")
    assert not line.later(TIMES.idle - 1)
    line.send(b"G")
    assert not line.later(TIMES.head - 1)
    assert line.later(1)
    assert line.wire.text.count("HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("head", [POST + b"Content-Length: 5000\r\n\r\n", CHUNKED + b"ffff\r\n"])
def test_a_body_that_comes_a_byte_a_second_is_a_timeout_with_a_status(head: bytes) -> None:
    line = Line()
    line.send(head)
    for _ in range(int(TIMES.body) - 1):
        line.send(b"{")
        assert not line.later(1)
    assert line.later(1)
    answered, _, body = line.wire.text.partition("\r\n\r\n")
    assert answered.startswith("HTTP/1.1 504 ") and "Connection: close" in answered
    status = json.loads(body)
    assert (status["kind"], status["reason"]) == ("Status", "Timeout")
    assert status["message"] == "Timeout: request did not complete within the allotted timeout"
    assert line.server.scopes == []
    assert line.later(TIMES.closing) and line.wire.disconnected  # whatever the client does


def test_a_request_that_is_served_has_no_time_of_its_own() -> None:
    line = Line(answers=False)
    line.send(GET + b"\r\n")
    assert not line.later(100_000)


def test_what_a_client_does_not_read_is_kept_while_it_reads_some_of_it() -> None:
    line = Line()
    line.wire.dataBuffer = b"x" * 5
    line.send(GET + b"\r\n")
    assert not line.later(TIMES.idle)
    line.wire.dataBuffer = b"x" * 4
    assert not line.later(TIMES.idle)
    assert line.later(TIMES.idle)  # nothing more was read
    assert line.later(TIMES.closing) and line.wire.disconnected


def test_heads_are_bounded() -> None:
    for head in (
        b"GET /" + b"x" * (2 << 20),
        GET + b"X: " + b"y" * (2 << 20),
        GET + b"a:\r\n" * 300_000,
    ):
        line = Line()
        line.send(head)
        assert line.wire.text.startswith("HTTP/1.1 431 Request Header Fields Too Large\r\n")
        assert line.wire.disconnecting and not line.channel.unread
    line = Line()
    line.send(GET + b"a:\r\n" * 200_000 + b"\r\n")
    assert line.wire.text.startswith("HTTP/1.1 200 OK\r\n")


def test_pipelined_requests_wait_for_each_other_and_are_not_read_without_end() -> None:
    line = Line(answers=False)
    line.send((GET + b"\r\n") * 1000)
    assert len(line.server.scopes) == 1
    assert line.wire.producerState == "paused"
    line = Line()
    line.send((GET + b"\r\n") * 1000)
    assert len(line.server.scopes) == 1000


@pytest.mark.parametrize("chunk", [
    b"-1\r\n", b"zz\r\n", b"0x1\r\n", b"\r\n", b"1;" + b"a" * 5000, b"1\r\naXX0\r\n\r\n",
    b"0\r\n" + b"A: b\r\n" * 20_000,
], ids=range(7))  # fmt: skip
def test_chunks_that_are_none(chunk: bytes) -> None:
    line = Line()
    line.send(CHUNKED + chunk)
    assert line.wire.text.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert line.wire.disconnecting and line.server.scopes == []
    line.send(GET + b"\r\n")  # nothing behind it is a request
    assert line.server.scopes == []


def test_chunks_are_a_body_however_they_come() -> None:
    line = Line()
    for byte in CHUNKED + b"1;x=y\r\na\r\n003\r\nbcd\r\n0\r\nTrailer: x\r\n\r\n" + GET + b"\r\n":
        line.send(bytes([byte]))
    assert line.server.bodies == [b"abcd", b""]


def test_more_than_was_promised_is_the_next_request() -> None:
    line = Line()
    line.send(POST + b"Content-Length: 3\r\n\r\n{}}}}\r\n\r\n")
    assert line.server.bodies == [b"{}}"]
    assert line.wire.text.count("HTTP/1.1 ") == 2 and "HTTP/1.1 400 Bad Request" in line.wire.text


def test_options_of_no_path_are_answered_and_reach_nobody() -> None:
    line = Line()
    line.send(b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
    assert line.wire.text.startswith("HTTP/1.1 200 OK\r\n") and line.server.scopes == []


def test_a_websocket_with_a_header_that_cannot_be_read_is_refused() -> None:
    line = Line()
    line.send(b"GET /ws/v1 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nCookie: \xff\r\n\r\n")
    assert line.wire.text.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert '"kind":"Status"' in line.wire.text.replace(" ", "")


TAILS = HEADS | st.sampled_from((CHUNKED, GET + b"\r\n", POST + b"Content-Length: 3\r\n\r\nabc"))


@hypothesis.settings(max_examples=300)
@hypothesis.given(st.lists(TAILS, max_size=4), st.integers(1, 40))
def test_any_bytes_get_whole_answers_or_none(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    line = Line()
    for start in range(0, len(data), size):
        line.send(data[start : start + size])
    answers = io.BytesIO(line.wire.value())
    while answers.tell() < len(answers.getvalue()):
        status = answers.readline()
        assert status[:9] in (b"HTTP/1.1 ", b"HTTP/1.0 ") and status[9:10] in b"124", status
        headers = http.client.parse_headers(answers)
        answers.read(int(headers["content-length"]) if "content-length" in headers else -1)
    assert line.channel.ending or len(line.channel.unread) < http_head.HEAD_BYTES_MAX
