"""Pages of records: the `from` and `limit` of a query, and an answer made of ready bytes.

An answer holds at most LIMIT_MAX records whatever was asked for, so that reading a long trace does
not swell the edge; its "next" says where to go on.
"""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from rest_framework import exceptions
from rest_framework.request import Request

LIMIT_MAX = 1000
LIMIT_ASKED_MAX = 100_000
NUMBER_MAX, DIGITS_MAX = 2**62, 19


def from_and_limit(request: Request) -> tuple[int, int]:
    """Raises ValidationError unless the text is a number in range."""
    limit = number(request, "limit", LIMIT_MAX, LIMIT_ASKED_MAX)
    return number(request, "from", 1, NUMBER_MAX), min(limit, LIMIT_MAX)


def number(request: Request, name: str, default: int, high: int = NUMBER_MAX) -> int:
    """A number of the query, from 1 on. Raises ValidationError for anything else."""
    text = request.query_params.get(name)
    if text is None:
        return default
    digits = text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX
    if not digits or not 1 <= int(text) <= high:
        raise exceptions.ValidationError({"detail": f"{name} must be a number from 1 to {high}"})
    return int(text)


def records_answer(
    records: bytes, last: int, end: int, header: dict[str, Any] | None = None
) -> HttpResponse:
    """Comma separated records as one JSON answer, without decoding them.

    `last` is the seq of the last one given, `end` the last there is.
    """
    following = json.dumps(last + 1 if records and last < end else None)
    head = "" if header is None else f'"header":{json.dumps(header)},'
    body = b'{%s"records":[%s],"last":%d,"next":%s}'
    return HttpResponse(
        body % (head.encode(), records, last, following.encode()), content_type="application/json"
    )
