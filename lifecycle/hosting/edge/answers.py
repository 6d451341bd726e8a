"""Answers of the edge itself, as ASGI messages: a Status for an error, text for health checks.

The edge uses them only where the worker cannot answer.
"""

from __future__ import annotations

import json
from typing import Any

from apiserver_app.machinery import errors


def messages_of(error: errors.ApiError) -> list[dict[str, Any]]:
    """Returns the messages that answer with the error's Status."""
    headers = list(error.headers)
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    body = json.dumps(error.status(), separators=(",", ":")).encode()
    return messages(error.code, "application/json", body, headers)


def problem(
    status: int, title: str, detail: str, headers: list[tuple[str, str]] | None = None
) -> list[dict[str, Any]]:
    """Returns the messages of an error of the product API, as RFC 9457 words it."""
    body = json.dumps({"title": title, "status": status, "detail": detail}).encode()
    return messages(status, "application/problem+json", body, headers)


def messages(
    status: int, content_type: str, body: bytes, headers: list[tuple[str, str]] | None = None
) -> list[dict[str, Any]]:
    """Returns the messages of a complete answer."""
    lines = [("Cache-Control", "no-cache, private"), ("Content-Type", content_type)]
    lines += headers or []
    lines.append(("Content-Length", str(len(body))))
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in lines]
    return [
        {"type": "http.response.start", "status": status, "headers": raw},
        {"type": "http.response.body", "body": body},
    ]
