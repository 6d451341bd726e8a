"""What crosses the link: large bodies in parts, and a poll between two steps."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from lifecycle.hosting.port import edgeport, frames, links
from tests.lifecycle.hosting.port.test_port import ask
from tests.lifecycle.hosting.running import WAIT_SECONDS


def test_small_requests_and_pings_overtake_large_ones_of_which_each_makes_progress() -> None:
    large, sizes = 3 << 20, [2 << 20, 4 * links.LARGE_BYTES + 1]

    async def run() -> tuple[list[frames.Message], int]:
        near, far = socket.socketpair()
        edge = edgeport.EdgePort(asyncio.get_running_loop())
        link = await links.open_socket(near, edge.receive, lambda: None)
        edge.attach(link.send)
        ask(edge, "/cancelled", b"c" * large).close()
        begun = ask(edge, "/begun", b"c" * large)
        for size in (large, large, *sizes):
            ask(edge, f"/{size}", b"x" * size)
        await asyncio.sleep(0)  # as much as the socket takes is sent
        begun.close()
        ask(edge, "/small")
        await asyncio.sleep(0)
        edge.ping()
        received: list[frames.Message] = []
        arrived = asyncio.Event()

        def receive(messages: list[frames.Message]) -> None:
            received.extend(messages)
            if sum(one[0] == "req" for one in received) == 5:
                arrived.set()

        other = await links.open_socket(far, receive, lambda: None)
        await asyncio.wait_for(arrived.wait(), WAIT_SECONDS)
        link.close()
        other.close()
        return received, begun.id

    received, begun = asyncio.run(run())
    assert [one[4] for one in received if one[0] == "req"] == [
        "/small",
        f"/{sizes[1]}",
        f"/{sizes[0]}",
        f"/{large}",
        f"/{large}",
    ]
    assert [one[1] for one in received if one[0] == "cancel"] == [begun]
    assert [one[0] for one in received].index("ping") <= 2
    assert all(one[7] == b"x" * len(one[7]) for one in received if one[0] == "req")
    assert [len(one[7]) for one in received if one[0] == "req"] == [
        0,
        sizes[1],
        sizes[0],
        large,
        large,
    ]


def test_a_poll_takes_in_what_waits_without_the_loop() -> None:
    async def run() -> list[list[frames.Message]]:
        near, far = socket.socketpair()
        seen: list[list[frames.Message]] = []
        link = await links.open_socket(near, seen.append, lambda: None)
        link.poll()
        assert seen == []
        far.sendall(frames.encode_frame([("cancel", 7)]))
        link.poll()
        link.close()
        far.close()
        return seen

    assert asyncio.run(run()) == [[("cancel", 7)]]


def test_what_is_longer_than_a_frame_goes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "PIECE_BYTES", 1000)
    sent: list[tuple[Any, ...]] = [
        ("head", 1, 200, [], False, b"x" * 2500),
        ("body", 2, b"y" * 2100, True),
        ("body", 2, b"", False),
        ("log", "z" * 3000),
    ]
    assert list(links.pieces(sent)) == [
        [("head", 1, 200, [], "part", b"")],
        [("body", 1, b"x" * 1000, "part")],
        [("body", 1, b"x" * 1000, "part")],
        [("body", 1, b"x" * 500, False)],
        [("body", 2, b"y" * 1000, "part")],
        [("body", 2, b"y" * 1000, "part")],
        [("body", 2, b"y" * 100, True), ("body", 2, b"", False)],
        [("log", "z" * 3000)],
    ]
