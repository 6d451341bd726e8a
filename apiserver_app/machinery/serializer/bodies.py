"""Decodes request bodies: JSON and YAML, with upstream's errors.

Every error is a 400. Knows nothing of the body's type.

Models apimachinery pkg/runtime/serializer/json/json.go, apiserver pkg/endpoints/handlers/rest.go
(summarizeData) and sigs.k8s.io/json (duplicate fields).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from apiserver_app.machinery import errors
from apiserver_app.machinery.serializer import gojson, yamlbody

YAML = "application/yaml"
DUPLICATES_MAX = 100
PARTS_MAX = 25_000  # maps and lists in total; upstream limits only the body's size
VALUES_MAX = 120_000  # fields and items of all of them
APPLIED_MAX = 30_000  # the same of an apply, where each has an owner, and may have another
DEPTH_MAX = 100  # nesting of maps and lists; upstream's limit is 10,000


def decode(
    body: bytes, content_type: str = "", *, find_duplicates: bool = False, into: str = ""
) -> tuple[Any, list[str]]:
    """The body's value, and a message for each duplicate field (the last one counts).

    No content type means JSON. `into` is the expected kind, for the error message."""
    if content_type.split(";", 1)[0].strip() == YAML:
        if body[:1] == b"{":  # JSON is YAML, but parses faster
            try:
                value, doubled = _decode_json(body, find_duplicates)
                if not doubled:
                    return value, []
            except errors.ApiError as error:
                if error.code != 400:
                    raise
            # the YAML parser reports what is wrong, if anything
        try:
            value, doubled = yamlbody.load(body, find_duplicates)
        except yamlbody.YamlError as error:
            why = str(error) if into else f"error converting YAML to JSON: {error}"
            raise refusal(body, why, into) from error
        if is_deep(value):
            raise refusal(body, _DEEP, into)
        check_parts(value)
        return value, doubled
    return _decode_json(body, find_duplicates, into, mends=True)


def _decode_json(
    body: bytes, find_duplicates: bool, into: str = "", mends: bool = False
) -> tuple[Any, list[str]]:
    check_cost(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        cause = gojson.syntax_error(body)
        mended = _mended(body) if mends and not cause else body
        if mended != body:
            return _decode_json(mended, find_duplicates, into)
        raise refusal(body, _json_error(body, cause, into), into) from error
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX and is_deep(value):
        raise refusal(body, f"couldn't get version/kind; {_DEEP}" if into else _DEEP, into)
    if body.count(b"{") + body.count(b"[") + body.count(b"null") > PARTS_MAX:
        check_parts(value)
    if find_duplicates and len(_NAMED.findall(body)) != _keys(value):
        return value, duplicates(body)
    return value, []


_NO_BYTE = re.compile("[\udc80-\udcff]")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.S)


def _mended(body: bytes) -> bytes:
    """With U+FFFD for each byte that is no UTF-8 and each half of a surrogate pair, as Go reads
    them."""
    text = _NO_BYTE.sub("\ufffd", body.decode(errors="surrogateescape"))
    return _ESCAPE.sub(lambda match: "\ufffd" if match[1] else match[0], text).encode()


_NO_MARKS = bytes(set(range(256)) - set(b'",{['))
_TEXT = re.compile(rb'"[^"]*"')


def check_cost(body: bytes) -> None:
    """Refuses a JSON document of too many values before it is parsed, by what stands between its
    texts; that takes a tenth of the time."""
    parts = body.count(b"{") + body.count(b"[")
    if parts <= PARTS_MAX and body.count(b",") < VALUES_MAX:
        return
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = body.translate(None, _NO_MARKS).replace(b'""', b"")
    if marks.count(b'"') > 4 * VALUES_MAX:  # names and texts with marks in them
        raise _too_many_values()
    marks = _TEXT.sub(b"", marks)
    if b"[" * 1025 in marks or b"{" * 1025 in marks:
        return  # deeper than the parser goes, which says so at once
    if marks.count(b"{") + marks.count(b"[") > PARTS_MAX:
        raise _too_many_parts()
    if marks.count(b",") >= VALUES_MAX:
        raise _too_many_values()


def _too_many_parts() -> errors.ApiError:
    return errors.too_many_values(f"{PARTS_MAX} objects and lists")


def _too_many_values(most: int = VALUES_MAX) -> errors.ApiError:
    return errors.too_many_values(f"{most} fields and items")


# each field of a JSON document ends its name so; a text that holds a quote and a colon does too
_NAMED = re.compile(rb'"[ \t\r\n]*:')


def _keys(value: Any) -> int:
    """The number of fields in a value: fewer than in the body if one is a duplicate."""
    return sum(len(part) for part in _parts(value) if part.__class__ is dict)


def _parts(value: Any) -> Iterator[Any]:
    """All maps and lists of a value, beginning with itself."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, (dict, list)):
            yield part
            items = part.values() if isinstance(part, dict) else part
            stack += [item for item in items if isinstance(item, (dict, list))]


