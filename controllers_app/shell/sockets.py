"""Ports that commands of a container listen on, and the connections that come in there.

Models TCP as busybox networking/nc.c gets it from the system.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.waiting import Mailbox

BACKLOG_MAX = 64  # connections that wait to be taken; more are refused
BYTES_MAX = 1 << 20  # that a program leaves unread


class Socket:
    """One connection. Its client has the methods of `Connection`; the program has the rest."""

    def __init__(self, kernel: Kernel, poke: Callable[[], None]) -> None:
        self.poke = poke  # the program: something has come
        self.ended = False  # the client will send no more
        self._in: list[bytes] = []
        self._size = 0
        self._unread = 0  # by the client
        self._out: Mailbox[bytes] = Mailbox(kernel)

    # -- the client's end -----------------------------------------------------------------------

    async def read(self) -> bytes | None:
        data = await self._out.get()
        self._unread -= len(data or b"")
        return data

    def write(self, data: bytes) -> None:
        if self.ended or not data:
            return
        self._in.append(data)
        self._size += len(data)
        if self._size > BYTES_MAX:
            self.close()
        self.poke()

    def finish(self) -> None:
        """Say that there is no more; what the program answers is still read."""
        self.ended = True
        self.poke()

    def close(self) -> None:
        self.shut()
        self.finish()

    # -- the program's end ----------------------------------------------------------------------

    def has_news(self) -> bool:
        return bool(self._in) or self.ended

    def take(self) -> bytes:
        """What has come; empty when nothing has."""
        data, self._size = b"".join(self._in), 0
        self._in.clear()
        return data

    def send(self, data: bytes) -> bool:
        """Whether the client may still read it."""
        if self._out.closed or self._unread > BYTES_MAX:
            return False
        if data:
            self._unread += len(data)
            self._out.put(data)
        return True

    def shut(self) -> None:
        """The program will send no more."""
        if not self._out.closed:
            self._out.close()


class Listener:
    """A port that a program listens on, with the connections that it has not taken yet."""

    def __init__(self, kernel: Kernel, poke: Callable[[], None]) -> None:
        self._kernel = kernel
        self._poke = poke
        self.waiting: deque[Socket] = deque()

    def opened(self) -> Socket:
        """A client connects."""
        made = Socket(self._kernel, self._poke)
        if len(self.waiting) < BACKLOG_MAX:
            self.waiting.append(made)
            self._poke()
        else:
            made.close()
        return made

    def close(self) -> None:
        """Nobody will take what waits."""
        while self.waiting:
            self.waiting.popleft().close()
