"""Heads of requests: read as Go reads them, or refused in its words, whatever the bytes are."""

from __future__ import annotations

import re

import hypothesis
import pytest
from hypothesis import strategies as st

from lifecycle.hosting.edge import http_head

HOST = b"Host: x\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
POST = b"POST /api HTTP/1.1\r\n" + HOST
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def parse(head: bytes) -> http_head.Head:
    return http_head.parse(head + b"\r\n")


def test_a_head_is_its_parts() -> None:
    head = parse(b"PATCH /a%2Fb/?x=%20y HTTP/1.1\r\nHost: x:1\r\nX-A:  b \r\nx-a: c\r\n")
    assert (head.method, head.path, head.query) == (b"PATCH", b"/a%2Fb/", b"x=%20y")
    assert head.uri == b"/a%2Fb/?x=%20y"
    assert head.headers == [(b"host", b"x:1"), (b"x-a", b"b"), (b"x-a", b"c")]
    assert (head.length, head.persistent, head.waits) == (0, True, False)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"http://y/healthz", b"/healthz", b""),
        (b"https://y?a=b", b"/", b"a=b"),
        (b"//healthz", b"//healthz", b""),
        (b"/\xc3\xa9?\xff", b"/%C3%A9", b"%FF"),
        (b"/a#b", b"/a#b", b""),
        (b"/?a=%zz", b"/", b"a=%zz"),
    ],
)
def test_targets_that_can_be_read(target: bytes, path: bytes, query: bytes) -> None:
    head = parse(b"GET " + target + b" HTTP/1.1\r\n" + HOST)
    assert (head.path, head.query) == (path, query)
    absolute = target[:1] != b"/"
    assert head.first(b"host") == (b"y" if absolute else b"x")


def test_asterisk_is_the_target_of_options_alone() -> None:
    assert parse(b"OPTIONS * HTTP/1.1\r\n" + HOST).path == b"*"
    with pytest.raises(http_head.Refused):
        parse(b"GET * HTTP/1.1\r\n" + HOST)


@pytest.mark.parametrize(("head", "says"), [
    (b"GET /\r\n", "400 Bad Request"),
    (b"GET / HTTP/2.0\r\n" + HOST, "400 Bad Request: unsupported protocol version"),
    (b"PRI * HTTP/2.0\r\n", "400 Bad Request: unsupported protocol version"),
    (b"GET / HTTP/1.1 \r\n" + HOST, "400 Bad Request"),
    (b"G\xc3\xa9T / HTTP/1.1\r\n" + HOST, "400 Bad Request"),
    (b"\0\1\2\r\n", "400 Bad Request"),
    (b"GET healthz HTTP/1.1\r\n" + HOST, "400 Bad Request"),
    (b"CONNECT x:443 HTTP/1.1\r\n" + HOST, "400 Bad Request"),
    (b"GET /a\tb HTTP/1.1\r\n" + HOST, "400 Bad Request"),
    (b"GET /a\0b HTTP/1.1\r\n" + HOST, "400 Bad Request"),
    (b"GET /%zz HTTP/1.1\r\n" + HOST, "400 Bad Request"),
    (b"GET /% HTTP/1.1\r\n" + HOST, "400 Bad Request"),
    (b"GET / HTTP/1.1\r\n", "400 Bad Request: missing required Host header"),
    (GET + b"Host: y\r\n", "400 Bad Request: too many Host headers"),
    (b"GET / HTTP/1.1\r\nHost: a b\r\n", "400 Bad Request: malformed Host header"),
    (GET + b"nothing\r\n", "400 Bad Request"),
    (GET + b"A b: c\r\n", "400 Bad Request: invalid header name"),
    (GET + b": c\r\n", "400 Bad Request: invalid header name"),
    (GET + b"A: b\r\n over: lines\r\n", "400 Bad Request: invalid header name"),
    (GET + b"A: b\0c\r\n", "400 Bad Request: invalid header value"),
    (GET + b"A: b\rc\r\n", "400 Bad Request: invalid header value"),
    (POST + b"Content-Length: -1\r\n", "400 Bad Request"),
    (POST + b"Content-Length: +1\r\n", "400 Bad Request"),
    (POST + b"Content-Length: \xb2\r\n", "400 Bad Request"),
    (POST + b"Content-Length: 1, 1\r\n", "400 Bad Request"),
    (POST + b"Content-Length: " + b"9" * 5000 + b"\r\n", "400 Bad Request"),
    (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n", "400 Bad Request"),
    (POST + CHUNKED + b"Content-Length: 3\r\n", "400 Bad Request: unsupported transfer encoding"),
    (POST + CHUNKED + CHUNKED, "400 Bad Request: unsupported transfer encoding"),
    (POST + b"Transfer-Encoding: gzip\r\n", "400 Bad Request: unsupported transfer encoding"),
    (b"POST / HTTP/1.0\r\n" + CHUNKED, "400 Bad Request: unsupported transfer encoding"),
    (POST + b"Expect: nothing\r\n", "417 Expectation Failed"),
], ids=range(32))  # fmt: skip
def test_heads_that_are_refused(head: bytes, says: str) -> None:
    with pytest.raises(http_head.Refused) as refused:
        parse(head)
    assert refused.value.text == says
    answer = refused.value.answer()
    assert answer.startswith(f"HTTP/1.1 {says.partition(':')[0]}\r\n".encode())
    assert b"\r\nConnection: close\r\n" in answer and answer.endswith(says.encode())


def test_lengths_of_bodies() -> None:
    assert parse(POST + b"Content-Length: 3\r\nContent-Length: 3\r\n").length == 3
    assert parse(POST + CHUNKED).length is None
    assert parse(POST + b"Content-Length: 5\r\nExpect: 100-Continue\r\n").waits


def test_who_wants_the_connection_closed_gets_it_closed() -> None:
    assert not parse(GET + b"Connection: x, Close\r\n").persistent
    assert not parse(b"GET / HTTP/1.0\r\n").persistent
    assert parse(b"GET / HTTP/1.2\r\n" + HOST).persistent


def test_the_end_is_found_however_the_bytes_come() -> None:
    data, seen = bytearray(), 0
    for byte in GET + b"\r":
        data.append(byte)
        assert http_head.end_of(data, seen) == -1
        seen = len(data)
    assert http_head.end_of(data + b"\nPOST", seen) == len(data) + 1
    assert http_head.end_of(bytearray(b"GET / HTTP/1.0\n\nx"), 0) == 16


PIECES = st.sampled_from((
    b"GET", b"POST", b" ", b"/", b"*", b"HTTP/1.1", b"HTTP/1.0", b"\r\n", b"\n", b"\r", b":", b",",
    b"Host: x", b"Content-Length", b"Transfer-Encoding", b"chunked", b"Connection", b"close", b"%",
    b"%41", b"?", b"\t", b"\0", b"\xff", b"http://x", b"Upgrade", b"Expect: 100-continue", b"0",
))  # fmt: skip
HEADS = st.lists(PIECES | st.binary(max_size=4), max_size=24).map(b"".join)


@hypothesis.settings(max_examples=500)
@hypothesis.given(HEADS, st.booleans())
def test_any_bytes_are_a_head_or_refused(data: bytes, begun: bool) -> None:
    if begun:
        data = GET + data
    try:
        head = parse(data)
    except http_head.Refused as refused:
        assert re.match(rb"HTTP/1\.1 4\d\d [A-Z]", refused.answer())
        return
    assert head.path.isascii() and head.query.isascii() and head.method.isascii()
    assert head.path.startswith(b"/") or head.path == b"*"
    assert all(b"\n" not in name + value for name, value in head.headers)
