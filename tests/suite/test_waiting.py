"""Waiting says what it waited for and what was there instead; its bound is the machine's."""

from __future__ import annotations

import pytest

from tests.suite import machine, waiting


def test_the_fact_that_came_is_returned() -> None:
    answers = iter([0, 0, 7])

    assert waiting.until(lambda: next(answers), every=0) == 7


def test_what_never_came_is_told_with_what_was_seen_instead() -> None:
    with pytest.raises(waiting.NeverCame, match=r"three pods: not within 0 s; .*last: 2"):
        waiting.until(lambda: 2, 0, what="three pods", true=lambda pods: pods == 3)


def test_a_bound_is_as_much_wider_as_the_machine_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "slowness", lambda: 3.0)

    assert waiting.seconds(10) == 30
