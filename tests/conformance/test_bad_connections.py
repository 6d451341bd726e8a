"""Connections that break the rules, against a real server over TLS."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
from collections.abc import Iterator

import pytest

from tests.conformance.api import Api
from tests.lifecycle.hosting.running import Demo

MAPS = "/api/v1/namespaces/default/configmaps"
HERE = f"{MAPS}/here"


@pytest.fixture(scope="module")
def api(cluster: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    api = Api(cluster, tmp_path_factory.mktemp("certificate"))
    assert (
        api.post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "here"}}).code
        == 201
    )
    yield api
    assert api.ask("DELETE", HERE).code == 200


def test_pipelined_requests_are_answered_in_order(api: Api) -> None:
    request = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n"
    with api.dial() as line:
        paths = ("/version", HERE, "/nope", "/healthz")
        line.sendall("".join(map(request.format, paths)).encode())
        with line.makefile("rb") as answers:
            seen = []
            for _ in paths:
                seen.append(int(answers.readline().split()[1]))
                heads = list(iter(answers.readline, b"\r\n"))
                sizes = [head for head in heads if head.lower().startswith(b"content-length:")]
                answers.read(int(sizes[0].split(b":")[1]))
    assert seen == [200, 200, 404, 200]


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * 100_000, 200),
        (b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * (1 << 20), 200),
        (b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * (5 << 18), 431),
        (b"GET /healthz?" + b"x" * (5 << 18) + b" HTTP/1.1", 431),
        (b"GET /healthz HTTP/1.1" + b"\r\nX-Many: x" * 1000, 200),
        (b"GET /api/%zz HTTP/1.1", 400),
        (b"\0\1\2 nothing", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: x", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", 400),
    ],
    ids=range(9),
)
def test_heads_of_requests_are_bounded_and_read_strictly(api: Api, head: bytes, code: int) -> None:
    with api.dial() as line:
        line.sendall(head + b"\r\nHost: x\r\n\r\n")
        assert line.recv(12) == b"HTTP/1.1 %d" % code


def test_a_watch_is_over_when_its_client_is_gone(api: Api) -> None:
    query = "watch=1&fieldSelector=metadata.name=here"
    for _ in range(20):
        with api.dial() as line:
            line.sendall(f"GET {MAPS}?{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert line.recv(12) == b"HTTP/1.1 200"
    before = api.revision()
    label = json.dumps({"metadata": {"labels": {"after": "all"}}}).encode()
    assert api.patch(HERE, label, "merge-patch+json").code == 200
    assert api.revision() > before


FRAMES = {
    "unmasked": b"\x82\x03abc",
    "reserved bits": b"\xf2\x83\0\0\0\0abc",
    "unknown opcode": b"\x83\x83\0\0\0\0abc",
    "a ping in parts": b"\x09\x81\0\0\0\0a",
    "a terabyte": b"\x82\xff\0\0\1\0\0\0\0\0\0\0\0\0",
    "less than nothing": b"\x82\xff" + b"\xff" * 8 + b"\0\0\0\0",
    "no UTF-8": b"\x81\x82\0\0\0\0\xff\xfe",
    "a second part first": b"\x80\x81\0\0\0\0a",
    "half a code": b"\x88\x81\0\0\0\0a",
    "no code": b"\x88\x82\0\0\0\0\0\1",
}


@pytest.mark.parametrize("what", FRAMES)
def test_frames_of_websockets_that_are_none_end_the_connection(
    api: Api, cluster: Demo, what: str
) -> None:
    head = (
        "GET /ws/v1/clusters/demo/trace HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Authorization: {cluster.credential['Authorization']}\r\n\r\n"
    )
    with api.dial() as line:
        line.sendall(head.encode())
        with line.makefile("rb") as answer:
            assert answer.readline().startswith(b"HTTP/1.1 101 ")
            line.sendall(FRAMES[what])
            answer.read()  # to the end, which comes


@pytest.mark.parametrize(
    "head",
    [
        b"GET /static/" + b"x" * 5000 + b" HTTP/1.1\r\nHost: 127.0.0.1",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nDaphne-Root-Path: \xff",
        b"GET /api/v1/\xa0?\xff HTTP/1.1\r\nHost: x",
        b"GET /ws/\xa0 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket",
        b"GET /viz/v1/%ff%00?a=%ff%00 HTTP/1.1\r\nHost: 127.0.0.1",
        b"GET /clusters/%ff/api HTTP/1.1\r\nHost: x",
    ],
    ids=range(6),
)
def test_odd_requests_are_the_clients_fault(api: Api, head: bytes) -> None:
    with api.dial() as line:
        line.sendall(head + b"\r\n\r\n")
        assert line.recv(10)[:10] in (b"HTTP/1.1 4", b"HTTP/1.1 2")


@pytest.mark.parametrize("verb", ["watch", "proxy"])
def test_a_verb_in_the_path_without_a_resource_is_answered_as_upstream_does(
    api: Api, verb: str
) -> None:
    answer = api.get(f"/api/v1/{verb}")
    said = f'Internal Server Error: "/api/v1/{verb}": failed to create RequestInfo: '
    assert answer.code == 500
    assert answer.body.startswith(said.encode())


def test_a_hundred_connections_that_say_nothing_keep_nobody_out(api: Api) -> None:
    with contextlib.ExitStack() as lines:
        for number in range(100):
            line = lines.enter_context(api.dial())
            line.sendall(b"GET /api HTTP/1.1\r\nX: " + b"y" * number)
        assert api.get(HERE).code == 200


def test_a_watch_whose_client_sends_no_more_is_over(api: Api) -> None:
    with api.dial() as line:
        line.sendall(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert line.recv(12) == b"HTTP/1.1 200"
        with socket.socket(fileno=os.dup(line.fileno())) as wire:
            wire.shutdown(socket.SHUT_WR)  # below TLS
        with contextlib.suppress(ssl.SSLEOFError), line.makefile("rb") as rest:
            rest.read()
