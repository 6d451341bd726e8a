"""Load beside the tests: processes that compute, and moments in which others stand still."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

SECONDS_MAX = 7200  # then they end by themselves, whatever became of who started them
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
