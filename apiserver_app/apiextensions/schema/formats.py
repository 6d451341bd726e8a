"""String formats of schemas. Unknown formats are not checked.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go and
kube-openapi pkg/validation/strfmt.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import ipaddress
import re
from collections.abc import Callable

from apiserver_app.machinery.net import gourl
from apiserver_app.machinery.syntax import goduration

_UUID = r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_WORDS = "ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week"


def is_known(name: str) -> bool:
    return name.replace("-", "") in _CHECKS


def fits(name: str, text: str) -> bool:
    """Whether a string has the named format, which must be known."""
    return _CHECKS[name.replace("-", "")](text)


def _pattern(text: str) -> Callable[[str], bool]:
    compiled = re.compile(text)
    return lambda value: compiled.fullmatch(value) is not None


def _date_time(text: str) -> bool:
    match = re.fullmatch(
        r"\d{4}-\d\d-\d\d[Tt](\d\d):\d\d:\d\d(?:[.,]\d+)?(?:[Zz]|[+-]\d\d:?\d\d)", text
    )
    return match is not None and int(match.group(1)) < 24 and _date(text[:10])


def _date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text) is None:
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _duration(text: str) -> bool:
    try:
        goduration.parse(text)
    except goduration.DurationError:
        return re.fullmatch(rf"\d+\s*(?:{_WORDS})s?", text) is not None
    return True


def _ip(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version and "%" not in text
        except ValueError:
            return False

    return check


def _cidr(text: str) -> bool:
    if "/" not in text or re.search(r"/\d+$", text) is None:
        return False
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def _byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _isbn(*lengths: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        digits = re.sub(r"[\s-]", "", text)
        if len(digits) == 10 and 10 in lengths and re.fullmatch(r"\d{9}[\dX]", digits):
            values = [10 if char == "X" else int(char) for char in digits]
            return sum((10 - i) * value for i, value in enumerate(values)) % 11 == 0
        if len(digits) == 13 and 13 in lengths and digits.isdigit():
            return sum(int(char) * (1, 3)[i % 2] for i, char in enumerate(digits)) % 10 == 0
        return False

    return check


_CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _pattern(r"[0-9a-fA-F]{24}"),
    "uri": gourl.is_request_uri,
    "email": _pattern(r"(?:[^<>]*<)?[^@\s<>]+@[^@\s<>]+>?"),
    "hostname": _pattern(
        r"(?=.{1,255}$)(?:[a-zA-Z0-9_](?:[a-zA-Z0-9_-]{0,62}[a-zA-Z0-9_])?)"
        r"(?:\.[a-zA-Z0-9_](?:[a-zA-Z0-9_-]{0,62}[a-zA-Z0-9_])?)*\.?"
    ),
    "ipv4": _ip(4),
    "ipv6": _ip(6),
    "cidr": _cidr,
    "mac": _pattern(
        r"(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2}"
        r"[0-9A-Fa-f]{4}"
    ),
    "uuid": _pattern(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _pattern(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _pattern(_UUID % ("4", "[89ab]")),
    "uuid5": _pattern(_UUID % ("5", "[89ab]")),
    "isbn": _isbn(10, 13),
    "isbn10": _isbn(10),
    "isbn13": _isbn(13),
    "creditcard": _pattern(
        r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|"
        r"3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})"
    ),
    "ssn": _pattern(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _pattern(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _pattern(
        r"rgb\(\s*(?:(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*){2}"
        r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)"
    ),
    "byte": _byte,
    "password": lambda text: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
}
