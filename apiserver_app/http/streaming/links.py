"""One forwarded connection to a pod's port, independent of the client's protocol.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward/httpstream.go
(portForward).
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

from apiserver_app.handlers.connect.streaming import Forward
from apiserver_app.http.streaming.conduit import Gone, pieces
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.net.nodeapi import Connection, NodeError
from apiserver_app.machinery.task import Task

PAIRS_MAX = 256  # connections at once
LINGER_SECONDS = 1  # for the pod's last data after the client has finished
EARLY_BYTES_MAX = 1 << 20  # of data for a connection that is still being dialled

Send = Callable[[bytes], Awaitable[None]]
Done = Callable[[], Awaitable[None]]


class Link:
    """One connection to a port: the client's data, and a task that reads the pod's."""

    def __init__(self, kernel: kernels.Kernel, forward: Forward, port: int) -> None:
        self.port = port
        self._kernel = kernel
        self._forward = forward
        self._connection: Connection | None = None
        self._early: list[bytes] = []
        self._early_bytes = 0
        self._done: Done | None = None
        self._task: Task | None = None
        self._finished = False  # the client has finished writing
        self._over = False

    def begin(self, send: Send, fail: Send, done: Done) -> None:
        """Dials and forwards: calls `send` with data, `fail` with an error, and finally `done`."""
        self._done = done
        name = f"portforward/{self.port}"
        self._task = self._kernel.spawn(name, self._carry(send, fail))

    def write(self, data: bytes) -> None:
        if self._finished:
            return
        if self._connection is not None:
            self._connection.write(data)
            return
        self._early.append(data)
        self._early_bytes += len(data)
        if self._early_bytes > EARLY_BYTES_MAX:
            self.close()

    def finish(self) -> None:
        """Ends the client's writing; the pod's last data may follow for a moment."""
        if not self._finished:
            self._finished = True
            due = self._kernel.now + LINGER_SECONDS * kernels.SECOND
            self._kernel.call_at(due, lambda _: self.close(), None)

    def close(self) -> None:
        """Ends it at once, from the client's side."""
        if self._end() and self._task is not None and self._done is not None:
            self._kernel.cancel(self._task)
            self._kernel.spawn(f"portforward/{self.port}", self._say(self._done))

    def kill(self) -> None:
        """Ends it silently: the client has disconnected."""
        if self._end() and self._task is not None:
            self._kernel.cancel(self._task)

    def _end(self) -> bool:
        """Marks it as ended; returns False if it already was."""
        was_over, self._over, self._finished = self._over, True, True
        if self._connection is not None:
            self._connection.close()
        return not was_over

    async def _say(self, done: Done) -> None:
        with contextlib.suppress(Gone):
            await done()

    async def _carry(self, send: Send, fail: Send) -> None:
        assert self._done is not None
        try:
            try:
                self._connection = await self._forward.dial(self.port)
            except NodeError as error:
                await fail(str(error).encode())
            else:
                await self._read(self._connection, send)
        except Gone:
            self.kill()
        else:
            if self._end():
                await self._say(self._done)

    async def _read(self, connection: Connection, send: Send) -> None:
        for data in self._early:
            connection.write(data)
        self._early.clear()
        while (got := await connection.read()) is not None:
            for piece in pieces(got):
                await send(piece)