_DEEP = "json parse error: exceeded max depth"


def is_deep(value: Any) -> bool:
    """Whether a value is nested more deeply than can be written back."""
    level = [value]
    for _ in range(DEPTH_MAX):
        inside: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                inside += [item for item in part.values() if isinstance(item, (dict, list))]
            elif isinstance(part, list):
                inside += [item for item in part if isinstance(item, (dict, list))]
        if not inside:
            return False
        level = inside
    return True


def check_parts(value: Any, values_max: int = VALUES_MAX) -> None:
    """Refuses a value of few bytes but too many objects, or too much in them. A null in a list
    counts as an object."""
    count = values = 0
    for part in _parts(value):
        count += 1 + (part.count(None) if isinstance(part, list) else 0)
        values += len(part)
        if count > PARTS_MAX:
            raise _too_many_parts()
    if values > values_max:
        raise _too_many_values(values_max)


def refusal(body: bytes, cause: str, into: str) -> errors.ApiError:
    """The 400 for a body that cannot be read."""
    if not into:
        return errors.bad_request(cause)
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {into}): {cause} ({summary(body)})"
    )


def type_error(value: Any) -> str:
    """Why the kind and version of a JSON value cannot be read; empty if they can."""
    why = ""
    if not isinstance(value, dict):
        why = f"{errors.json_type(value)} into Go value of type {errors.TYPE_META}"
    else:
        for name in ("apiVersion", "kind"):
            if not why and not isinstance(value.get(name) or "", str):
                word = errors.json_type(value[name])
                why = f"{word} into Go struct field .{name} of type string"
    unmarshal = "couldn't get version/kind; json parse error: json: cannot unmarshal"
    return f"{unmarshal} {why}" if why else ""


def summary(body: bytes, length: int = 30) -> str:
    """The beginning of a body as upstream quotes it."""
    if not body:
        return "<empty>"
    more = " ..." if len(body) > length else ""
    if body[:1] == b"{":
        return body[:length].decode(errors="replace") + more
    return body[:length].hex() + more


def _json_error(body: bytes, cause: str, into: str) -> str:
    if not cause:  # Go accepts such a number; here it is refused, as it cannot be written back
        cause = "exceeded max depth" if _is_deep(body) else "number out of range"
    return f"couldn't get version/kind; json parse error: {cause}" if into else cause


def _is_deep(body: bytes) -> bool:
    return body.count(b"[") + body.count(b"{") > 1000


def duplicates(body: bytes) -> list[str]:
    """`duplicate field "metadata.name"` for each field given twice. The body is valid JSON."""
    doubled: dict[int, list[str]] = {}
    kept: list[dict[str, Any]] = []  # ids stay valid while the dicts live

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(items)
        if len(out) != len(items):
            seen: set[str] = set()
            again = [key for key, _ in items if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
            doubled[id(out)] = list(dict.fromkeys(again))
            kept.append(out)
        return out

    messages: list[str] = []
    try:
        tree = json.loads(body, object_pairs_hook=pairs)
        if doubled:
            _locate(tree, "", doubled, messages)
    except RecursionError:  # deeper than any field of any type
        return []
    return messages[:DUPLICATES_MAX]


def _locate(value: Any, path: str, doubled: dict[int, list[str]], messages: list[str]) -> None:
    if isinstance(value, dict):
        for key in doubled.get(id(value), ()):
            messages.append(
                f'duplicate field "{path}.{key}"' if path else f'duplicate field "{key}"'
            )
        for key, item in value.items():
            _locate(item, f"{path}.{key}" if path else key, doubled, messages)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _locate(item, f"{path}[{index}]", doubled, messages)
