"""Upgrades at the edge: granted or refused by the worker, carried both ways, ended cleanly."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

import pytest

from lifecycle.hosting.edge.adapter import streams
from lifecycle.hosting.port import edgeport
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo, WebSocket
from tests.suite import waiting

TURNS = 30  # round trips through edge and worker: each of them has looked at all that came


def eventually(demo: Demo, name: str, wanted: int) -> None:
    waiting.until(
        lambda: demo.act("state")[name],
        what=f"{name} becomes {wanted}",
        true=lambda now: now == wanted,
    )


def at_rest(demo: Demo, name: str, most: int) -> int:
    """A number of the worker, once it has not changed for many turns of edge and worker."""
    last, same = -1, 0
    while same < TURNS and last < most:
        now = int(demo.act("state")[name])
        last, same = now, same + 1 if now == last else 0
    return last


class Raw:
    """A client of a protocol that is only bytes."""

    def __init__(self, demo: Demo, path: str) -> None:
        self.socket = socket.create_connection(demo.authority, WAIT_SECONDS)
        lines = (
            f"POST {path} HTTP/1.1",
            "Host: 127.0.0.1",
            "Connection: Upgrade",
            "Upgrade: SPDY/3.1",
            "Content-Length: 0",
            "",
            "",
        )
        self.socket.sendall("\r\n".join(lines).encode())
        self.file = self.socket.makefile("rb")
        self.head = b""
        while not self.head.endswith(b"\r\n\r\n"):
            self.head += self.file.read(1)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def test_websocket_is_carried_both_ways_and_closed_with_the_workers_code(demo: Demo) -> None:
    client = WebSocket(demo.authority, "/upgrade/echo", Sec_WebSocket_Protocol="v5, v4")
    assert client.status == 101
    assert client.headers["sec-websocket-protocol"] == "v5"
    client.send(b"\x00\xffbytes")
    assert client.frame() == (2, b"\x00\xffbytes")
    client.send("täxt".encode(), opcode=1)
    assert client.frame() == (1, "täxt".encode())
    client.send(b"ping", opcode=9)
    assert client.frame() == (10, b"ping")
    client.send(b"stop")
    assert client.close_code() == 1000
    client.close()


def test_many_small_messages_come_back_all_and_in_order(demo: Demo) -> None:
    client = WebSocket(demo.authority, "/upgrade/echo")
    sent = [b"%d" % number for number in range(3000)]
    client.send_together(*sent)
    assert [client.frame()[1] for _ in sent] == sent
    client.send(b"stop")
    assert client.close_code() == 1000
    client.close()


def test_refused_upgrade_has_its_whole_answer(demo: Demo) -> None:
    client = WebSocket(demo.authority, "/upgrade/refused")
    assert client.status == 403
    assert json.loads(client.body()) == {"kind": "Status", "message": "not you"}
    assert "date" in client.headers
    client.close()


def test_upgrade_works_below_a_clusters_prefix_and_over_tls(demo: Demo) -> None:
    context = demo.tls("admin")
    client = WebSocket(demo.tls_authority, "/clusters/demo/upgrade/echo", context)
    assert client.status == 101
    client.send(b"x" * 60000)
    assert client.frame() == (2, b"x" * 60000)
    client.close()


def test_each_frame_over_tls_is_a_record_of_its_own(demo: Demo) -> None:
    client = WebSocket(demo.tls_authority, "/clusters/demo/upgrade/echo", demo.tls("admin"))
    client.send_together(b"one", b"two", b"three")
    assert [client.record() for _ in range(3)] == [b"\x82\x03one", b"\x82\x03two", b"\x82\x05three"]
    client.close()


def test_websocket_that_somebody_else_granted_is_carried_byte_for_byte(demo: Demo) -> None:
    client = WebSocket(demo.authority, "/upgrade/echo", X_Granted="theirs")
    assert (client.status, client.headers["sec-websocket-accept"]) == (101, "theirs")
    client.send(b"ping", opcode=9)  # nobody here knows what it means
    assert client.read(10) == b"\x89\x84" + bytes(4) + b"ping"
    client.close()


def test_any_other_protocol_gets_the_bare_transport(demo: Demo) -> None:
    client = Raw(demo, "/upgrade/echo")
    assert client.head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert b"Upgrade: SPDY/3.1\r\n" in client.head and b"X-Version: 1\r\n" in client.head
    client.socket.sendall(b"\x80\x03\x00")
    assert client.file.read(3) == b"\x80\x03\x00"
    client.socket.sendall(b"stop")
    assert client.file.read() == b""
    client.close()


def test_client_that_vanishes_is_told_to_the_worker(demo: Demo) -> None:
    before = demo.act("state")
    socket_, raw = WebSocket(demo.authority, "/upgrade/echo"), Raw(demo, "/upgrade/echo")
    eventually(demo, "switched", before["switched"] + 2)
    socket_.close()
    raw.close()
    eventually(demo, "switched", before["switched"])
    assert demo.act("state")["cancelled"] == before["cancelled"] + 2


@pytest.mark.parametrize("tls", [False, True])
def test_client_that_closes_its_websocket_is_gone_though_it_keeps_the_connection(
    demo: Demo, tls: bool
) -> None:
    before = demo.act("state")
    authority = demo.tls_authority if tls else demo.authority
    client = WebSocket(authority, "/clusters/demo/upgrade/echo", demo.tls("admin") if tls else None)
    eventually(demo, "switched", before["switched"] + 1)
    client.send(b"\x03\xe8", opcode=8)
    assert client.close_code() == 1000
    eventually(demo, "switched", before["switched"])
    assert demo.act("state")["cancelled"] == before["cancelled"] + 1
    client.close()


@pytest.mark.parametrize("kind", ["websocket", "raw"])
def test_worker_that_does_not_listen_stops_the_client(demo: Demo, kind: str) -> None:
    before = demo.act("state")["held"]
    client: WebSocket | Raw
    if kind == "raw":
        client, message = Raw(demo, "/upgrade/deaf"), b"x" * 60000
    else:
        client = WebSocket(demo.authority, "/upgrade/deaf")
        message = client.framed(b"x" * 60000)
    client.socket.setblocking(False)
    sent = refused = 0
    while refused < TURNS:
        demo.act("state")
        taken = put(client.socket, message, sent)
        sent, refused = sent + taken, 0 if taken else refused + 1
        assert sent < 100 << 20, "the client is never stopped"
    held = demo.act("state")["held"] - before
    assert 0 < held <= edgeport.CLIENT_BYTES_MAX + streams.UNREAD_BYTES_MAX + (128 << 10)
    client.close()


def put(into: socket.socket, message: bytes, sent: int) -> int:
    """Send the same message over and over, as much of it as is taken now: how many bytes."""
    before = sent
    with contextlib.suppress(BlockingIOError):
        while True:
            sent += into.send(message[sent % len(message) :])
    return sent - before


def test_client_that_does_not_read_stops_the_worker(demo: Demo) -> None:
    before = demo.act("state")["poured"]
    client = WebSocket(demo.authority, "/upgrade/flood")
    most = before + (16 << 20)  # more than all on the way hold, with the buffers of the system
    assert before < at_rest(demo, "poured", most) < most
    for _ in range(400):  # it goes on once the client reads
        assert len(client.frame()[1]) == 65536
    client.close()


def test_socket_for_another_site_is_refused(demo: Demo) -> None:
    client = WebSocket(demo.authority, "/upgrade/echo", Origin="http://evil.example")
    assert client.status == 403
    assert json.loads(client.body())["message"] == "cross-origin request refused"
    client.close()


def test_end_of_the_worker_ends_streams(tmp_path: Path) -> None:
    with Demo(tmp_path / "data") as demo:
        client, raw = WebSocket(demo.authority, "/upgrade/echo"), Raw(demo, "/upgrade/echo")
        demo.connect().request("GET", "/crash")
        assert client.close_code() == 1011
        assert raw.file.read() == b""
        client.close()
        raw.close()
