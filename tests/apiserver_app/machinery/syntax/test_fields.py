"""Field selectors: terms, escapes, what they select, upstream's words when they are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver_app.machinery import errors
from apiserver_app.machinery.syntax import fields

POD = {"metadata.name": "web-1", "spec.nodeName": "node-1", "status.phase": "Running"}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("metadata.name=web-1", True),
        ("metadata.name==web-1", True),
        ("metadata.name=web-2", False),
        ("spec.nodeName!=node-2,status.phase=Running", True),
        ("spec.nodeName!=node-1,status.phase=Running", False),
        ("spec.unknown=", True),
        ("spec.unknown!=", False),
        (",,metadata.name=web-1,", True),
    ],
)
def test_field_selector_selects(text: str, selected: bool) -> None:
    assert fields.parse(text).matches(POD.get) is selected


def test_requirements_are_named_in_sorted_order() -> None:
    selector = fields.parse("spec.nodeName=node-1,metadata.name!=a")
    assert selector.requirements == (("metadata.name", "!=", "a"), ("spec.nodeName", "=", "node-1"))
    assert selector.paths() == ("metadata.name", "spec.nodeName")
    assert selector.exact("spec.nodeName") == "node-1"
    assert selector.exact("metadata.name") is None
    assert str(selector) == "metadata.name!=a,spec.nodeName=node-1"
    assert fields.parse("").empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=b\\c", "invalid field selector: invalid escape sequence: \\c"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_field_selector_is_refused_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(errors.ApiError) as caught:
        fields.parse(text)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_escaped_comma_belongs_to_the_value() -> None:
    selector = fields.parse("a=x\\,y\\=z,b=1")
    assert selector.requirements == (("a", "=", "x,y=z"), ("b", "=", "1"))


@given(st.text(max_size=20))
def test_any_value_survives_escaping(value: str) -> None:
    assert fields.parse(f"a={fields.escape(value)}").exact("a") == value
