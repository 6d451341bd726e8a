"""Load beside the tests: processes that compute, and moments in which others stand still.

What a slow or busy machine does to a test by chance is done here by a seed: a race that needs such
a moment shows within a few runs.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

SECONDS_MAX = 7200  # then they end by themselves, whatever became of who started them
STOPPED_SECONDS = (0.01, 1.0)  # how long a process stands still
BETWEEN_SECONDS = (0.02, 0.5)
# edge and worker of a demo, and what draws a page; kubectl and pytest go on
STOPPED = ("manage.py demo", "manage.py demo-worker", "--type=renderer")
_SPIN = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    sum(range(10**5))
"""


@contextlib.contextmanager
def of(processes: int) -> Iterator[None]:
    """So many processes compute meanwhile."""
    command = [sys.executable, "-c", _SPIN, str(SECONDS_MAX)]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextlib.contextmanager
def stumbling(root: int, seed: int) -> Iterator[None]:
    """Now and then one of the processes below `root` stands still for a moment."""
    over = threading.Event()
    thread = threading.Thread(target=_stumble, args=(root, random.Random(seed), over))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _stumble(root: int, chance: random.Random, over: threading.Event) -> None:
    while not over.wait(chance.uniform(*BETWEEN_SECONDS)):
        candidates = sorted(pid for pid in below(root) if _may_stop(pid))
        if not candidates:
            continue
        pid = chance.choice(candidates)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            over.wait(chance.uniform(*STOPPED_SECONDS))
            os.kill(pid, signal.SIGCONT)


def below(root: int) -> list[int]:
    """The processes that a process started, and theirs."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
    found, before = {root}, 0
    while len(found) != before:
        before = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return sorted(found - {root})


def _may_stop(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return any(part in command.replace("\0", " ") for part in STOPPED)
