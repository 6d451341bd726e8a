"""What may befall a running demo: its processes die or stand still, its disk takes no writes."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
from pathlib import Path

from tests.lifecycle.hosting.running import Demo, wait_for_end
from tests.suite import waiting

UNLIMITED, INDEX_BYTES = resource.RLIM_INFINITY, 64 << 10


class Failing:
    """A disk that refuses to let any file grow beyond its index of the log, for a demo."""

    def __init__(self, demo: Demo) -> None:
        self._demo = demo
        self._limit(INDEX_BYTES)

    def heal(self) -> None:
        self._limit(UNLIMITED)

    def _limit(self, size: int) -> None:
        # the edge first: it makes the next workers
        for pid in (self._demo.endpoints["pid"], *_children(self._demo.endpoints["pid"])):
            try:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, UNLIMITED))
            except ProcessLookupError:
                continue


class Locked:
    """A database that somebody else has begun to write to."""

    def __init__(self, demo: Demo) -> None:
        file = demo.data_dir / "store.sqlite3"
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def heal(self) -> None:
        self._connection.close()


def worker_of(demo: Demo) -> int:
    """The worker that runs; after one that has just ended, the next."""
    return waiting.until(
        lambda: _told_worker(demo),
        what="a worker is started again",
        true=lambda pid: Path(f"/proc/{pid}").exists(),
    )


def _told_worker(demo: Demo) -> int:
    known = json.loads((demo.data_dir / "endpoints.json").read_text())
    return int(known["worker_pid"])


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        assert wait_for_end(pid)


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
