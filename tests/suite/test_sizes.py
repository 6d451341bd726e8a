"""Each test belongs to a size, and a sample is the same all day long."""

from __future__ import annotations

import pytest

from tests.suite import seeds, sizes


def test_every_part_of_the_core_is_there() -> None:
    assert [part for part in sizes.CORE if not (sizes.TESTS / part).exists()] == []


def test_an_unknown_size_is_a_mistake_and_not_a_smaller_suite(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(sizes.VARIABLE, "tiny")

    with pytest.raises(pytest.UsageError, match="one of core, usual, long is needed"):
        sizes.size()


def test_a_sample_is_drawn_by_the_seed_and_keeps_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sizes.VARIABLE, sizes.USUAL)
    rows = list(range(1000))
    monkeypatch.setenv("SUITE_SEED", "20250101")
    first, again = seeds.draw("rows", rows, 20), seeds.draw("rows", rows, 20)
    monkeypatch.setenv("SUITE_SEED", "20250102")
    other = seeds.draw("rows", rows, 20)

    assert first == again == sorted(first)
    assert len(first) == 20
    assert first != other


def test_the_long_suite_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sizes.VARIABLE, sizes.LONG)

    assert seeds.draw("rows", range(1000), 20) == list(range(1000))
