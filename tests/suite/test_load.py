"""A machine can be made to stumble: what it stops goes on again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.suite import load, waiting

# ends once it has been told to; its name is that of a demo
_DEMO = "import sys; sys.stdin.read()"


def state(pid: int) -> str:
    """As the kernel says: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_demo_stands_still_now_and_then_and_goes_on_at_the_end() -> None:
    command = [sys.executable, "-c", _DEMO, "manage.py demo"]
    demo = subprocess.Popen(command, stdin=subprocess.PIPE)
    other = subprocess.Popen([sys.executable, "-c", _DEMO], stdin=subprocess.PIPE)
    seen = set[str]()
    try:
        with load.stumbling(os.getpid(), seed=1):
            waiting.until(
                lambda: state(demo.pid), what="a stop", true=lambda now: now == "T", every=0.002
            )
            seen.add(state(other.pid))
        waiting.until(lambda: state(demo.pid), what="to go on", true=lambda now: now != "T")
        assert "T" not in seen
    finally:
        for process in (demo, other):
            process.communicate(b"")
