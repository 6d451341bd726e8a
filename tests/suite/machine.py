"""How slow this machine is now, beside the one on which the bounds and the budget were written.

A bound in seconds says something about somebody's machine. Bounds here are multiples of the time
that a fixed piece of work takes: the kind of work that most tests do (dicts, strings, JSON).
"""

from __future__ import annotations

import functools
import json
import os
import time

# what the work takes on the machine of the figures in budget.json, alone on a core
REFERENCE_SECONDS = 0.0150
_ROUNDS = 3
_VARIABLE = "SUITE_SLOWNESS"  # measured once by the process that starts the others


def work_seconds() -> float:
    """The processor time that the fixed piece of work takes now; some 15 ms on a quick machine."""
    began = time.process_time()
    _work()
    return time.process_time() - began


@functools.cache
def slowness() -> float:
    """How many times as long as on the reference machine things take, by the wall: what else runs
    here counts. At least 1, so that a quick machine has no narrow bounds."""
    if told := os.environ.get(_VARIABLE):
        return float(told)
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        _work()
        took.append(time.perf_counter() - began)
    found = max(1.0, sorted(took)[_ROUNDS // 2] / REFERENCE_SECONDS)
    os.environ[_VARIABLE] = f"{found:.2f}"
    return found


def _work() -> int:
    body = {"metadata": {"name": "n", "labels": {f"l{i}": str(i) for i in range(40)}}}
    size = 0
    for turn in range(850):
        body["metadata"]["name"] = f"web-{turn}"
        copy = json.loads(json.dumps(body, sort_keys=True))
        size += sum(len(key) + len(value) for key, value in copy["metadata"]["labels"].items())
    return size
