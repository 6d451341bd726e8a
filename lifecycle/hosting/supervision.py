"""Supervises the worker from the edge: joins it to the port, restarts it, ends it.

A worker that dies is restarted at once, then with growing delays, and given up after RESTARTS_MAX
deaths in a row. The port answers its open requests (504). The other direction needs no code: a
worker ends when its socket is closed.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable

from lifecycle.hosting import child
from lifecycle.hosting.port import edgeport, links

RESTARTS_MAX = 6
BACKOFF_SECONDS_MAX = 5.0
GOOD_LIFE_SECONDS = 10.0  # after so long, a death starts a new count
EXIT_SECONDS = 2.0  # from the end of the socket to the end of the process
STOP_SECONDS = 3.0  # for the last commit


class Supervisor:
    """Keeps one worker joined to the port. `gave_up` is called when it will not be replaced."""

    def __init__(
        self,
        edge: edgeport.EdgePort,
        spawn: Callable[[], child.Child],
        say: Callable[[str], None],
        gave_up: Callable[[], None],
    ) -> None:
        self._edge = edge
        self._spawn = spawn
        self._say = say
        self._gave_up = gave_up
        self._link: links.SocketLink | None = None
        self._deaths = 0
        self._born = 0.0
        self._ever_ready = False
        self._ready = False
        self._stopping = False
        self._burial: asyncio.Task[None] | None = None
        self.process: subprocess.Popen[bytes] | None = None
        edge.on_ready.append(self._on_ready)

    async def adopt(self, worker: child.Child) -> None:
        """Joins a newly started worker to the port."""
        self.process = worker.process
        self._born = asyncio.get_running_loop().time()
        self._ready = False
        self._link = await links.open_socket(worker.end, self._edge.receive, self._lost)
        self._edge.attach(self._link.send)

    async def stop(self) -> None:
        """Lets the worker commit and end; kills it after STOP_SECONDS."""
        self._stopping = True
        if self._burial is not None:
            self._burial.cancel()
        if self._link is not None:
            self._link.finish()
        if self.process is not None and not await _ended(self.process, STOP_SECONDS):
            self._say(f"the worker did not end within {STOP_SECONDS:g} s and is killed")
            self.kill()
        if self._link is not None:
            self._link.close()
        self._edge.detach()

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def _on_ready(self, _info: object) -> None:
        self._ready = self._ever_ready = True

    def _lost(self) -> None:
        if self._stopping:
            return
        self._edge.detach()
        if self._link is not None:
            self._link.close()
            self._link = None
        self._burial = asyncio.ensure_future(self._replace())

    async def _replace(self) -> None:
        dead = self.process
        assert dead is not None
        if not await _ended(dead, EXIT_SECONDS):
            dead.kill()
            await _ended(dead, EXIT_SECONDS)
        how = _how_it_ended(dead.returncode)
        if not self._ever_ready:
            if dead.returncode != child.EXIT_SAID:
                self._say(f"the worker did not start: it {how}")
            self._gave_up()
            return
        lived = asyncio.get_running_loop().time() - self._born
        self._deaths = 1 if self._ready and lived > GOOD_LIFE_SECONDS else self._deaths + 1
        if self._deaths > RESTARTS_MAX:
            self._say(f"the worker {how}; it died {RESTARTS_MAX} times in a row and is given up")
            self._gave_up()
            return
        delay = backoff_seconds(self._deaths)
        self._say(f"the worker (pid {dead.pid}) {how}; a new one starts" + _in(delay))
        await asyncio.sleep(delay)
        await self.adopt(self._spawn())


def backoff_seconds(deaths: int) -> float:
    """Returns the delay before a restart after this many deaths in a row."""
    return 0.0 if deaths <= 1 else min(0.25 * 2.0 ** (deaths - 2), BACKOFF_SECONDS_MAX)


async def _ended(process: subprocess.Popen[bytes], timeout_seconds: float) -> bool:
    """Waits for a process whose socket is closed to end; returns whether it did in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    while process.poll() is None:
        if loop.time() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was killed by signal {-code}"
    return f"ended with exit code {code}"


def _in(seconds: float) -> str:
    return f" in {seconds:g} s" if seconds else ""
