"""nc: a connection to somebody, or the first that comes in on a port of the container.

Models busybox networking/nc.c: it sends its input, closes its half when that ends, and ends
when the other side does.
"""

from __future__ import annotations

import msgspec

from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError, Interrupted, OutputFull, TimedOut
from controllers_app.shell.interpreter import Call
from controllers_app.shell.machine import Unreachable
from controllers_app.shell.sockets import Socket
from controllers_app.shell.streams import OUTPUT_MAX, Runner, Sink

TIMEOUT_SECONDS = 10.0
MOMENT_SECONDS = 0.001  # from a connection to the first look at it
USAGE = "nc: usage: nc [-l -p PORT [-k]] [-z] [-v] [-w SEC] [-e PROG] HOST PORT"


async def nc(call: Call) -> int:
    words = list(call.args)
    program: list[str] = []
    for number, word in enumerate(words):
        if word.startswith("-") and word.endswith("e"):  # the rest is the program
            program, words = words[number + 1 :], [*words[:number], *([word[:-1]] * (word != "-e"))]
            break
    flags, args = options(call, "zvunlk", "wp", words)
    if "l" in flags:
        port = flags.get("p") or (args[-1] if args else "")
        if not port.isdigit() or not 0 < int(port[:6]) < 65536:
            raise CommandError(USAGE, 1)
        return await _listened(call, int(port), program, again="k" in flags)
    if len(args) < 2 or not args[1].isdigit():
        raise CommandError(USAGE, 1)
    return await _connected(call, flags, args[0], int(args[1][:6]), program)


async def _listened(call: Call, port: int, program: list[str], *, again: bool) -> int:
    listener = call.machine.listen(port, call.runner.poke)
    if listener is None:
        call.err("bind: Address already in use")
        return 1
    try:
        while True:
            await call.runner.until(lambda: bool(listener.waiting))
            socket = listener.waiting.popleft()
            if not again:
                call.machine.hang_up(port)
            await _carried(call, socket, program)
            if not again:
                return 0
    finally:
        call.machine.hang_up(port)


async def _connected(
    call: Call, flags: dict[str, str], host: str, port: int, program: list[str]
) -> int:
    addresses = call.machine.resolve(host).addresses
    if not addresses:
        call.err(f"bad address '{host}'")
        return 1
    where = f"{host} ({addresses[0]}:{port})"
    try:
        endpoint = call.machine.connect(addresses[0], port)
    except Unreachable as error:
        if error.timed_out:
            seconds = flags.get("w", "")
            await call.runner.sleep(float(seconds[:6]) if seconds.isdigit() else TIMEOUT_SECONDS)
        if "v" in flags or "z" not in flags:
            call.err(f"{where}: {error}")
        return 1
    if "v" in flags:
        call.io.err(f"{where} open\n".encode())
    if endpoint.open is not None:
        socket = endpoint.open()
        if "z" in flags:
            socket.close()
            return 0
        return await _talked(call, socket)
    if "z" in flags:
        return 0
    data = await call.io.stdin.all()
    if endpoint.talk is not None:
        call.io.out(endpoint.talk(data))
    return 0


async def _talked(call: Call, socket: Socket) -> int:
    """The client's end: what the other side sends is written until it closes."""
    parts: list[bytes] = []
    closed: list[bool] = []

    async def hear() -> None:
        while (part := await socket.read()) is not None:
            parts.append(part)
            call.runner.poke()
        closed.append(True)
        call.runner.poke()

    kernel = call.runner.kernel
    hearing = kernel.branch(f"{call.machine.lane} nc", hear())
    saying = kernel.branch(f"{call.machine.lane} nc", _send_input(call, socket))
    try:
        while not closed or parts:
            await call.runner.until(lambda: bool(parts or closed))
            while parts:
                call.io.out(parts.pop(0))
    finally:
        kernel.cancel(hearing)
        kernel.cancel(saying)
        socket.close()
    return 0


async def _send_input(call: Call, socket: Socket) -> None:
    """The client's input, then that it ends."""
    try:
        while data := await call.io.stdin.line():
            await call.work(2)
            socket.write(data)
        socket.finish()
    except Interrupted:
        call.runner.interrupt()
    except TimedOut:
        socket.close()


async def _carried(call: Call, socket: Socket, program: list[str]) -> None:
    """The program's end: its input goes out, what comes in is written, until the client closes."""
    kernel, runner = call.runner.kernel, call.runner
    try:
        if program:
            own = msgspec.structs.replace(
                call.io, stdin=_Incoming(runner, socket), out=_sink(socket)
            )
            await call.shell.call(program, own)
            return
        sending = kernel.branch(f"{call.machine.lane} nc", _sent(call, socket))
        try:
            await runner.sleep(MOMENT_SECONDS)
            while True:
                await runner.until(socket.has_news)
                data = socket.take()
                if data:
                    call.io.out(data)
                elif socket.ended:
                    return
        finally:
            kernel.cancel(sending)
    finally:
        socket.close()


async def _sent(call: Call, socket: Socket) -> None:
    """The program's input, then that it ends."""
    try:
        while (data := await call.io.stdin.line()) and socket.send(data):
            await call.work(2)
        socket.shut()
    except Interrupted:
        call.runner.interrupt()
    except TimedOut:
        socket.close()


def _sink(socket: Socket) -> Sink:
    def put(data: bytes) -> None:
        if not socket.send(data):
            raise OutputFull

    return put


class _Incoming:
    """What comes in on a connection, as the input of a program."""

    def __init__(self, runner: Runner, socket: Socket) -> None:
        self._runner, self._socket = runner, socket
        self._data = b""
        self._at = 0  # how much of it is read

    async def _more(self) -> bool:
        await self._runner.until(self._socket.has_news)
        got = self._socket.take()
        self._data, self._at = self._data[self._at :] + got, 0
        return bool(got) and len(self._data) <= OUTPUT_MAX

    async def line(self) -> bytes:
        while self._data.find(b"\n", self._at) < 0 and await self._more():
            pass
        start, self._at = self._at, self._data.find(b"\n", self._at) + 1 or len(self._data)
        return self._data[start : self._at]

    def is_ready(self) -> bool:
        return self._data.find(b"\n", self._at) >= 0 or self._socket.has_news()

    async def all(self, end: bytes = b"") -> bytes:
        while not (end and self._data.endswith(end)) and await self._more():
            pass
        out, self._data, self._at = self._data[self._at :], b"", 0
        return out
