"""A flake is told from a failure, and only a few may pass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.suite import again


def sorted_out(failed: list[str], passes: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    said: list[str] = []
    return again.sort_out(failed, passes, said.append), said


def test_what_fails_once_more_fails_the_run() -> None:
    answers = iter([True, True, False])

    failed, said = sorted_out(["tests/a.py::test_a"], lambda nodeid: next(answers))

    assert failed == ["tests/a.py::test_a"]
    assert said == []


def test_what_passes_three_times_alone_is_unstable_and_says_how_it_runs_again() -> None:
    asked: list[str] = []

    def passes(nodeid: str) -> bool:
        asked.append(nodeid)
        return True

    failed, said = sorted_out(["tests/a.py::test_a"], passes)

    assert failed == []
    assert asked == ["tests/a.py::test_a"] * 3
    assert said[0] == "UNSTABLE tests/a.py::test_a: failed once, passed 3 times alone"
    assert "SUITE_SEED=" in said[1]


def test_three_unstable_tests_fail_the_run() -> None:
    failed, said = sorted_out(["a", "b", "c"], lambda nodeid: True)

    assert failed == ["a", "b", "c"]
    assert said[-1] == "3 unstable tests, at most 2 may be"


def test_many_failures_are_not_tried_again() -> None:
    names = [f"test_{number}" for number in range(11)]

    failed, said = sorted_out(names, lambda nodeid: True)

    assert failed == names
    assert "none is tried again" in said[0]


def test_a_test_is_run_alone_by_its_whole_name(tmp_path: Path) -> None:
    """With what pytest itself says of a real run: of one that passes, and of one that fails."""
    (tmp_path / "test_two.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('word', ['a b', 'c'])\n"
        "def test_it(word): assert word == 'a b'\n"
    )
    command = "from tests.suite import again; import sys; print(again.run_alone(sys.argv[1]))"

    def alone(nodeid: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", command, f"{tmp_path}/test_two.py::{nodeid}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.splitlines()[-1]

    assert alone("test_it[a b]") == "True"
    assert alone("test_it[c]") == "False"
