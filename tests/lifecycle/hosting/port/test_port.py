"""The port: frames, and one contract for both hosts that carry it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from lifecycle.hosting.port import edgeport, frames, links
from tests.lifecycle.hosting.running import WAIT_SECONDS

Test = Callable[["edgeport.EdgePort", "FakeDriver"], Awaitable[None]]


class FakeDriver:
    """Keeps what arrives; tests answer by hand."""

    def __init__(self, send: frames.Send) -> None:
        self.send = send
        self.received: list[frames.Message] = []
        self._arrived = asyncio.Event()

    def receive(self, messages: list[frames.Message]) -> None:
        self.received += messages
        self._arrived.set()

    def start(self) -> None: ...

    def stop(self) -> None: ...

    async def next(self) -> frames.Message:
        while not self.received:
            self._arrived.clear()
            await asyncio.wait_for(self._arrived.wait(), WAIT_SECONDS)
        return self.received.pop(0)


@contextlib.asynccontextmanager
async def over_socket() -> AsyncIterator[tuple[edgeport.EdgePort, FakeDriver]]:
    edge_end, worker_end = socket.socketpair()
    edge = edgeport.EdgePort(asyncio.get_running_loop())
    driver = FakeDriver(lambda messages: worker_link.send(messages))
    worker_link = await links.open_socket(worker_end, driver.receive, lambda: None)
    link = await links.open_socket(edge_end, edge.receive, edge.detach)
    edge.attach(link.send)
    yield edge, driver
    link.close()
    worker_link.close()


@contextlib.asynccontextmanager
async def over_loop() -> AsyncIterator[tuple[edgeport.EdgePort, FakeDriver]]:
    loop = asyncio.get_running_loop()
    edge = edgeport.EdgePort(loop)
    link = links.LoopLink(loop, edge)
    driver = FakeDriver(link.to_edge)
    link.open(driver)
    yield edge, driver
    link.close()


@pytest.fixture(params=[over_socket, over_loop], ids=["socket", "loop"])
def run(request: pytest.FixtureRequest) -> Callable[[Test], None]:
    """Runs a test body with an edge port and a driver joined by each host in turn."""

    def runner(test: Test) -> None:
        async def body() -> None:
            async with request.param() as (edge, driver):
                await asyncio.wait_for(test(edge, driver), WAIT_SECONDS)

        asyncio.run(body())

    return runner


def ask(edge: edgeport.EdgePort, path: str = "/x", body: bytes = b"") -> edgeport.Answer:
    headers = [("accept", "*/*")]
    return edge.request("demo", "GET", path, "a=b", headers, body, None, "127.0.0.1:1")


def test_request_arrives_as_it_was_sent(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        tls = ["alice", ["dev"], "ca", "", "00"]
        edge.request("c1", "POST", "/a%2Fb", "q=%20", [("x", "ü")], b"\x00\xff", tls, "1.2.3.4:5")
        kind, number, *rest = await driver.next()
        assert kind == "req" and isinstance(number, int)
        assert rest[:4] == ["c1", "POST", "/a%2Fb", "q=%20"]
        assert [tuple(one) for one in rest[4]] == [("x", "ü")]
        assert rest[5:] == [b"\x00\xff", tls, "1.2.3.4:5"]

    run(body)


def test_answer_in_one_piece(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        driver.send([("head", number, 201, [("a", "b")], False, b"done")])
        status, headers, more, data = await answer.head()
        assert (status, more, data) == (201, False, b"done")
        assert [tuple(header) for header in headers] == [("a", "b")]
        assert edge.pending == 0

    run(body)


def test_stream_arrives_in_order_and_ends(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        driver.send([("head", number, 200, [], True, b"0")])
        driver.send([("body", number, b"1", True), ("body", number, b"2", True)])
        driver.send([("body", number, b"3", False)])
        got = (await answer.head())[3]
        more = True
        while more:
            data, more = await answer.body()
            got += data
        assert got == b"0123"
        assert edge.pending == 0

    run(body)


def test_closing_an_open_answer_tells_the_worker_once(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        answer.close()
        answer.close()
        ask(edge, "/next")
        assert await driver.next() == ("cancel", number)
        assert (await driver.next())[4] == "/next"
        driver.send([("head", number, 200, [], False, b"late")])  # nobody is hurt by it
        with pytest.raises(edgeport.Gone):
            await answer.head()

    run(body)


def test_control_gives_the_result_or_the_refusal(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        asked = asyncio.ensure_future(edge.control("demo", "speed", {"speed": 2}))
        kind, number, *rest = await driver.next()
        assert [kind, *rest] == ["ctl", "demo", "speed", {"speed": 2}]
        driver.send([("ctlr", number, True, {"speed": 2})])
        assert await asked == {"speed": 2}
        asked = asyncio.ensure_future(edge.control("demo", "fly", {}))
        number = (await driver.next())[1]
        driver.send([("ctlr", number, False, {"error": "unknown action"})])
        with pytest.raises(edgeport.Refused, match="unknown action"):
            await asked

    run(body)


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


UNSENDABLE = {
    "a number is beyond 64 bits": 2**64,
    "a text is no Unicode": "\ud800",
    "it is nested too deeply": nested(100_000),
}


@pytest.mark.parametrize("why", UNSENDABLE)
def test_a_control_action_that_cannot_cross_is_refused_and_takes_nothing_with_it(
    run: Callable[[Test], None], why: str
) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        asked = ask(edge)
        with pytest.raises(edgeport.Refused, match=why):
            await edge.control("demo", "speed", {"speed": UNSENDABLE[why]})
        kind, number, *_ = await driver.next()
        driver.send([("head", number, 200, [], False, b"well")])
        assert (kind, (await asked.head())[3]) == ("req", b"well")
        assert edge.pending == 0

    run(body)


def test_a_result_that_cannot_cross_is_refused_and_takes_no_other_with_it() -> None:
    async def body() -> None:
        async with over_socket() as (edge, driver):
            asked, controlled = ask(edge), asyncio.ensure_future(edge.control("demo", "state", {}))
            numbers = [(await driver.next())[1] for _ in range(2)]
            driver.send(
                [
                    ("ctlr", numbers[1], True, {"now": 2**64}),
                    ("log", 2**64),
                    ("head", numbers[0], 200, [], False, b"well"),
                ]
            )
            assert (await asked.head())[3] == b"well"
            with pytest.raises(edgeport.Refused, match="a number is beyond 64 bits"):
                await controlled

    asyncio.run(body())


def test_news_reach_who_asked_for_them(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        heard: list[Any] = []
        edge.on_trace.append(lambda *what: heard.append(what))
        edge.on_state.append(lambda *what: heard.append(what))
        edge.on_log.append(lambda *what: heard.append(what))
        driver.send([("trace", "demo", 1, 2, b"{},{}"), ("state", "demo", {"mode": "run"})])
        driver.send([("log", "hello"), ("ready", {"nodes": 3})])
        assert await edge.ready(WAIT_SECONDS)
        assert heard == [("demo", 1, 2, b"{},{}"), ("demo", {"mode": "run"}), ("hello",)]
        assert edge.info == {"nodes": 3}

    run(body)


def test_forks_are_known_until_they_are_removed_or_their_worker_is(
    run: Callable[[Test], None],
) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        gone: list[str] = []
        edge.on_removed.append(gone.append)
        names = ("demo", "demo-fork-1", "demo-fork-2")
        driver.send([*(("state", name, {"mode": "run"}) for name in names), ("ready", {})])
        assert await edge.ready(WAIT_SECONDS)
        edge.stopped |= {"demo-fork-1", "demo-fork-2"}
        assert edge.clusters == set(names)
        driver.send([("removed", "demo-fork-1"), ("head", 0, 200, [], False, b"")])
        while not gone:
            await asyncio.sleep(0)
        assert (edge.clusters, edge.stopped) == ({"demo", "demo-fork-2"}, {"demo-fork-2"})
        edge.detach()
        assert gone == ["demo-fork-1", "demo-fork-2"]
        assert (edge.clusters, edge.stopped) == ({"demo"}, set())

    run(body)


def test_lost_worker_fails_what_waits_and_ends_streams(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        waiting, stream = ask(edge), ask(edge)
        control = asyncio.ensure_future(edge.control("demo", "state", {}))
        numbers = [(await driver.next())[1] for _ in range(3)]
        driver.send([("head", numbers[1], 200, [], True, b"first")])
        assert (await stream.head())[3] == b"first"
        edge.detach()
        with pytest.raises(edgeport.Lost):
            await waiting.head()
        with pytest.raises(edgeport.Lost):
            await control
        assert await stream.body() == (b"", False)
        with pytest.raises(edgeport.Lost):
            ask(edge)
        assert edge.pending == 0

    run(body)


def test_slow_reader_loses_its_stream_not_the_others(
    run: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgeport, "STREAM_BYTES_MAX", 100)

    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        slow, other = ask(edge), ask(edge)
        numbers = [(await driver.next())[1] for _ in range(2)]
        for number in numbers:
            driver.send([("head", number, 200, [], True, b"")])
        await other.head()
        driver.send([("body", numbers[0], b"x" * 101, True)])
        assert await driver.next() == ("cancel", numbers[0])
        driver.send([("body", numbers[1], b"y", True)])
        assert await other.body() == (b"y", True)
        assert await slow.body() == (b"x" * 101, False)

    run(body)


def test_too_many_requests_are_refused(
    run: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgeport, "PENDING_MAX", 2)

    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        first = ask(edge)
        ask(edge)
        with pytest.raises(edgeport.Full):
            ask(edge)
        first.close()
        ask(edge)

    run(body)


def peer(*groups: str, error: str = "") -> tuple[Any, ...]:
    return ("somebody", groups, "kubernetes", error, "", [])


ADMIN, STUDENT = peer("system:masters"), peer("students")
UNTRUSTED = peer("system:masters", error="unknown authority")


def test_the_last_seats_are_for_administrators_controls_and_health(
    run: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgeport, "PENDING_MAX", 2)
    monkeypatch.setattr(edgeport, "HEALTH_RESERVE", 1)
    monkeypatch.setattr(edgeport, "RESERVE", 4)

    def seated(edge: edgeport.EdgePort, path: str, peer: Any) -> bool:
        try:
            edge.request("demo", "GET", path, "", [], b"", peer, "127.0.0.1:1")
        except edgeport.Full:
            return False
        return True

    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        assert [seated(edge, "/x", STUDENT) for _ in range(3)] == [True, True, False]
        assert not seated(edge, "/x", UNTRUSTED) and not seated(edge, "/x", None)
        assert [seated(edge, "/readyz", None) for _ in range(2)] == [True, False]
        assert seated(edge, "/x", ADMIN)
        asked = asyncio.ensure_future(edge.control("demo", "resume", {}))
        number = next(one[1] for one in [await driver.next() for _ in range(5)] if one[0] == "ctl")
        driver.send([("ctlr", number, True, {})])
        assert await asked == {}
        assert [seated(edge, "/x", ADMIN) for _ in range(3)] == [True, True, False]

    run(body)


def test_switched_connection_carries_messages_both_ways_and_its_end(
    run: Callable[[Test], None],
) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        driver.send([("switch", number, [("a", "b")])])
        status, headers, more, _ = await answer.head()
        assert (status, [tuple(header) for header in headers], more) == (101, [("a", "b")], True)
        await answer.send(b"to")
        await answer.send("worker")
        assert await driver.next() == ("data", number, b"to")
        assert await driver.next() == ("data", number, "worker")
        driver.send([("body", number, b"1", True), ("body", number, "2", True)])
        assert await answer.messages() == ([b"1", "2"], True)
        answer.took(2)
        assert await driver.next() == ("took", number, 2)
        driver.send([("close", number, 1000, "over")])
        assert await answer.messages() == ([], False)
        assert answer.closing == (1000, "over")
        assert edge.pending == 0

    run(body)


def test_client_waits_while_the_worker_uses_nothing_up(
    run: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgeport, "CLIENT_BYTES_MAX", 10)

    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        driver.send([("switch", number, [])])
        await answer.head()
        await answer.send(b"x" * 10)
        waiting = asyncio.ensure_future(answer.send(b"y"))
        assert [(await driver.next())[0] for _ in range(2)] == ["data", "data"]
        await asyncio.sleep(0.05)
        assert not waiting.done()
        driver.send([("took", number, 10)])
        await waiting
        waiting = asyncio.ensure_future(answer.send(b"z" * 20))
        await driver.next()
        answer.close()  # the client vanished meanwhile
        await waiting

    run(body)


def test_paced_answer_tells_what_the_client_took_and_others_do_not(
    run: Callable[[Test], None],
) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        paced, plain = ask(edge), ask(edge)
        numbers = [(await driver.next())[1] for _ in range(2)]
        driver.send([("head", numbers[0], 200, [], "paced", b"")])
        driver.send([("head", numbers[1], 200, [], True, b"")])
        for answer, number in zip((plain, paced), reversed(numbers), strict=True):
            assert (await answer.head())[2] is True
            driver.send([("body", number, b"abc", True)])
            await answer.body()
            answer.took(3)
        assert await driver.next() == ("took", numbers[0], 3)

    run(body)


def test_a_window_is_reported_once_much_was_taken(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        driver.send([("head", number, 200, [], "window", b"")])
        assert (await answer.head())[2] is True
        for _ in range(2):
            answer.took(edgeport.WINDOW_TOOK_BYTES - 1)
        assert await driver.next() == ("took", number, 2 * edgeport.WINDOW_TOOK_BYTES - 2)

    run(body)


def test_lost_worker_closes_switched_connections(run: Callable[[Test], None]) -> None:
    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        driver.send([("switch", (await driver.next())[1], [])])
        await answer.head()
        edge.detach()
        assert await answer.messages() == ([], False)
        assert answer.closing[0] == edgeport.CLOSE_INTERNAL
        await answer.send(b"late")

    run(body)


def test_messages_of_one_turn_leave_as_one_frame() -> None:
    async def body() -> None:
        edge = edgeport.EdgePort(asyncio.get_running_loop())
        sent: list[list[frames.Message]] = []
        edge.attach(sent.append)
        ask(edge)
        ask(edge)
        await asyncio.sleep(0)
        assert [len(frame) for frame in sent] == [2]

    asyncio.run(body())


def test_frames_survive_any_cut() -> None:
    sent: list[list[frames.Message]] = [
        [("log", "a")],
        [],
        [("body", 1, b"\x00" * 300, True), ("log", "ü")],
    ]
    data = b"".join(frames.encode_frame(frame) for frame in sent)
    for cut in range(1, len(data)):
        reader = frames.FrameReader()
        got = [*reader.feed(data[:cut]), *reader.feed(data[cut:])]
        assert got == sent


def test_frame_over_the_limit_is_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = frames.encode_frame([("log", "x" * 200)])
    monkeypatch.setattr(frames, "FRAME_BYTES_MAX", 100)
    with pytest.raises(frames.PortError):
        frames.encode_frame([("log", "x" * 200)])
    with pytest.raises(frames.PortError):
        list(frames.FrameReader().feed(frame))


@pytest.mark.parametrize("body", [b"\x00\x00\x00\x01\xc1", b"\x00\x00\x00\x01\x07"])
def test_what_is_no_frame_is_refused(body: bytes) -> None:
    with pytest.raises(frames.PortError):
        list(frames.FrameReader().feed(body))


def test_what_was_there_at_once_is_not_for_the_client_to_keep_up_with(
    run: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgeport, "STREAM_BYTES_MAX", 100)
    monkeypatch.setattr(edgeport, "JOINED_BYTES", 60)

    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        driver.send([("head", number, 200, [], True, b"")])
        driver.send([("body", number, b"x" * 50, "part")] * 4)
        driver.send([("body", number, b"y" * 100, True)])
        await answer.head()
        assert await answer.body() == (b"x" * 100, True)
        assert await answer.body() == (b"x" * 100, True)
        assert await answer.body() == (b"y" * 100, True)
        driver.send([("body", number, b"y" * 101, True)])
        assert await driver.next() == ("cancel", number)

    run(body)
