"""The budget holds: a run that costs over a tenth more fails, and says what cost it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.suite import __main__ as suite
from tests.suite import costs, sizes
from tests.suite.outcome import Outcome


@pytest.fixture
def hundred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget of a hundred seconds."""
    file = tmp_path / "budget.json"
    file.write_text(json.dumps({sizes.USUAL: 100}))
    monkeypatch.setattr(suite, "BUDGET", file)


def cost(seconds: float, slow: float = 1.0) -> Outcome:
    return Outcome(spent={costs.DEMOS: seconds / 2, costs.BROWSER: seconds / 2}, slow=slow)


@pytest.mark.usefixtures("hundred")
def test_a_tenth_over_the_budget_may_be_and_more_may_not() -> None:
    assert suite.over_budget(sizes.USUAL, cost(109)) == ""

    told = suite.over_budget(sizes.USUAL, cost(111))

    assert told.startswith("OVER BUDGET: 111 reference seconds, at most 110 may be")
    assert "demos 56, browser 56" in told


@pytest.mark.usefixtures("hundred")
def test_a_slow_machine_may_take_as_much_longer_as_it_is_slower() -> None:
    assert suite.over_budget(sizes.USUAL, cost(215, slow=2.0)) == ""
    assert suite.over_budget(sizes.USUAL, cost(225, slow=2.0)) != ""


def test_each_size_that_is_held_has_a_figure() -> None:
    figures = json.loads(suite.BUDGET.read_text())

    assert sorted(figures) == sorted(set(sizes.SIZES) - {sizes.LONG})
    assert all(figures[size] > 0 for size in figures)
