"""Moments of virtual time as programs write them into their logs. Pure."""

from __future__ import annotations

import calendar
import re
import time

from apiserver_app.machinery.kernel import SECOND


def nginx(at: int) -> str:
    """2025/01/01 00:00:00, which Go's log package writes as well."""
    return _text(at, "%Y/%m/%d %H:%M:%S")


def common(at: int) -> str:
    """01/Jan/2025:00:00:00 +0000, of the common log format."""
    return _text(at, "%d/%b/%Y:%H:%M:%S +0000")


def go(at: int) -> str:
    """2025-01-01 00:00:00.000000 +0000 UTC"""
    return _text(at, "%Y-%m-%d %H:%M:%S") + f".{at % SECOND:06d} +0000 UTC"


def date(at: int) -> str:
    """Wed Jan  1 00:00:00 UTC 2025, as date(1) writes it."""
    return _text(at, "%a %b %e %H:%M:%S UTC %Y")


def http(at: int) -> str:
    """Wed, 01 Jan 2025 00:00:00 GMT"""
    return _text(at, "%a, %d %b %Y %H:%M:%S GMT")


def of(at: int, form: str) -> str:
    """By a format of date(1)."""
    form = form.replace("%N", f"{at % SECOND * 1000:09d}").replace("%s", str(at // SECOND))
    return _text(at, form)


def parsed(text: str, now: int) -> int | None:
    """The moment that a word for date(1) names: @seconds, now, or a date with or without a time."""
    if re.fullmatch(r"@\d{1,11}", text):
        return int(text[1:]) * SECOND
    if text in ("", "now"):
        return now
    for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"):
        try:
            moment = time.strptime(text.replace("T", " ").removesuffix("Z"), form)
        except ValueError:
            continue
        return calendar.timegm(moment) * SECOND
    return None


def _text(at: int, form: str) -> str:
    return time.strftime(form, time.gmtime(at // SECOND))
