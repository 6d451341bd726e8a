"""Tells a worker that hangs from one that is slow, from outside.

The edge sends a ping twice a second, which a worker answers between any two steps. One that is
silent for HUNG_SECONDS hangs when it computed most of the time, sleeps, or was stopped. It does not
hang while a debugger holds it, while it waits for a disk, or while the machine gives it no time;
only after PATIENCE_SECONDS that makes no difference. A pause of the edge itself (the machine slept,
both were stopped) counts for nobody.
"""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

from lifecycle.hosting import board

PING_SECONDS = 0.5
PAUSE_SECONDS = 2.0  # between two pings: the edge did not run either
HUNG_SECONDS = 3.0
COMPUTING_SECONDS = 2.0  # of processor time since the last answer
PATIENCE_SECONDS = 60.0
START_SECONDS = 600.0  # until the first answer: a large store, a busy machine
STOPPED = "was stopped"


class Process(NamedTuple):
    """What the system knows about a process. `state` is empty where it knows nothing."""

    state: str  # R, S, D (waits for a disk), T (stopped), t (held by a debugger), ...
    cpu_seconds: float
    is_traced: bool


class Look:
    """At one process, where the system is Linux. It keeps its files open, so that it needs no
    descriptor later."""

    def __init__(self, pid: int) -> None:
        self._files: list[int] = []
        with contextlib.suppress(OSError):
            for name in ("stat", "status"):
                self._files.append(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC))

    def now(self) -> Process:
        try:
            stat, status = (os.pread(file, 4096, 0) for file in self._files)
        except (OSError, ValueError):
            return Process("", 0.0, False)
        fields = stat.rpartition(b")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        traced = b"TracerPid:\t0\n" not in status
        return Process(fields[0].decode(), ticks / os.sysconf("SC_CLK_TCK"), traced)

    def close(self) -> None:
        while self._files:
            os.close(self._files.pop())


class Watch:
    """Of one worker. All times are the edge's own."""

    def __init__(self, now: float, process: Process) -> None:
        self._answered = now
        self._asked = now
        self._cpu = process.cpu_seconds
        self._ever = False
        self._debugged = False

    def answered(self, now: float, process: Process, *, debugged: bool) -> None:
        self._answered, self._cpu = now, process.cpu_seconds
        self._ever, self._debugged = True, debugged

    def judge(self, now: float, process: Process, phase: int) -> str:
        """Called with each ping: why the worker is to be ended; empty when it is not."""
        pause, self._asked = now - self._asked, now
        if pause > PAUSE_SECONDS:
            self._answered += pause
        silent = now - self._answered
        if process.is_traced or process.state == "t" or self._debugged or silent < HUNG_SECONDS:
            return ""
        if silent >= (PATIENCE_SECONDS if self._ever else START_SECONDS):
            return f"did not answer for {silent:.0f} s"
        if not self._ever:
            return ""
        if process.state == "T":
            return STOPPED
        if phase == board.COMMIT or process.state not in ("R", "S"):
            return ""
        cpu = process.cpu_seconds - self._cpu
        if cpu >= COMPUTING_SECONDS or (process.state == "S" and cpu < 1):
            return f"did not answer for {silent:.0f} s"
        return ""
