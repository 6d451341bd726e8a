"""Several runs of one measurement: the median of each figure, its least and its most."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from lifecycle.bench import machine

RUNS = 3


def repeated(
    bench: str, measure: Callable[[], dict[str, Any]], runs: int = RUNS, **about: Any
) -> dict[str, Any]:
    """`said` stands in the result as it is: how much of what was measured."""
    measured = [measure() for _ in range(runs)]
    figures: dict[str, Any] = {"bench": bench, **about, "runs": runs}
    for key in measured[0]:
        values = [run[key] for run in measured]
        if isinstance(values[0], str):
            figures[key] = values
            continue
        figures[key] = round(statistics.median(values), 3)
        figures[f"{key}_min"], figures[f"{key}_max"] = min(values), max(values)
    return {**figures, "machine": machine.describe()}
