"""YAML that is written is read back as what it was, and any text is YAML or a YamlError."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from apiserver_app.http import encode
from apiserver_app.machinery.serializer import yamlbody
from tests.conftest import FUZZ
from tests.fuzz.samples import examples

# what plain words and punctuation are made of
LETTERS = "0123456789+-._eExXobnyYNtTfFlLsaiIrRuU~<=:#'\"\\ \n\t?,[]{}&*!|>%@`"
WORDS = st.sampled_from((
    "1e100", "2e3", "0o7", "0x1f", "1_000", "012", "1:30", ".inf", "-.INF", "=", "<<", "~", "yes",
    "Off", "null", "", "2001-01-01", "1.", "+1", "- a", "a: b", "#c", "\u2028", "\u0085", "\ufeff",
    "\x00", "\x7f", "\U0001f600",
))  # fmt: skip
TEXTS = WORDS | st.text(alphabet=LETTERS, max_size=8) | st.text(max_size=6)
VALUES = st.recursive(
    TEXTS
    | st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@hypothesis.settings(max_examples=examples(500) * FUZZ)
@hypothesis.given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert yamlbody.load(encode.as_yaml({"a": value})) == ({"a": value}, [])


@hypothesis.settings(max_examples=examples(500) * FUZZ)
@hypothesis.given(st.binary(max_size=60) | st.text(alphabet=LETTERS, max_size=40).map(str.encode))
def test_any_text_is_a_value_or_refused(body: bytes) -> None:
    try:
        yamlbody.load(body, find_duplicates=True)
    except yamlbody.YamlError as error:
        assert str(error)


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "0x" + "f" * 2000, "1e999", ".nan"])
def test_numbers_beyond_all_bounds_are_refused(number: str) -> None:
    with pytest.raises(yamlbody.YamlError):
        yamlbody.load(f"a: {number}".encode())


@pytest.mark.parametrize("piece", [b"[", b"{", b"- ", b"? ", b"a: [", b"- &a\n- [", b"!!a ["])
def test_a_text_nested_without_end_is_refused_and_not_the_end_of_the_process(piece: bytes) -> None:
    with pytest.raises(yamlbody.YamlError):
        yamlbody.load(piece * 500_000)
    with pytest.raises(yamlbody.YamlError):
        yamlbody.load_all(b"a: b\n---\n" + piece * 500_000)
