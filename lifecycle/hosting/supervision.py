"""Supervises the worker from the edge: joins it to the port, restarts it, ends it.

A worker that dies is restarted at once, then with growing delays, and given up after RESTARTS_MAX
deaths in a row. One that hangs is ended and replaced for as long as it takes; what it ran is
noted first. The port answers its open requests (503). The other direction needs no code: a worker
ends when its socket is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator

from lifecycle.hosting import child, quarantine, watchdog
from lifecycle.hosting.board import Board
from lifecycle.hosting.port import edgeport, links

RESTARTS_MAX = 6
BACKOFF_SECONDS_MAX = 5.0
GOOD_LIFE_SECONDS = 10.0  # after so long, a death starts a new count
EXIT_SECONDS = 2.0  # from the end of the socket to the end of the process
STOP_SECONDS = 3.0  # for the last commit
STACKS_SECONDS = 1.0  # for a worker that hangs to write down where
RESERVED = 24  # descriptors; starting a worker takes ten
# ends for which the worker's own work is to blame
FAULTS = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT))


class Reserve:
    """Descriptors kept so that a worker can be replaced when clients have taken all others."""

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._fill()

    @contextlib.contextmanager
    def released(self) -> Iterator[None]:
        """They are free meanwhile. Nothing is awaited inside, so nobody else takes them."""
        while self._kept:
            os.close(self._kept.pop())
        try:
            yield
        finally:
            self._fill()

    def _fill(self) -> None:
        with contextlib.suppress(OSError):
            while len(self._kept) < RESERVED:
                self._kept.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


class Supervisor:
    """Keeps one worker joined to the port. `gave_up` is called when it will not be replaced."""

    def __init__(
        self,
        edge: edgeport.EdgePort,
        spawn: Callable[[], child.Child],
        say: Callable[[str], None],
        gave_up: Callable[[], None],
        board: Board,
        note: Callable[[str, str], int],
    ) -> None:
        """`note` is called with the label and the stacks of what stopped a worker, and returns how
        often it has."""
        self._edge = edge
        self._spawn = spawn
        self._say = say
        self._gave_up = gave_up
        self._board = board
        self._note = note
        self.reserve = Reserve()
        self._watch: watchdog.Watch | None = None
        self._look: watchdog.Look | None = None
        self._watching: asyncio.Task[None] | None = None
        self._hung = ""  # why the worker was ended
        self._link: links.SocketLink | None = None
        self._deaths = 0
        self._born = 0.0
        self._ever_ready = False
        self._ready = False
        self._stopping = False
        self._burial: asyncio.Task[None] | None = None
        self.process: subprocess.Popen[bytes] | None = None
        edge.on_ready.append(self._on_ready)
        edge.on_pong.append(self._on_pong)

    async def adopt(self, worker: child.Child) -> None:
        """Joins a newly started worker to the port."""
        self.process = worker.process
        self._born = asyncio.get_running_loop().time()
        self._ready = False
        self._look = look = watchdog.Look(worker.process.pid)
        self._watch = watchdog.Watch(self._born, look.now())
        self._hung = ""
        self._link = await links.open_socket(worker.end, self._edge.receive, self._lost)
        self._edge.attach(self._link.send)
        self._watching = asyncio.ensure_future(self._keep_watch(worker, self._watch, look))

    async def stop(self) -> None:
        """Lets the worker commit and end; kills it after STOP_SECONDS."""
        self._stopping = True
        for task in (self._burial, self._watching):
            if task is not None:
                task.cancel()
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

    async def _keep_watch(
        self, worker: child.Child, watch: watchdog.Watch, look: watchdog.Look
    ) -> None:
        """Asks the worker for signs of life, and ends it when there are none."""
        loop, process = asyncio.get_running_loop(), worker.process
        try:
            while True:
                await asyncio.sleep(watchdog.PING_SECONDS)
                self._edge.ping()
                hung = watch.judge(loop.time(), look.now(), self._board.read().phase)
                if hung:
                    break
        finally:
            look.close()
        self._hung = hung
        if hung != watchdog.STOPPED:
            process.send_signal(signal.SIGABRT)
            await _ended(process, STACKS_SECONDS)
        process.kill()

    def _on_pong(self, debugged: bool) -> None:
        if self._watch is not None and self._look is not None:
            now = asyncio.get_running_loop().time()
            self._watch.answered(now, self._look.now(), debugged=debugged)

    def _on_ready(self, _info: object) -> None:
        self._ready = self._ever_ready = True
        self._on_pong(False)  # it has started: from here on it has no more time than any other

    def _lost(self) -> None:
        if self._stopping:
            return
        self._edge.detach()
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._watching is not None and not self._hung:
            self._watching.cancel()
        self._burial = asyncio.ensure_future(self._replace())

    async def _replace(self) -> None:
        dead = self.process
        assert dead is not None
        if not await _ended(dead, EXIT_SECONDS):
            dead.kill()
            await _ended(dead, EXIT_SECONDS)
        how = self._hung or _how_it_ended(dead.returncode)
        if dead.returncode == child.EXIT_AGAIN and self._ever_ready:
            await self._start_another(0.0 if self._ready else 1.0)
            return
        if not self._ever_ready or dead.returncode == child.EXIT_SAID:
            if dead.returncode not in (child.EXIT_SAID, child.EXIT_AGAIN):
                self._say(f"the worker did not start: it {how}")
            self._gave_up()
            return
        lived = asyncio.get_running_loop().time() - self._born
        self._deaths = 1 if self._ready and lived > GOOD_LIFE_SECONDS else self._deaths + 1
        if self._deaths > RESTARTS_MAX and not self._hung:
            self._say(f"the worker {how}; it died {RESTARTS_MAX} times in a row and is given up")
            self._gave_up()
            return
        delay = backoff_seconds(self._deaths)
        what = self._write_down(dead.returncode)
        self._say(f"the worker (pid {dead.pid}) {how}{what}; a new one starts" + _in(delay))
        await self._start_another(delay)

    async def _start_another(self, delay_seconds: float) -> None:
        """Tries until the system has the memory and the processes for one."""
        await asyncio.sleep(delay_seconds)
        while True:
            try:
                with self.reserve.released():
                    born = self._spawn()
                break
            except OSError as error:
                self._say(
                    f"a new worker cannot be started: {error.strerror}; it is tried again"
                    + _in(BACKOFF_SECONDS_MAX)
                )
                await asyncio.sleep(BACKOFF_SECONDS_MAX)
        await self.adopt(born)

    def _write_down(self, code: int | None) -> str:
        """Notes what the dead worker ran, if that is why it is dead; what to say of it."""
        by_fault = code is not None and -code in FAULTS
        seen = self._board.read()
        if not seen.label or self._hung == watchdog.STOPPED or not (self._hung or by_fault):
            return ""
        try:
            with self.reserve.released():
                times = self._note(seen.label, seen.stacks)
        except OSError as error:  # the disk is full: it goes on all the same
            return f" while it ran {seen.label} (which cannot be noted: {error.strerror})"
        again = ", which is not run again" if times >= quarantine.TIMES else ""
        return f" while it ran {seen.label}{again}"


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
