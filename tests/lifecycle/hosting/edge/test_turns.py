"""What comes over WebSockets is looked at in turn, so that no client's frames hold all else."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle.hosting.edge.adapter import server  # isort: skip  (before all else of Twisted)
from autobahn.websocket import protocol
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure

from lifecycle.hosting.edge.adapter import streams, turns
from lifecycle.hosting.edge.adapter.turns import PIECE_BYTES, UNHEARD_BYTES_MAX, Valve, Waiting
from tests.suite import waiting

assert server  # installs the reactor


class Wire:
    """A transport."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def pauseProducing(self) -> None:
        self.told.append("pause")

    def resumeProducing(self) -> None:
        self.told.append("resume")

    def abortConnection(self) -> None:
        self.told.append("abort")


class Loop:
    """Two pieces take as long as a turn; what is to be called comes when the test says."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        clock = itertools.count(step=turns.TURN_SECONDS / 2)
        self.turns = turns.Turns(self.calls.append, lambda: next(clock))

    def once(self) -> None:
        self.calls.pop(0)()

    def all(self) -> None:
        while self.calls:
            self.once()


def test_pieces_of_all_are_looked_at_in_turn_and_all_else_has_its_turn_in_between() -> None:
    loop, order = Loop(), list[str]()
    for hear in (lambda piece: order.append("a"), lambda piece: order.append("b")):
        Waiting(Valve(Wire()), hear, turns=loop.turns).add(bytes(3 * PIECE_BYTES))
    assert order == [] and len(loop.calls) == 1
    loop.once()
    assert len(order) == 1 and len(loop.calls) == 1
    loop.all()
    assert order == ["a", "b", "a", "b", "a", "b"]


def test_who_sends_faster_than_is_looked_at_is_not_read_meanwhile() -> None:
    loop, wire, heard = Loop(), Wire(), list[bytes]()
    one = Waiting(Valve(wire), heard.append, turns=loop.turns)
    one.add(bytes(UNHEARD_BYTES_MAX))
    assert wire.told == []
    one.add(b"more")
    assert wire.told == ["pause"]
    loop.all()
    assert wire.told == ["pause", "resume"]
    assert b"".join(heard) == bytes(UNHEARD_BYTES_MAX) + b"more"


def test_nothing_is_looked_at_while_there_is_no_room_for_what_comes_of_it() -> None:
    loop, heard, room = Loop(), list[bytes](), [False]
    one = Waiting(Valve(Wire()), heard.append, lambda: room[0], loop.turns)
    one.add(b"x")
    loop.all()
    assert heard == []
    room[0] = True
    one.go_on()
    loop.all()
    assert heard == [b"x"]


def test_a_lost_connection_is_over_once_what_it_sent_was_looked_at() -> None:
    loop, told = Loop(), list[Any]()
    one = Waiting(Valve(Wire()), told.append, turns=loop.turns)
    one.add(b"x")
    one.end(lambda: told.append("over"))
    assert told == []
    loop.all()
    assert told == [b"x", "over"]


def test_one_that_cannot_be_looked_at_is_cut_off_and_others_go_on() -> None:
    loop, wire, heard = Loop(), Wire(), list[bytes]()

    def fail(piece: bytes) -> None:
        raise ValueError(piece)

    Waiting(Valve(wire), fail, turns=loop.turns).add(b"x")
    Waiting(Valve(Wire()), heard.append, turns=loop.turns).add(b"y")
    with pytest.raises(ValueError):
        loop.once()
    assert wire.told == ["abort"]
    loop.all()
    assert heard == [b"y"]


def test_a_lost_connection_that_cannot_be_looked_at_is_over() -> None:
    loop, wire, told = Loop(), Wire(), list[str]()

    def fail(piece: bytes) -> None:
        raise ValueError(piece)

    one = Waiting(Valve(wire), fail, turns=loop.turns)
    one.add(bytes(2 * PIECE_BYTES))
    one.end(lambda: told.append("over"))
    with pytest.raises(ValueError):
        loop.once()
    assert (wire.told, told, loop.calls) == ([], ["over"], [])


def test_a_transport_is_read_again_when_nobody_holds_it_any_more() -> None:
    wire = Wire()
    valve = Valve(wire)
    valve.hold("a")
    valve.hold("b")
    valve.release("a")
    assert wire.told == ["pause"]
    valve.release("b")
    valve.release("b")
    assert wire.told == ["pause", "resume"]


def test_what_is_done_in_turn_is_done_among_the_others_and_awaited() -> None:
    async def body() -> None:
        loop, order = Loop(), list[str]()
        Waiting(Valve(Wire()), lambda piece: order.append("a"), turns=loop.turns).add(
            bytes(3 * PIECE_BYTES)
        )
        done = asyncio.ensure_future(loop.turns.do(lambda: order.append("done")))
        failing = asyncio.ensure_future(loop.turns.do(lambda: order.remove("z")))
        left = asyncio.ensure_future(loop.turns.do(lambda: order.append("left")))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.sleep(0)
        loop.all()
        await done
        with pytest.raises(ValueError):
            await failing
        assert order == ["a", "done", "a", "a"]

    asyncio.run(body())


class Connection(Wire):
    """A transport that an Autobahn protocol can live on."""

    disconnecting = False

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def write(self, data: bytes) -> None:
        self.written += len(data)

    def getPeer(self) -> IPv4Address:
        return IPv4Address("TCP", "127.0.0.1", 1)

    getHost = getPeer

    def setTcpNoDelay(self, on: bool) -> None:
        pass


HEAD = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def test_what_is_sent_is_not_worded_for_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        wire: Any = Connection()
        socket: Any = streams.granted([], streams.Inflow(wire, lambda message: None), lambda: None)
        socket.makeConnection(wire)
        socket.dataReceived(HEAD)
        greeted, counted = wire.written, socket.trafficStats.outgoingOctetsWireLevel
        monkeypatch.delattr(protocol, "hltype")
        socket.send(b"x" * 100)
        assert wire.written - greeted == 2 + 100
        assert socket.trafficStats.outgoingOctetsWireLevel - counted == 2 + 100

    asyncio.run(body())


def test_pings_that_come_at_once_are_answered_in_many_turns() -> None:
    ping = b"\x89\x80\0\0\0\0"

    async def body() -> None:
        wire: Any = Connection()
        socket: Any = streams.granted([], streams.Inflow(wire, lambda message: None), lambda: None)
        socket.makeConnection(wire)
        socket.dataReceived(HEAD)
        greeted = wire.written
        assert greeted > 0
        socket.dataReceived(ping * 10_000)
        assert wire.written == greeted and wire.told == ["pause"]
        rounds = 0
        while wire.written < greeted + 2 * 10_000:
            await asyncio.sleep(0)
            rounds += 1
        assert rounds > 3 and wire.told == ["pause", "resume"]

    asyncio.run(body())


def test_a_connection_is_over_though_it_was_lost_behind_a_frame_that_breaks_the_rules() -> None:
    unmasked = b"\x81\x01x"

    async def body() -> None:
        wire: Any = Connection()
        gone = asyncio.Event()
        socket: Any = streams.granted([], streams.Inflow(wire, lambda message: None), gone.set)
        socket.makeConnection(wire)
        socket.dataReceived(HEAD)
        socket.dataReceived(unmasked)
        lost: Any = Failure
        socket.connectionLost(lost(ConnectionLost()))
        assert not gone.is_set()
        await asyncio.wait_for(gone.wait(), waiting.seconds())
        assert wire.told == []

    asyncio.run(body())
