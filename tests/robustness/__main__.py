"""python -m tests.robustness: many rounds, a line of figures after each run of some.

By default 200 rounds of kill -9, every fourth of them of both processes, 20 of a full disk and 20
of a stopped worker, in runs of RUN_ROUNDS, each on a new data directory.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from lifecycle.bench import machine
from tests.robustness import histories
from tests.robustness import linearizability as lin

RUN_ROUNDS = 12


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.robustness", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="of kill -9 (default %(default)s)")
    parser.add_argument("--disks", type=int, default=20, help="of a full disk")
    parser.add_argument("--stops", type=int, default=20, help="of a stopped worker")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    options = parser.parse_args()
    kinds = histories.kinds(options.rounds, options.disks, options.stops)
    began, totals = time.monotonic(), Counter[str]()
    for number, first in enumerate(range(0, len(kinds), RUN_ROUNDS)):
        seed, some = options.seed + number, kinds[first : first + RUN_ROUNDS]
        with tempfile.TemporaryDirectory() as folder:
            run = histories.Run(Path(folder), seed)
            for kind in some:
                run.round(kind)
            run.end()
        found = run.problems()
        totals.update(some)
        totals["problems"] += len(found)
        totals["unknown outcomes"] += run.unknown
        totals["watch events"] += len(run.events)
        for history in run.operations.values():
            totals["acknowledged writes"] += sum(
                operation.outcome == lin.OK and operation.kind != lin.GET for operation in history
            )
        for problem in found:
            sys.stdout.write(f"seed {seed}: {problem}\n")
        figures = {**totals, "seconds": round(time.monotonic() - began), "seed": options.seed}
        sys.stdout.write(json.dumps({**figures, **machine.describe()}) + "\n")
        sys.stdout.flush()
    return 1 if totals["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
