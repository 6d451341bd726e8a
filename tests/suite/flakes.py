"""Hunts for flakes: runs tests again and again on a machine that is made to stumble.

    make flakes TESTS="tests/browser/test_stepping.py"
    make flakes TESTS="tests/browser -k commands" ROUNDS=5

Half of the rounds have the machine to themselves, half run beside a load of eight processes; in all
of them edge, worker and what draws the pages stand still for moments, by a seed that is printed.
Ends with what was unstable, how often, and where the first failure of each left what it left.
"""

from __future__ import annotations

import collections
import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.suite import evidence, load, outcome, seeds

ROUNDS = 20
LOADS = (0, 8)
KEPT = evidence.FOLDER.with_name("flakes")


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    rounds = int(os.environ.get("ROUNDS") or ROUNDS)
    shutil.rmtree(KEPT, ignore_errors=True)
    failures: dict[int, collections.Counter[str]] = {
        beside: collections.Counter() for beside in LOADS
    }
    for beside in LOADS:
        with load.of(beside):
            for turn in range(rounds):
                found = one_round(arguments, seeds.seed() * 1000 + beside * 100 + turn)
                if found is None:
                    return 2
                failures[beside].update([*found.failed, *found.broken])
                for nodeid in found.failed:
                    keep(nodeid)
                done = f"load {beside}, round {turn + 1} of {rounds}"
                print(f"{done}: {found.passed} passed, {len(found.failed)} failed", flush=True)
    return tell(failures, rounds)


def one_round(arguments: list[str], seed: int) -> outcome.Outcome | None:
    """What one run of the tests comes to; nothing where pytest could not run them."""
    outcome.FILE.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    began = time.monotonic()
    with open(os.devnull, "w") as nowhere:
        running = subprocess.Popen(command, stdout=nowhere, stderr=subprocess.PIPE, text=True)
        with load.stumbling(running.pid, seed):
            _, said = running.communicate()
    if not outcome.FILE.exists():
        print(
            f"pytest ended with {running.returncode} after {time.monotonic() - began:.0f} s: {said}"
        )
        return None
    return outcome.Outcome.read()


def keep(nodeid: str) -> None:
    """The first failure of a test is kept; the next round would write over it."""
    left = evidence.folder_of(nodeid)
    with contextlib.suppress(FileExistsError, FileNotFoundError):
        shutil.copytree(left, KEPT / left.name)


def tell(failures: dict[int, collections.Counter[str]], rounds: int) -> int:
    unstable = sorted(set().union(*failures.values()))
    for nodeid in unstable:
        often = ", ".join(
            f"{failures[beside][nodeid]} of {rounds} at load {beside}" for beside in LOADS
        )
        left: Path = KEPT / evidence.folder_of(nodeid).name
        print(f"UNSTABLE {nodeid}: failed {often}; {left}")
    print(f"{len(unstable)} unstable")
    return 1 if unstable else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
