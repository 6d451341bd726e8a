"""Runs the suite in one of its sizes: `make test-core`, `make test`, `make test-long`.

In CI what failed is tried again alone (`again`). A run that was green is held to the budget
(`budget.json`, in processor seconds of the reference machine): it may cost a tenth more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.suite import again, costs, load, machine, outcome, seeds, sizes

BUDGET = Path(__file__).with_name("budget.json")
OVER_BY = 1.10
WORKERS = 3  # on two cores: the tests of demos and browsers wait for them part of the time
PROCESSES_OF_LOAD = 8
PYTEST_STARTED = (0, 1)  # all passed, some failed; all else is no run of tests


def main(arguments: list[str]) -> int:
    size = arguments[0] if arguments else sizes.USUAL
    if size not in sizes.SIZES or len(arguments) > 1:
        print(f"usage: python -m tests.suite [{' | '.join(sizes.SIZES)}]", file=sys.stderr)
        return 2
    os.environ[sizes.VARIABLE] = size
    seeds.seed(), machine.slowness()  # the same for all processes
    if size != sizes.LONG:
        return run(size)
    with load.of(PROCESSES_OF_LOAD):
        return max(run(size) for _ in range(2))


def run(size: str) -> int:
    """One run of pytest, and what it means; ends with a line of counts."""
    outcome.FILE.unlink(missing_ok=True)
    code = subprocess.call([sys.executable, "-m", "pytest", "-n", str(WORKERS)])
    if code not in PYTEST_STARTED or not outcome.FILE.exists():
        return code or 1
    found = outcome.Outcome.read()
    failed = found.failed
    if failed and os.environ.get("CI"):
        failed = again.sort_out(failed)
    complaint = "" if failed or size == sizes.LONG else over_budget(size, found)
    print(complaint or f"budget: {in_reference(found):.0f} of {budget(size):.0f} reference seconds")
    unstable = len(found.failed) - len(failed)
    print(f"{found.passed + unstable} passed, {len(failed) + len(found.broken)} failed", flush=True)
    return 1 if failed or found.broken or complaint else 0


def over_budget(size: str, found: outcome.Outcome) -> str:
    """A complaint about a run that costs too much; nothing about any other."""
    took, may = in_reference(found), budget(size) * OVER_BY
    if took <= may:
        return ""
    return (
        f"OVER BUDGET: {took:.0f} reference seconds, at most {may:.0f} may be "
        f"({costs.in_words(found.spent)}, slowness {found.slow:.2f}). Make it cheaper, or raise "
        f"{BUDGET.name} in a commit that says why."
    )


def in_reference(found: outcome.Outcome) -> float:
    return sum(found.spent.values()) / found.slow


def budget(size: str) -> float:
    return float(json.loads(BUDGET.read_text()).get(size, 0.0))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
