"""Converters of the values in typed objects, one per Go type, each returning a new value.

A converter takes a JSON value and returns what Go would write back, or ABSENT if Go would omit the
field. It raises WrongType for a JSON value of another type and BadValue for a text that does not
parse. Valid texts are cached, so the same time or quantity is parsed once.

Models sigs.k8s.io/json (UnmarshalTypeError), apimachinery pkg/api/resource/quantity.go,
pkg/apis/meta/v1/{time,micro_time}.go, pkg/util/intstr/intstr.go and Go's encoding/base64.
"""

from __future__ import annotations

import binascii
import datetime
import functools
import re
from collections.abc import Callable
from typing import Any

from apiserver_app.machinery.syntax import quantity as syntax

Convert = Callable[[Any], Any]

REMEMBERED_MAX = 8192
TIMES_REMEMBERED_MAX = 1024  # a time comes again soon or never

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()


class WrongType(Exception):
    """A JSON value of a kind that the Go type cannot take. `kind` is the Go type's own kind, where
    its name does not tell; `source` is that of the value once it was read into a map."""

    def __init__(self, word: str, go_type: str, source: str = "", kind: str = "") -> None:
        super().__init__(word, go_type)
        self.word = word
        self.go_type = go_type
        self.source = source
        self.kind = kind
        self.struct = ""
        self.path: list[str] = []  # innermost first

    @property
    def ends(self) -> bool:
        """Whether it ends the decoding, as it comes from a type that reads JSON itself."""
        return self.kind == UNMARSHALER

    def sentence(self) -> str:
        if not self.struct:
            return f"json: cannot unmarshal {self.word} into Go value of type {self.go_type}"
        path = ".".join(reversed(self.path))
        return (
            f"json: cannot unmarshal {self.word} into Go struct field {self.struct}.{path} "
            f"of type {self.go_type}"
        )

    def converting(self) -> str:
        """What is said when the value comes out of a map and not out of JSON."""
        kind = self.kind or _kind_of(self.go_type)
        if kind == UNMARSHALER:
            return f"json: cannot unmarshal {self.word} into Go value of type {self.go_type}"
        if kind in ("map", "slice"):
            return f"cannot restore {kind} from {self.source}"
        if kind == "struct":
            return f"cannot restore struct from: {self.source}"
        if (self.source, kind.rstrip("3264")) in (("int64", "string"), ("float64", "int")):
            return f"cannot convert {self.source} to {self.go_type}"
        return f"unrecognized type: {kind}"


UNMARSHALER = "unmarshaler"  # a type that reads JSON itself


def _kind_of(go_type: str) -> str:
    if go_type.startswith(("map[", "[]")):
        return "map" if go_type[0] == "m" else "slice"
    return "struct" if "." in go_type else go_type


class BadValue(Exception):
    """A text of the right kind that does not parse; its message is upstream's."""

    def __init__(self, message: str, before: str = "") -> None:
        super().__init__(message)
        self._before = before
        self.ends = not before

    def sentence(self) -> str:
        return str(self)

    def converting(self) -> str:
        return self._before + str(self)


def wrong(value: Any, go_type: str, kind: str = "") -> WrongType:
    return WrongType(word(value), go_type, _SOURCES.get(type(value), "slice"), kind)


_SOURCES: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map",
    list: "slice",
}


def word(value: Any) -> str:
    """Go's name for the type of a JSON value."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "object" if isinstance(value, dict) else "array"


# -- plain scalars --------------------------------------------------------------------------------


def string(go_type: str, keep_zero: bool) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is str:
            return value if value or keep_zero else ABSENT
        if value is None:
            return ABSENT
        raise wrong(value, go_type, "string")

    return convert


def boolean(keep_zero: bool) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is bool:
            return value if value or keep_zero else ABSENT
        if value is None:
            return ABSENT
        raise wrong(value, "bool")

    return convert


def integer(bits: int, keep_zero: bool, wraps: list[bool] | None = None) -> Convert:
    """`wraps` holds True while the value comes out of a map: Go cuts off what is too much there."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    go_type = f"int{bits}"

    def convert(value: Any) -> Any:
        if type(value) is int and low <= value <= high:
            return value if value or keep_zero else ABSENT
        if value is None:
            return ABSENT
        if wraps and _is_whole(value):
            value = _wrapped(value, bits)
            return value if value or keep_zero else ABSENT
        raise _not_integer(value, go_type)

    return convert


