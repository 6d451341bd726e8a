"""Refusals as answers, and the headers every answer carries.

The one place where an ApiError becomes a status code, headers and bytes. A Status is always JSON
unless YAML was asked for.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters and
pkg/endpoints/filters/{audit_init,cachecontrol,warning}.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apiserver_app.http import encode, negotiation
from apiserver_app.machinery.errors import ApiError

Headers = list[tuple[str, str]]

TEXT = "text/plain; charset=utf-8"
NO_CACHE = "no-cache, private"
WARNING_TOTAL_MAX = 4096  # of all texts of one answer, as upstream bounds them
WARNING_TEXT_MAX = 256  # of each text once the bound above is passed


def render(
    error: ApiError, *, yaml: bool = False, pretty: bool = False
) -> tuple[int, Headers, bytes]:
    """The refusal as a Status: code, its own headers and body."""
    if error.plain:
        return error.code, _plain_headers(error), f"{error.message}\n".encode()
    headers = [("Content-Type", negotiation.YAML if yaml else negotiation.JSON)]
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    headers.extend(error.headers)
    return error.code, headers, _body(error.status(), yaml, pretty)


def _plain_headers(error: ApiError) -> Headers:
    """As Go's http.Error sets them."""
    headers = [("Content-Type", TEXT), ("X-Content-Type-Options", "nosniff")]
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    return headers


def success(details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The Status of what was done, as a delete answers when the object is gone at once."""
    out: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
    }
    if details:
        out["details"] = details
    return out


def common_headers(
    audit_id: str, flow: tuple[str, str] = ("", ""), texts: Sequence[str] = ()
) -> Headers:
    """The headers of every answer. `flow` is the uids of flow schema and priority level."""
    headers = [("Audit-Id", audit_id)] if audit_id else []
    headers.append(("Cache-Control", NO_CACHE))
    if texts:
        headers += warnings(texts)
    if flow[0]:
        headers.append(("X-Kubernetes-Pf-Flowschema-Uid", flow[0]))
        headers.append(("X-Kubernetes-Pf-Prioritylevel-Uid", flow[1]))
    return headers


def merged(common: Headers, more: Headers) -> Headers:
    """The common headers and an answer's own, which stand for common ones of the same name."""
    own = {name for name, _ in more}
    return [pair for pair in common if pair[0] not in own] + more


def warnings(texts: Sequence[str]) -> Headers:
    """One Warning header a text, in order, repeated ones once; all of them bounded."""
    unique = list(dict.fromkeys(texts))
    if sum(map(len, unique)) > WARNING_TOTAL_MAX:
        unique = [text[:WARNING_TEXT_MAX] for text in unique]
    headers: Headers = []
    total = 0
    for text in unique:
        total += len(text)
        if total > WARNING_TOTAL_MAX:
            break
        headers.append(("Warning", warning(text)))
    return headers


def warning(text: str) -> str:
    """The value of one Warning header: code 299, no agent, quoted text, no control characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'


def watch_error(error: ApiError) -> bytes:
    """The ERROR event with which a watch ends."""
    return encode.watch_line("ERROR", orjson.dumps(error.status()))


def _body(status: dict[str, Any], yaml: bool, pretty: bool) -> bytes:
    if yaml:
        return encode.as_yaml(status)
    body = encode.document(status)
    return encode.pretty(body) if pretty else body
