"""Both directions of a long-running client connection, and its end.

`send` waits while the client has too much left to read, which slows the producer down; the client's
data is acknowledged once it is received here, and only then may it send more. So both directions
are bounded. In a frozen cluster nothing moves: inputs wait at the host.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.http.exchange import Reply
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery import waiting

WINDOW_BYTES = 512 << 10  # the maximum in flight to the client
PIECE_BYTES = 32 << 10  # the size of one write, as in upstream's copying

Data = bytes | str


class Gone(Exception):
    """The client has disconnected."""


class Conduit:
    """One client of a stream. `gone` is set once it disconnected or was closed."""

    def __init__(self, kernel: kernels.Kernel, reply: Reply) -> None:
        self._reply = reply
        self._kernel = kernel
        self._used = kernel.now  # the last traffic in either direction
        self._timer = 0  # the idle timer; 0: none
        self._arrived: waiting.Mailbox[Data] = waiting.Mailbox(kernel)
        self._room = waiting.Signal(kernel)
        self._unread = 0
        self.gone = False
        self.bytes_in = self.bytes_out = 0
        self.on_gone: Callable[[], None] = lambda: None
        reply.listen(cancel=lambda _: self._left(), data=self._came, took=self._client_took)

    def expire(self, seconds: float, on_idle: Callable[[], None]) -> None:
        """Calls `on_idle` after so long without traffic."""
        idle = int(seconds * kernels.SECOND)

        def look(_: object) -> None:
            self._timer = 0
            if self.gone:
                return
            if self._kernel.now - self._used >= idle:
                on_idle()
            else:
                arm()

        def arm() -> None:
            self._timer = self._kernel.call_at(self._used + idle, look, None, background=True)

        arm()

    async def send(self, data: Data) -> None:
        """Sends to the client, once it has room. Raises Gone."""
        while self._unread >= WINDOW_BYTES and not self.gone:
            self._room.clear()
            await self._room.wait()
        if self.gone:
            raise Gone
        self._unread += len(data)
        self.bytes_out += len(data)
        self._used = self._kernel.now
        self._reply.body(data, True)

    async def receive(self) -> Data | None:
        """Returns the client's next data; None once it disconnected and all was received."""
        data = await self._arrived.get()
        if data is None:
            return None
        self.bytes_in += len(data)
        if not self.gone:
            self._reply.took(len(data))
        return data

    def rest(self) -> list[Data]:
        """Returns the unreceived data of a disconnected client."""
        return self._arrived.drain()

    def finish(self) -> None:
        """Ends an ordinary answer."""
        if not self.gone:
            self._end()
            self._reply.body(b"", False)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Ends a switched connection."""
        if not self.gone:
            self._end()
            self._reply.close(code, reason)

    def _came(self, data: Data) -> None:
        self._used = self._kernel.now
        self._arrived.put(data)

    def _client_took(self, count: int) -> None:
        self._unread -= count
        if self._unread < WINDOW_BYTES:
            self._room.set()

    def _left(self) -> None:
        if not self.gone:
            self._end()
            self.on_gone()

    def _end(self) -> None:
        self.gone = True
        if self._timer:
            self._kernel.drop(self._timer)
            self._timer = 0
        self._arrived.close()
        self._room.set()


def pieces(data: bytes) -> list[bytes]:
    """Splits data into writes."""
    if len(data) <= PIECE_BYTES:
        return [data]
    return [data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)]