def _is_whole(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _wrapped(value: float, bits: int) -> int:
    """What is left of a number in so many bits; a float beyond int64 becomes the least int64."""
    whole = int(value)
    if not -(1 << 63) <= whole < 1 << 63:
        whole = -(1 << 63)
    half = 1 << (bits - 1)
    return (whole + half) % (1 << bits) - half


def _not_integer(value: Any, go_type: str) -> WrongType:
    if type(value) in (int, float):
        return WrongType(f"number {value}", go_type, _SOURCES[type(value)])
    return wrong(value, go_type)


def number(keep_zero: bool) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) in (int, float):
            return value if value or keep_zero else ABSENT
        if value is None:
            return ABSENT
        raise wrong(value, "float64")

    return convert


def int_or_string(keep_zero: bool) -> Convert:
    whole = integer(32, True)

    def convert(value: Any) -> Any:
        if type(value) is str:
            return value
        if value is None:
            return 0 if keep_zero else ABSENT
        try:
            return whole(value)
        except WrongType as error:
            error.kind = UNMARSHALER
            raise

    return convert


def anything(value: Any) -> Any:
    """Raw JSON, copied so that it is not shared with the input."""
    if value is None:
        return ABSENT
    return copied(value)


def shared(value: Any) -> Any:
    """Raw JSON that is never changed in place (metadata.managedFields[].fieldsV1)."""
    return ABSENT if value is None else value


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


# -- quantities -----------------------------------------------------------------------------------

_QUANTITY = re.compile(r"[+-]?[0-9]*(?:\.[0-9]*)?(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)")
_SUFFIX = re.compile(r"[numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+")
_QUANTITY_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def quantity(value: Any) -> Any:
    """The canonical text of a quantity."""
    if type(value) is str:
        return quantity_text(value)
    if value is None:
        return ABSENT
    if type(value) in (int, float):
        return quantity_text(str(value))
    raise BadValue(_QUANTITY_FORMAT)


@functools.lru_cache(maxsize=REMEMBERED_MAX)
def quantity_text(text: str) -> str:
    text = text.strip()
    match = _QUANTITY.fullmatch(text)
    if not text or match is None:
        raise BadValue(_QUANTITY_FORMAT)
    if not _SUFFIX.fullmatch(match["suffix"]):
        raise BadValue("unable to parse quantity's suffix")
    try:
        return syntax.canonical(text)
    except syntax.QuantityError:  # told by the validation of the field
        return text


# -- times ----------------------------------------------------------------------------------------

# as the server writes them
_PLAIN_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_PLAIN_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
# patterns in the order in which Go parses them -> the layout's element
_TIME_PARTS = (
    (re.compile(r"\d{4}"), "2006", None),
    (re.compile(r"-"), "-", None),
    (re.compile(r"\d\d"), "01", ("month", 1, 12)),
    (re.compile(r"-"), "-", None),
    (re.compile(r"\d\d"), "02", ("day", 1, 31)),
    (re.compile(r"T"), "T", None),
    (re.compile(r"\d\d"), "15", ("hour", 0, 23)),
    (re.compile(r":"), ":", None),
    (re.compile(r"\d\d"), "04", ("minute", 0, 59)),
    (re.compile(r":"), ":", None),
    (re.compile(r"\d\d"), "05", ("second", 0, 59)),
)
_FRACTION = re.compile(r"[.,]\d+")
_SIX_DIGITS = re.compile(r"\.\d{6}(?!\d)")
_ZONE = re.compile(r"Z|[+-]\d\d:\d\d")


def time(value: Any) -> Any:
    """metav1.Time: whole seconds in UTC."""
    if type(value) is str:
        return time_text(value)
    if value is None:
        return ABSENT
    raise wrong(value, "string", UNMARSHALER)


def micro_time(value: Any) -> Any:
    """metav1.MicroTime: exactly six digits of a second, in UTC."""
    if type(value) is str:
        return micro_time_text(value)
    if value is None:
        return ABSENT
    raise wrong(value, "string", UNMARSHALER)


