"""Cron schedules: parsing, and the next activation time.

Five fields (minute, hour, day of the month, month, day of the week), the shorthands `@daily` and
the like, and `@every` with a duration. When both kinds of day are restricted, one of them is
enough. Times are seconds since 1970. Hours are those of the schedule's time zone, so that an hour
that daylight saving time skips never comes, and one that it repeats comes twice.

Models github.com/robfig/cron/v3 (parser.go, spec.go, constantdelay.go).
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Iterator, Mapping

import msgspec

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.syntax import goduration, names

# how far ahead `next` searches
YEARS_MAX = 5

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
# least, most, words
_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {word: index + 1 for index, word in enumerate(_MONTHS)}),
    (0, 6, {word: index for index, word in enumerate(_DAYS)}),
)
_HOUR = 3600
_DAY = 24 * _HOUR


class ScheduleError(ValueError):
    """An invalid schedule; the message is the library's."""


class Field(msgspec.Struct, frozen=True):
    """The values of one field. `free`: it is `*`, so that only the other day field decides."""

    values: frozenset[int]
    free: bool


class Schedule(msgspec.Struct, frozen=True):
    """A parsed schedule: five fields in a time zone, or a fixed interval in seconds."""

    fields: tuple[Field, ...] = ()
    every: int = 0
    zone: datetime.tzinfo = datetime.UTC

    def next(self, after: int) -> int | None:
        """The first activation after that second; None if there is none within YEARS_MAX years."""
        if self.every:
            return after + self.every
        start = (meta.EPOCH + datetime.timedelta(seconds=after + 1)).astimezone(self.zone)
        date = start.date()
        while date.year <= start.year + YEARS_MAX:
            if date.month not in self.fields[3].values:
                date = (date.replace(day=1) + datetime.timedelta(days=32)).replace(day=1)
                continue
            if self._has_day(date):
                next_time = next((moment for moment in self._moments(date) if moment > after), None)
                if next_time is not None:
                    return next_time
            date += datetime.timedelta(days=1)
        return None

    def last(self, after: int, until: int) -> int | None:
        """The last activation behind `after` and up to `until`."""
        if self.every:
            steps = (until - after) // self.every
            return after + steps * self.every if steps > 0 else None
        earliest, date = (
            (meta.EPOCH + datetime.timedelta(seconds=second)).astimezone(self.zone).date()
            for second in (after + 1, until)
        )
        while date >= earliest:
            if date.month in self.fields[3].values and self._has_day(date):
                moments = [moment for moment in self._moments(date) if after < moment <= until]
                if moments:
                    return moments[-1]
            date -= datetime.timedelta(days=1)
        return None

    def _has_day(self, date: datetime.date) -> bool:
        of_month, of_week = self.fields[2], self.fields[4]
        by_month = date.day in of_month.values
        by_week = date.isoweekday() % 7 in of_week.values
        if of_month.free or of_week.free:
            return by_month and by_week
        return by_month or by_week

    def _moments(self, date: datetime.date) -> Iterator[int]:
        """The activations of one day in the time zone, which may have 23 or 25 hours."""
        midnight = datetime.datetime.combine(date, datetime.time(), self.zone)
        begin = int((midnight - meta.EPOCH).total_seconds())
        for hour in range(begin, begin + _DAY + 2 * _HOUR, _HOUR):
            local = (meta.EPOCH + datetime.timedelta(seconds=hour)).astimezone(self.zone)
            if local.date() == date and local.hour in self.fields[1].values:
                yield from (hour + 60 * minute for minute in sorted(self.fields[0].values))


def parse(text: str) -> Schedule:
    """Parses a schedule. Raises ScheduleError."""
    if not text:
        raise ScheduleError("empty spec string")
    zone: datetime.tzinfo = datetime.UTC
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, _, rest = text.partition(" ")
        zone, text = _zone(head.partition("=")[2]), rest.strip()
    if text.startswith("@"):
        if text.startswith(_EVERY):
            return Schedule(every=_every(text))
        if text not in _SHORTHANDS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = _SHORTHANDS[text]
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    fields = tuple(_field(part, *rules) for part, rules in zip(parts, _FIELDS, strict=True))
    return Schedule(fields=fields, zone=zone)


def local(moment: int, zone: str) -> datetime.datetime:
    """A time in a time zone."""
    return (meta.EPOCH + datetime.timedelta(seconds=moment)).astimezone(_zone(zone))


def _zone(name: str) -> datetime.tzinfo:
    if name in ("", "UTC"):
        return datetime.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        raise ScheduleError(f"provided bad location {name}: unknown time zone {name}") from None


def _every(text: str) -> int:
    """Whole seconds, at least one."""
    try:
        nanos = goduration.parse(text.removeprefix(_EVERY))
    except goduration.DurationError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
    return max(1, nanos // goduration.SECOND)


def _field(part: str, least: int, most: int, words: Mapping[str, int]) -> Field:
    values: set[int] = set()
    free = False
    for piece in part.split(","):
        moments, is_free = _piece(piece, least, most, words)
        values.update(moments)
        free = free or is_free
    return Field(frozenset(values), free)


def _piece(piece: str, least: int, most: int, words: Mapping[str, int]) -> tuple[range, bool]:
    """`*`, `?`, `a`, `a-b`, each with `/step`."""
    span, slash, step = piece.partition("/")
    if "/" in step:
        raise ScheduleError(f"too many slashes: {piece}")
    start, dash, end = span.partition("-")
    if "-" in end:
        raise ScheduleError(f"too many hyphens: {piece}")
    size = 1
    free = start in ("*", "?")
    if free:
        low, high = least, most
    else:
        low = _number(start, words)
        high = _number(end, words) if dash else most if slash else low
    if slash:
        size = _number(step, {})
        if size == 0:
            raise ScheduleError(f"step of range should be a positive number: {piece}")
    if low < least:
        raise ScheduleError(f"beginning of range ({low}) below minimum ({least}): {piece}")
    if high > most:
        raise ScheduleError(f"end of range ({high}) above maximum ({most}): {piece}")
    if low > high:
        raise ScheduleError(f"beginning of range ({low}) beyond end of range ({high}): {piece}")
    return range(low, high + 1, size), free and size == 1


def _number(text: str, words: Mapping[str, int]) -> int:
    if text.lower() in words:
        return words[text.lower()]
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not names.is_number(digits):
        why = f"strconv.Atoi: parsing {errors.go_value(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    value = int(text)
    if value < 0:
        raise ScheduleError(f"negative number ({value}) not allowed: {text}")
    return value
