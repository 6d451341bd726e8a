"""What clients send over WebSockets is looked at in turns, a piece of each, for a few milliseconds;
so are the steps of TLS handshakes, and requests become WebSockets.

A frame costs some microseconds however small it is, so what can be read at once may take a tenth of
a second, and two hundred connections may send it again and again. A handshake costs a millisecond,
and as many may begin at once. What waits for its turn keeps its connection from being read.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

TURN_SECONDS = 0.004  # of all connections; then all else has its turn
PIECE_BYTES = 512
UNHEARD_BYTES_MAX = 16 << 10  # beyond it nothing is read

CallSoon = Callable[[Callable[[], None]], Any]


def _soon(call: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(call)


class Valve:
    """A transport that is read while nobody holds it."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._holders: set[str] = set()

    @property
    def is_held(self) -> bool:
        return bool(self._holders)

    def abort(self) -> None:
        self._transport.abortConnection()

    def hold(self, who: str) -> None:
        if not self._holders:
            self._transport.pauseProducing()
        self._holders.add(who)

    def release(self, who: str) -> None:
        if who in self._holders:
            self._holders.discard(who)
            if not self._holders:
                self._transport.resumeProducing()


class Looks(Protocol):
    def look(self) -> bool:
        """Looks at a piece; whether there is more to look at."""
        ...


class _Once:
    """Something that is done when its turn comes."""

    def __init__(self, do: Callable[[], None]) -> None:
        self._do = do
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def look(self) -> bool:
        if self.done.done():
            return False  # nobody waits for it any more
        try:
            self._do()
        except Exception as error:
            self.done.set_exception(error)
        else:
            self.done.set_result(None)
        return False


class Turns:
    """Those who have something to be looked at, each once."""

    def __init__(
        self, soon: CallSoon = _soon, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._waiting: deque[Looks] = deque()
        self._called = False
        self._soon = soon
        self._now = now

    def join(self, waiter: Looks) -> None:
        self._waiting.append(waiter)
        self._call()

    async def do(self, something: Callable[[], None]) -> None:
        once = _Once(something)
        self.join(once)
        await once.done

    def _call(self) -> None:
        if not self._called:
            self._called = True
            self._soon(self._take)

    def _take(self) -> None:
        self._called = False
        end = self._now() + TURN_SECONDS
        try:
            while self._waiting and self._now() < end:
                waiter = self._waiting.popleft()
                if waiter.look():
                    self._waiting.append(waiter)
        finally:
            if self._waiting:
                self._call()


TURNS = Turns()


class Waiting:
    """What one connection sent, until it is looked at. `hear` is given a piece; `has_room` says
    whether there is room for what comes of it: without, nothing is looked at until `go_on`."""

    def __init__(
        self,
        valve: Valve,
        hear: Callable[[bytes], None],
        has_room: Callable[[], bool] = lambda: True,
        turns: Turns = TURNS,
    ) -> None:
        self._valve = valve
        self._hear = hear
        self._has_room = has_room
        self._turns = turns
        self._unheard = bytearray()
        self._joined = False
        self._over: Callable[[], None] | None = None

    def add(self, data: bytes) -> None:
        self._unheard += data
        if len(self._unheard) > UNHEARD_BYTES_MAX:
            self._valve.hold("turn")
        self.go_on()

    def go_on(self) -> None:
        if self._unheard and not self._joined and self._has_room():
            self._joined = True
            self._turns.join(self)

    def end(self, over: Callable[[], None]) -> None:
        """The connection is lost: `over` is called once what there is room for was looked at."""
        self._over = over
        if not self._joined:
            self._finish()

    def look(self) -> bool:
        """Looks at a piece; whether there is more to look at."""
        piece = bytes(self._unheard[:PIECE_BYTES])
        del self._unheard[:PIECE_BYTES]
        heard = False
        try:
            self._hear(piece)
            heard = True
        finally:
            if not heard:
                self._cut_off()
        if len(self._unheard) <= UNHEARD_BYTES_MAX:
            self._valve.release("turn")
        self._joined = bool(self._unheard) and self._has_room()
        if not self._joined and self._over is not None:
            self._finish()
        return self._joined

    def _cut_off(self) -> None:
        if self._over is None:
            self._valve.abort()
        else:
            self._finish()

    def _finish(self) -> None:
        over, self._over = self._over, None
        self._unheard.clear()
        if over is not None:
            over()
