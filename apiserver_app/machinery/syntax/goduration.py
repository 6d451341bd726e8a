"""Go's durations: `1h30m`, `-2.5s`. Numbers are whole nanoseconds.

Models Go's time package (ParseDuration and Duration.String).
"""

from __future__ import annotations

import re

from apiserver_app.machinery.errors import go_value

MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR = (
    1_000,
    1_000_000,
    1_000_000_000,
    60_000_000_000,
    3_600_000_000_000,
)
_UNITS = {
    "ns": 1, "us": MICROSECOND, "µs": MICROSECOND, "μs": MICROSECOND, "ms": MILLISECOND,
    "s": SECOND, "m": MINUTE, "h": HOUR,
}  # fmt: skip
_PIECE = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^.0-9]*)")
_DIGITS_MAX = 40


class DurationError(ValueError):
    """The text is no duration; Go's sentence."""


def parse(text: str) -> int:
    """Nanoseconds. Raises DurationError."""
    invalid = DurationError(f"time: invalid duration {go_value(text)}")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = 0
    while rest:
        piece = _PIECE.match(rest)
        assert piece is not None, "the pattern matches anything"
        whole, part, unit = piece[1], piece[3] or "", piece[4]
        if not whole and not part or len(whole) > _DIGITS_MAX:
            raise invalid
        if unit not in _UNITS:
            what = f"unknown unit {go_value(unit)}" if unit else "missing unit"
            raise DurationError(f"time: {what} in duration {go_value(text)}")
        part = part[:_DIGITS_MAX]
        total += int(whole or 0) * _UNITS[unit] + int(part or 0) * _UNITS[unit] // 10 ** len(part)
        rest = rest[piece.end() :]
    if total > 1 << 63 or (total == 1 << 63 and text[0] != "-"):
        raise invalid
    return -total if text[0] == "-" else total


def text(nanos: int) -> str:
    """As Go prints it: 641ms, 1.234s, 1m2.5s, 5m0s."""
    if nanos < 0:
        return "-" + text(-nanos)
    if not nanos:
        return "0s"
    for unit, size in (("ns", 1), ("µs", MICROSECOND), ("ms", MILLISECOND)):
        if nanos < size * 1000:
            return _decimal(nanos, size) + unit
    hours, rest = divmod(nanos, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds = _decimal(rest, SECOND) + "s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    digits = str(part).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if part else str(whole)
