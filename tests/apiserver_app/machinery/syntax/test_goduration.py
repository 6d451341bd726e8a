"""Durations are read and printed as Go does."""

from __future__ import annotations

import pytest

from apiserver_app.machinery.syntax import goduration


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0), ("-0", 0), ("1ns", 1), ("1.5us", 1500), ("1µs", 1000), ("1μs", 1000),
        ("100ms", 100_000_000), ("2.5s", 2_500_000_000), (".5s", 500_000_000), ("1.s", 10**9),
        ("1h30m", 5_400 * 10**9), ("-1m1s", -61 * 10**9), ("+3s", 3 * 10**9),
        ("9223372036854775807ns", (1 << 63) - 1), ("-9223372036854775808ns", -(1 << 63)),
    ],
)  # fmt: skip
def test_text_is_read(text: str, nanos: int) -> None:
    assert goduration.parse(text) == nanos


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", 'invalid duration ""'),
        ("-", 'invalid duration "-"'),
        (".s", 'invalid duration ".s"'),
        ("s", 'invalid duration "s"'),
        ("5", 'missing unit in duration "5"'),
        ("5d", 'unknown unit "d" in duration "5d"'),
        ("1h-2m", 'unknown unit "h-" in duration "1h-2m"'),
        ("9223372036854775808ns", 'invalid duration "9223372036854775808ns"'),
    ],
)
def test_text_that_is_no_duration_is_refused_in_gos_words(text: str, why: str) -> None:
    with pytest.raises(goduration.DurationError) as refused:
        goduration.parse(text)
    assert str(refused.value) == f"time: {why}"


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0s"), (1, "1ns"), (1100, "1.1µs"), (2_200_000, "2.2ms"), (3_300_000_000, "3.3s"),
        (245_000_000_000, "4m5s"), (245_001_000_000, "4m5.001s"), (300_000_000_000, "5m0s"),
        (18_367_001_000_000, "5h6m7.001s"), (-1_000_000_000, "-1s"),
        (641_000_000, "641ms"), ((1 << 63) - 1, "2562047h47m16.854775807s"),
    ],
)  # fmt: skip
def test_number_is_printed(nanos: int, text: str) -> None:
    assert goduration.text(nanos) == text
