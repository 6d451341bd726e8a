"""Quantities: parsing, canonical form, exact sums, upstream's words when they are wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver_app.machinery.syntax import quantity


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"), ("0Gi", "0"), ("0e3", "0"), ("0.000", "0"), ("1", "1"), ("+5", "+5"),
        ("-5", "-5"), ("005", "005"), ("0.5", "500m"), (".5", "500m"), ("1.500", "1.500"),
        ("1.5", "1500m"), ("100m", "100m"), ("1000m", "1"), ("1500m", "1500m"), ("0.1m", "100u"),
        ("0.0000000001", "1n"), ("-0.0000000001", "-1n"), ("1000k", "1M"), ("12E", "12E"),
        ("1024Mi", "1Gi"), ("8Gi", "8Gi"), ("1.5Gi", "1536Mi"), ("0.5Mi", "512Ki"),
        ("0.1Ki", "102400m"), ("1.1Gi", "1181116006400m"), ("512", "512"), ("1Ki", "1Ki"),
        ("0.5Ki", "512"), ("-1.5Gi", "-1536Mi"), ("2e3", "2e3"), ("1E3", "1E3"), ("2000e3", "2e6"),
        ("1e-3", "1e-3"), ("30e1", "300"), ("9223372036854775807", "9223372036854775807"),
        ("9999999999999999999Ei", "9223372036854775807"),
    ],
)  # fmt: skip
def test_quantity_is_stored_in_canonical_form(text: str, canonical: str) -> None:
    assert quantity.canonical(text) == canonical


def test_json_numbers_are_quantities_too() -> None:
    assert quantity.canonical(2) == "2"
    assert quantity.canonical(0.5) == "500m"
    assert quantity.milli_value(2) == 2000


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        ("1", 1, 1000), ("100m", 1, 100), ("1500m", 2, 1500), ("-1500m", -2, -1500),
        ("1Ki", 1024, 1_024_000), ("0.1m", 1, 1), ("2e3", 2000, 2_000_000), ("0", 0, 0),
        (" 1 ", 1, 1000),
    ],
)  # fmt: skip
def test_values_are_rounded_up(text: str, whole: int, milli: int) -> None:
    assert quantity.value(text) == whole
    assert quantity.milli_value(text) == milli


@pytest.mark.parametrize(
    ("text", "message"),
    [(text, quantity.FORMAT_WRONG) for text in ("", "aoeu", "1.1.M", "1+1.0M", " 1", "1 ", "+-1")]
    + [(text, quantity.SUFFIX_WRONG) for text in ("1i", "0.1mi", "-3.01e-", "1iK", "1e99999999999")]
    + [("9" * 5000, quantity.NUMERIC_WRONG)],
)
def test_quantity_is_refused_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(quantity.QuantityError) as caught:
        quantity.parse(text)
    assert str(caught.value) == message


def test_sums_keep_the_format_of_the_first_and_zero_takes_the_others() -> None:
    gi, m = quantity.parse("1Gi"), quantity.parse("512M")
    assert str(gi + gi) == "2Gi"
    assert str(gi - gi) == "0"
    assert str(gi + m) == "1548576Ki"
    assert str(quantity.ZERO + gi) == "1Gi"
    assert str(quantity.parse("250m") + quantity.parse("750m")) == "1"
    assert str(quantity.parse("1") * 3) == "3"
    assert str(-quantity.parse("3Ki")) == "-3Ki"


def test_amounts_are_compared_not_texts() -> None:
    assert quantity.parse("1000m") == quantity.parse("1")
    assert hash(quantity.parse("1000m")) == hash(quantity.parse("1"))
    assert quantity.parse("1Gi") > quantity.parse("1G")
    assert quantity.parse("-1") < quantity.ZERO
    assert quantity.parse("1024Ki") <= quantity.parse("1Mi") <= quantity.parse("1.5Mi")


def test_beyond_exa_there_is_no_suffix_and_upstream_forgets_the_power() -> None:
    assert quantity.canonical("1000E") == "1"


SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "e3", "E-3"]
numbers = st.decimals(-10_000, 10_000, places=3).map(lambda number: f"{number:f}")
texts = st.builds("{}{}".format, numbers, st.sampled_from(SUFFIXES))


@given(texts)
def test_canonical_form_is_the_same_amount_and_its_own_canonical_form(text: str) -> None:
    once = quantity.canonical(text)
    assert quantity.parse(once) == quantity.parse(text)
    assert quantity.canonical(once) == once


@given(texts, texts)
def test_sum_and_difference_are_exact(left: str, right: str) -> None:
    first, second = quantity.parse(left), quantity.parse(right)
    total = exact(first + second)
    assert total == exact(first) + exact(second)
    assert exact(first - second) == exact(first) - exact(second)
    assert exact(quantity.parse(str(first + second))) == total


def exact(amount: quantity.Quantity) -> Fraction:
    return Fraction(amount.value) * Fraction(10) ** amount.scale
