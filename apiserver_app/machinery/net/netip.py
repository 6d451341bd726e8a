"""Validates addresses and prefixes as Go parses them, with Go's errors.

Models Go net/netip netip.go (ParseAddr, ParsePrefix).
"""

from __future__ import annotations

import json
import re

_HEX = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_BYTES = 16


class AddressError(ValueError):
    """An invalid address or prefix; the message is Go's."""


class _ParseError(Exception):
    def __init__(self, text: str, at: str = "") -> None:
        super().__init__(f"{text} (at {_quoted(at)})" if at else text)


def check_address(text: str) -> None:
    """Raises AddressError if Go cannot parse the address, with or without a zone."""
    try:
        _check(text)
    except _ParseError as error:
        raise AddressError(f"ParseAddr({_quoted(text)}): {error}") from None


def check_prefix(text: str) -> None:
    """Raises AddressError if Go cannot parse the prefix."""
    head = f"netip.ParsePrefix({_quoted(text)}): "
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise AddressError(f"{head}no '/'")
    try:
        check_address(address)
    except AddressError as error:
        raise AddressError(f"{head}{error}") from None
    if "%" in address:
        raise AddressError(f"{head}IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0"):
        raise AddressError(f"{head}bad bits after slash: {_quoted(bits)}")
    if len(bits) > 3 or int(bits) > (128 if ":" in address else 32):
        raise AddressError(f"{head}prefix length out of range")


def _check(text: str) -> None:
    for char in text:
        if char == ".":
            return _check_v4(text)
        if char == ":":
            return _check_v6(text)
        if char == "%":
            raise _ParseError("missing IPv6 address")
    raise _ParseError("unable to parse IP")


def _check_v4(text: str) -> None:
    value = dots = digits = 0
    for index, char in enumerate(text):
        if char.isascii() and char.isdigit():
            if digits == 1 and value == 0:
                raise _ParseError("IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                raise _ParseError("IPv4 field has value >255")
        elif char == ".":
            if index == 0 or index == len(text) - 1 or text[index - 1] == ".":
                raise _ParseError("IPv4 field must have at least one digit", text[index:])
            if dots == 3:
                raise _ParseError("IPv4 address too long")
            value, dots, digits = 0, dots + 1, 0
        else:
            raise _ParseError("unexpected character", text[index:])
    if dots < 3:
        raise _ParseError("IPv4 address too short")


def _check_v6(text: str) -> None:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _ParseError("zone must be a non-empty string")
    ellipsis = rest.startswith("::")
    if ellipsis:
        rest = rest[2:]
    read = 0
    while rest and read < _BYTES or (read == 0 and not ellipsis):
        match = _HEX.match(rest)
        digits = match.group() if match else ""
        _check_group(digits, rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            _check_embedded(rest, read, ellipsis)
            read, rest = read + 4, ""
            break
        read, rest = read + 2, rest[len(digits) :]
        if not rest:
            break
        rest = _after_colon(rest)
        if rest.startswith(":"):
            if ellipsis:
                raise _ParseError("multiple :: in address", rest)
            ellipsis, rest = True, rest[1:]
    if rest:
        raise _ParseError("trailing garbage after address", rest)
    if read < _BYTES and not ellipsis:
        raise _ParseError("address string too short")
    if read >= _BYTES and ellipsis:
        raise _ParseError("the :: must expand to at least one field of zeros")


def _check_group(digits: str, rest: str) -> None:
    if not digits:
        raise _ParseError("each colon-separated field must have at least one digit", rest)
    if len(digits) > 4:
        raise _ParseError("each group must have 4 or fewer digits", rest)


def _check_embedded(rest: str, read: int, ellipsis: bool) -> None:
    if not ellipsis and read != _BYTES - 4:
        raise _ParseError(
            "embedded IPv4 address must replace the final 2 fields of the address", rest
        )
    if read + 4 > _BYTES:
        raise _ParseError(
            "too many hex fields to fit an embedded IPv4 at the end of the address", rest
        )
    _check_v4(rest)


def _after_colon(rest: str) -> str:
    if rest[0] != ":":
        raise _ParseError("unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _ParseError("colon must be followed by more characters", rest)
    return rest[1:]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
