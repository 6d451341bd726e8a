"""What became of a run, written to a file for whoever decides what it means."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from tests.suite import costs

FILE = Path(__file__).resolve().parents[2] / ".suite" / "outcome.json"


@dataclass
class Outcome:
    """Of one run of pytest."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)  # node ids, also of those whose fixtures failed
    broken: list[str] = field(default_factory=list)  # what could not be collected
    spent: dict[str, float] = field(default_factory=dict)
    slow: float = 1.0

    @classmethod
    def read(cls) -> Outcome:
        return cls(**json.loads(FILE.read_text()))


_NOW = Outcome()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and report.nodeid not in _NOW.failed:
        _NOW.failed.append(report.nodeid)
    elif report.passed and report.when == "call":
        _NOW.passed += 1


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed and report.nodeid not in _NOW.broken:
        _NOW.broken.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    _NOW.spent, _NOW.slow = costs.told()
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(asdict(_NOW)))
    terminalreporter.write_line(f"processor seconds: {costs.in_words(_NOW.spent)}")
