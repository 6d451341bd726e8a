"""Values in Go's %#v syntax, told as encoding/json writes them, as field errors do since 1.34.

Fields keep their Go names, but for those of meta/v1, whose types have JSON names; what a pointer
points to is not in the syntax, and such a value stays as it is.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go (ErrorBody)
and Go's encoding/json.
"""

from __future__ import annotations

import ast
import base64
import json
import re
from typing import Any

_TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|0x[0-9a-f]+|-?\d+(?:\.\d+)?|true|false|<?nil>?|[{}:,()]|&)'
)
_BARE = re.compile(r"[A-Za-z_][\w./-]*")  # of a type that prints itself, which JSON quotes
_DATE = re.compile(r"\s*time\.Date\([^()]*\)")  # a time that is not set
_TYPE = re.compile(r"\s*((?:\[\]|\*|map\[\w+\])*[A-Za-z_][\w.]*)")
_VERSIONED = ("v1.", "metav1.")  # types whose fields have JSON names


class _Unknown(Exception):
    """The text does not say what the value is."""


def as_json(text: str) -> str:
    """The text as JSON, or as it is when it does not say what the value is."""
    if _BARE.fullmatch(text):
        return to_json(text)
    try:
        reader = _Reader(text)
        value = reader.value()
        if reader.rest():
            return text
    except (_Unknown, SyntaxError, ValueError):
        return text
    return to_json(value)


def to_json(value: Any) -> str:
    """As Go writes it: maps sorted, and safe inside of HTML."""
    out = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        out = out.replace(char, f"\\u{ord(char):04x}")
    return out


def _amount(number: dict[str, int]) -> str:
    """A quantity that was made from a number."""
    suffix = {0: "", -3: "m"}.get(number["scale"])
    if suffix is None:
        raise _Unknown
    return f"{number['value']}{suffix}"


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def rest(self) -> str:
        return self._text[self._at :].strip()

    def value(self) -> Any:
        token = self._token()
        if token in ("true", "false"):
            return token == "true"
        if token in ("nil", "<nil>"):
            return None
        if token == "&":
            return self.value()
        if token == "(":  # (*T)(nil), or an address
            return self._pointer()
        if token is not None:
            return ast.literal_eval(token)
        return self._typed()

    def _token(self, *wanted: str) -> str | None:
        match = _TOKEN.match(self._text, self._at)
        if not match or (wanted and match[1] not in wanted):
            if wanted:
                raise _Unknown
            return None
        self._at = match.end()
        return match[1]

    def _peeks(self, token: str) -> bool:
        match = _TOKEN.match(self._text, self._at)
        return match is not None and match[1] == token

    def _name(self) -> str:
        match = _TYPE.match(self._text, self._at)
        if not match:
            raise _Unknown
        self._at = match.end()
        return match[1]

    def _pointer(self) -> None:
        self._name()
        self._token(")")
        self._token("(")
        self._token("nil")
        self._token(")")

    def _typed(self) -> Any:
        date = _DATE.match(self._text, self._at)
        if date:
            self._at = date.end()
            return None
        name = self._name()
        if self._peeks("("):
            self._token("(")
            self._token("nil")
            self._token(")")
            return None
        self._token("{")
        if name.startswith("map["):
            return dict(sorted(self._pairs(quoted=True)))
        if name.startswith("[]"):
            items = self._items()
            is_bytes = name in ("[]byte", "[]uint8")
            return base64.b64encode(bytes(items)).decode() if is_bytes else items
        fields = dict(self._pairs(quoted=False))
        if name == "intstr.IntOrString":
            return fields["StrVal"] if fields["Type"] else fields["IntVal"]
        if name == "runtime.RawExtension":
            return json.loads(base64.b64decode(fields["Raw"])) if fields["Raw"] else None
        if name == "resource.Quantity":
            return fields["s"] or _amount(fields["i"])
        if name.startswith(_VERSIONED):
            return {f"{key[0].lower()}{key[1:]}": each for key, each in fields.items() if each}
        for embedded in ("TypeMeta", "ObjectMeta"):
            if embedded in fields:
                fields = {**fields.pop(embedded), **fields}
        return fields

    def _items(self) -> list[Any]:
        out: list[Any] = []
        while not self._peeks("}"):
            if out:
                self._token(",")
            out.append(self.value())
        self._token("}")
        return out

    def _pairs(self, *, quoted: bool) -> list[tuple[str, Any]]:
        out: list[tuple[str, Any]] = []
        while not self._peeks("}"):
            if out:
                self._token(",")
            key = self.value() if quoted else self._name()
            self._token(":")
            out.append((key, self.value()))
        self._token("}")
        return out
