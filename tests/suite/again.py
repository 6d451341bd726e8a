"""Tells a flake from a failure: what failed runs again alone, on the machine that is idle by then.

A test that fails once more is a failure. One that passes each time is unstable: a race, of the
product or of the test. A run may pass with a few of them, so that other people's work lands; who
sees one mends it before anything else (CONTRIBUTING.md).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence

from tests.suite import evidence

TIMES = 3
UNSTABLE_MAX = 2  # more are no coincidence
TRIED_MAX = 10  # more are no flakes, and each takes a while


def run_alone(nodeid: str) -> bool:
    """Whether a test passes when nothing else runs."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", nodeid]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-4000:] + done.stderr[-2000:])
    return done.returncode == 0


def sort_out(
    failed: Sequence[str],
    passes: Callable[[str], bool] = run_alone,
    say: Callable[[str], None] = print,
) -> list[str]:
    """Those of the failed that make the run fail, after each was tried again."""
    if len(failed) > TRIED_MAX:
        say(f"{len(failed)} tests failed: too many to be flakes, none is tried again")
        return list(failed)
    unstable: list[str] = []
    real: list[str] = []
    for nodeid in failed:
        (unstable if all(passes(nodeid) for _ in range(TIMES)) else real).append(nodeid)
    for nodeid in unstable:
        say(f"UNSTABLE {nodeid}: failed once, passed {TIMES} times alone")
        say(f"    what it left: {evidence.folder_of(nodeid)}; again: {evidence.again(nodeid)}")
    if len(unstable) > UNSTABLE_MAX:
        say(f"{len(unstable)} unstable tests, at most {UNSTABLE_MAX} may be")
        real += unstable
    return real
