"""JSON and YAML bodies: what they mean, and how upstream words the refusal of what is neither."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery import errors
from apiserver_app.machinery.serializer import bodies, gojson
from tests.fuzz.samples import examples

YAML = "application/yaml"


def refusal(body: bytes, content_type: str = "", into: str = "") -> str:
    with pytest.raises(errors.ApiError) as caught:
        bodies.decode(body, content_type, into=into)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


def from_yaml(text: str) -> Any:
    return bodies.decode(text.encode(), YAML)[0]


@pytest.mark.parametrize("content_type", ["", "application/json", "application/json; charset=x"])
def test_body_is_json_unless_it_says_yaml(content_type: str) -> None:
    assert bodies.decode(b'{"a":[1,"\xc3\xa9",null]}', content_type) == ({"a": [1, "é", None]}, [])


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b'{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        (b'{"a":NaN}', "invalid character 'N' looking for beginning of value"),
        (b'{"a":-Infinity}', "invalid character 'I' in numeric literal"),
        (b'{"a":01}', "invalid character '1' after object key:value pair"),
        (b'{"a":1.}', "invalid character '}' after decimal point in numeric literal"),
        (b'{"a":1e}', "invalid character '}' in exponent of numeric literal"),
        (b'{"a":"\n"}', "invalid character '\\n' in string literal"),
        (b'{"a":"\\x"}', "invalid character 'x' in string escape code"),
        (b'{"a":"\\u00g0"}', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"{} {}", "invalid character '{' after top-level value"),
        (b"[" * 20_000, "invalid character '[' exceeded max depth"),
        (b"[" * 5_000 + b"]" * 5_000, "exceeded max depth"),
        (b'{"a":1e999}', "number out of range"),
    ],
)
def test_body_that_is_no_json_is_refused_in_gos_words(body: bytes, sentence: str) -> None:
    assert refusal(body) == sentence


def test_refusal_says_what_should_have_come_and_how_it_began() -> None:
    body = b'{"kind":"Pod","metadata":{"name":"x"}'

    assert refusal(body, into="Pod") == (
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; "
        'json parse error: unexpected end of JSON input ({"kind":"Pod","metadata":{"nam ...)'
    )
    assert refusal(b"[1", into="Pod").endswith("unexpected end of JSON input (5b31)")
    assert refusal(b"", into="Pod").endswith("unexpected end of JSON input (<empty>)")


def test_fields_given_twice_are_named_with_their_path() -> None:
    body = b'{"a":1,"metadata":{"name":"x","name":"y","name":"z"},"l":[{},{"b":1,"b":2}],"a":2}'

    value, messages = bodies.decode(body, find_duplicates=True)

    assert value == {"a": 2, "metadata": {"name": "z"}, "l": [{}, {"b": 2}]}
    assert messages == [
        'duplicate field "a"',
        'duplicate field "metadata.name"',
        'duplicate field "l[1].b"',
    ]


@pytest.mark.parametrize("space", ["", " ", "\t\r\n "])
@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", 'c"', '":', "d\\"]), st.text('":,{ }')), max_size=5
    )
)
def test_doubled_fields_are_found_whatever_texts_and_spaces_look_like(
    space: str, pairs: list[tuple[str, str]]
) -> None:
    inside = ",".join(f"{json.dumps(name)}{space}:{json.dumps(text)}" for name, text in pairs)
    _, messages = bodies.decode(f'{{"o"{space}:[{{{inside}}}]}}'.encode(), find_duplicates=True)
    names = [name for name, _ in pairs]
    assert len(messages) == len({name for name in names if names.count(name) > 1})


def test_fields_given_twice_are_not_looked_for_unasked() -> None:
    assert bodies.decode(b'{"a":1,"a":2}') == ({"a": 2}, [])


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=30) | st.text(alphabet='{}[]":,\\u0123eE+-.truefalsn \n', max_size=30))
def test_go_and_python_agree_on_what_is_json(body: bytes | str) -> None:
    data = body.encode() if isinstance(body, str) else body
    try:
        json.loads(data.decode(), parse_constant=lambda word: [][1])
        valid = True
    except (ValueError, IndexError):
        valid = False
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    assert (gojson.syntax_error(data) == "") == valid


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=40), st.sampled_from(["", YAML]))
def test_no_body_raises_anything_but_a_refusal(body: bytes, content_type: str) -> None:
    try:
        bodies.decode(body, content_type, find_duplicates=True, into="Pod")
    except errors.ApiError as error:
        assert error.code == 400


def test_plain_words_mean_what_goyaml_takes_them_for() -> None:
    assert from_yaml(
        "[yes, NO, on, y, ~, null, 'x', 0777, 0o17, 0x1F, 1_000, 089, 1:30, 2020-01-01,"
        " 2020-01-01T00:00:00Z, 1e3, 1.5, .5, 1.0, 1.2.3, -7]"
    ) == [
        True, False, True, "y", None, None, "x", 511, 15, 31, 1000, 89, "1:30", "2020-01-01",
        "2020-01-01T00:00:00Z", 1000, 1.5, 0.5, 1, "1.2.3", -7,
    ]  # fmt: skip


def test_json_is_yaml() -> None:
    assert from_yaml('{"kind": "Pod", "spec": {"a": [1, 2.5, "x"]}}') == {
        "kind": "Pod",
        "spec": {"a": [1, 2.5, "x"]},
    }


def test_keys_become_strings() -> None:
    assert from_yaml("{80: a, true: b, 1.5: c}") == {"80": "a", "true": "b", "1.5": "c"}


def test_aliases_and_merges_are_expanded_into_values_of_their_own() -> None:
    value = from_yaml("a: &a {x: 1, y: 2}\nb: *a\nc:\n  <<: *a\n  y: 3\n")

    assert value == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"x": 1, "y": 3}}
    assert value["a"] is not value["b"]


def test_first_document_counts() -> None:
    assert from_yaml("a: 1\n---\nb: 2\n") == {"a": 1}
    assert from_yaml("") is None


def test_keys_given_twice_in_yaml_are_named_with_their_line() -> None:
    body = b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n"

    value, messages = bodies.decode(body, YAML, find_duplicates=True)

    assert value == {"a": 3, "b": {"c": 2}}
    assert messages == [
        'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n'
        '  line 5: key "a" already set in map'
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: b: c\n", "mapping values are not allowed in this context"),
        ("a:\n\t- x\n", "line 2: found character that cannot start any token"),
        ("x: 1\na: [1\n", "line 2: did not find expected ',' or ']'"),
        ("a: *b\n", "found undefined alias"),
        ("a: &a [*a]\n", "found a recursive alias"),
    ],
)
def test_text_that_is_no_yaml_is_refused_in_goyamls_words(text: str, sentence: str) -> None:
    if not hasattr(yaml, "CSafeLoader"):
        pytest.skip("the wording is libyaml's")
    message = refusal(text.encode(), YAML)

    if "alias" in sentence:
        assert message.startswith("error converting YAML to JSON: yaml: ")
    else:
        assert message == f"error converting YAML to JSON: yaml: {sentence}"


def test_yaml_that_grows_without_bound_is_refused() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for before, after in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]")

    assert refusal("\n".join(lines).encode(), YAML) == (
        "error converting YAML to JSON: yaml: document contains excessive aliasing"
    )


@pytest.mark.parametrize("text", ["a: .nan", "a: -.inf", "[" * 3000, "{a: {? [b] : c}}", "~: 1"])
def test_yaml_that_json_cannot_hold_is_refused(text: str) -> None:
    assert refusal(text.encode(), YAML).startswith("error converting YAML to JSON: ")


def test_tags_never_make_anything_but_plain_values() -> None:
    assert from_yaml("a: !!python/object/apply:os.getcwd []") == {"a": []}
