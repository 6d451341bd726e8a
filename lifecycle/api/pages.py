"""Pages of records: the `from` and `limit` of a query, and an answer made of ready bytes."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from rest_framework import exceptions
from rest_framework.request import Request

LIMIT_DEFAULT, LIMIT_MAX = 1000, 5000


def from_and_limit(request: Request) -> tuple[int, int]:
    """Raises ValidationError for what is no number in range."""
    return (
        _number(request, "from", 1, 1, 2**62),
        _number(request, "limit", LIMIT_DEFAULT, 1, LIMIT_MAX),
    )


def records_answer(records: bytes, last: int, header: dict[str, Any] | None = None) -> HttpResponse:
    """Comma separated records as one JSON answer, without decoding them."""
    lead = b"{" if header is None else b'{"header":' + json.dumps(header).encode() + b","
    body = lead + b'"records":[' + records + b'],"last":%d}' % last
    return HttpResponse(body, content_type="application/json")


def _number(request: Request, name: str, default: int, low: int, high: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise exceptions.ValidationError(
            {"detail": f"{name} must be a number from {low} to {high}"}
        )
    return int(text)