@functools.lru_cache(maxsize=TIMES_REMEMBERED_MAX)
def time_text(text: str) -> str:
    if _PLAIN_TIME.fullmatch(text) and _is_a_moment(text):
        return text
    moment = _parsed(text, RFC3339)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


@functools.lru_cache(maxsize=TIMES_REMEMBERED_MAX)
def micro_time_text(text: str) -> str:
    if _PLAIN_MICRO_TIME.fullmatch(text) and _is_a_moment(text):
        return text
    moment = _parsed(text, RFC3339_MICRO)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _is_a_moment(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _parsed(text: str, layout: str) -> datetime.datetime:
    """The moment; BadValue in the words of Go's time.Parse."""
    position = 0
    for pattern, element, limits in _TIME_PARTS:
        match = pattern.match(text, position)
        if match is None:
            raise _time_error(text, layout, text[position:], element)
        if limits and not limits[1] <= int(match[0]) <= limits[2]:
            raise BadValue(f"parsing time {_quoted(text)}: {limits[0]} out of range")
        position = match.end()
    micro = 0
    if layout == RFC3339_MICRO and not _SIX_DIGITS.match(text, position):
        raise _time_error(text, layout, text[position:], ".000000")
    if fraction := _FRACTION.match(text, position):
        micro = int(fraction[0][1:7].ljust(6, "0"))
        position = fraction.end()
    zone = _ZONE.match(text, position)
    if zone is None:
        raise _time_error(text, layout, text[position:], "Z07:00")
    if zone.end() != len(text):
        extra = _quoted(text[zone.end() :])
        raise BadValue(f"parsing time {_quoted(text)}: extra text: {extra}")
    try:
        moment = datetime.datetime.fromisoformat(text[:19] + zone[0].replace("Z", "+00:00"))
        return moment.replace(microsecond=micro).astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        raise BadValue(f"parsing time {_quoted(text)}: day out of range") from error


def _time_error(text: str, layout: str, rest: str, element: str) -> BadValue:
    return BadValue(
        f"parsing time {_quoted(text)} as {_quoted(layout)}: "
        f"cannot parse {_quoted(rest)} as {_quoted(element)}"
    )


def _quoted(text: str) -> str:
    """As Go's time package quotes: what is no printable ASCII byte by byte."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_ODD.sub(_bytes_in_hex, escaped)}"'


_ODD = re.compile("[\x00-\x1f]|[^\x00-\x7f]")


def _bytes_in_hex(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode(errors="surrogatepass"))


# -- bytes ----------------------------------------------------------------------------------------

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def base64(keep_zero: bool) -> Convert:
    """[]byte: standard base64 with padding; line breaks are dropped."""

    def convert(value: Any) -> Any:
        if type(value) is str:
            text = value if _BASE64.fullmatch(value) else _without_breaks(value)
            if text.endswith("="):  # the last byte's other bits may be set
                text = text[:-4] + _encoded(binascii.a2b_base64(text[-4:]))
            return text if text or keep_zero else ABSENT
        if value is None:
            return ABSENT
        if type(value) is list:
            return _encoded(bytes(map(_byte, value)))
        raise wrong(value, "[]uint8")

    return convert


def _byte(value: Any) -> int:
    """An element of a []byte that is sent as an array."""
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= 255:
        raise _not_integer(value, "uint8")
    return value


def _encoded(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).decode()


def _without_breaks(text: str) -> str:
    plain = text.replace("\r", "").replace("\n", "")
    if not _BASE64.fullmatch(plain):
        why = f"illegal base64 data at input byte {_corrupt_at(text)}"
        raise BadValue(why, "error decoding from json: ")
    return _encoded(binascii.a2b_base64(plain))


def _corrupt_at(text: str) -> int:
    """Where Go's decoder gives up: groups of four, line breaks skipped."""
    group = 0
    for at, letter in enumerate(text):
        if letter in "\r\n":
            continue
        if letter in _ALPHABET:
            group = (group + 1) % 4
            continue
        if letter != "=" or group < 2:
            return at
        rest = text[at + 1 :].replace("\r", "").replace("\n", "")
        if group == 3:
            return at + 1 if rest else at
        if not rest:
            return len(text)
        return at + 1 if rest[0] != "=" else at + 2
    return len(text) - group
