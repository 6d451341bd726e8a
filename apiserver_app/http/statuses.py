"""Renders errors, and the headers that every answer carries.

The one place where an ApiError becomes a status code, headers and bytes.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters and
pkg/endpoints/filters/{audit_init,cachecontrol,warning}.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.http import encode
from apiserver_app.http.exchange import Headers
from apiserver_app.http.negotiation import Accepted
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.serializer import compact

_JSON, _UNASKED = Accepted(), Accepted(pretty=True)
TEXT = "text/plain; charset=utf-8"
NO_CACHE = "no-cache, private"
WARNING_TOTAL_MAX = 4096  # characters of all warnings of one answer, as upstream
WARNING_TEXT_MAX = 256  # characters of each warning once they exceed the total


def render(error: ApiError, accepted: Accepted | None = _JSON) -> tuple[int, Headers, bytes]:
    """Renders an error as a Status: code, headers and body. A client that accepts no available form
    gets JSON."""
    if error.plain:
        return error.code, _plain_headers(error), f"{error.message}\n".encode()
    if error.untyped:
        return error.code, [("Content-Type", TEXT)], compact.encode(error.status()) + b"\n"
    accepted = accepted or _UNASKED
    headers = [("Content-Type", accepted.media_type)]
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    headers.extend(error.headers)
    return error.code, headers, encode.negotiated(error.status(), accepted)


def _plain_headers(error: ApiError) -> Headers:
    """Returns the headers of Go's http.Error."""
    headers = [("Content-Type", TEXT), ("X-Content-Type-Options", "nosniff")]
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    return headers


def common_headers(
    audit_id: str, flow: tuple[str, str] = ("", ""), texts: Sequence[str] = ()
) -> Headers:
    """Returns the headers of every answer. `flow` holds the uids of flow schema and priority
    level."""
    headers = [("Audit-Id", audit_id)] if audit_id else []
    headers.append(("Cache-Control", NO_CACHE))
    if texts:
        headers += warnings(texts)
    if flow[0]:
        headers.append(("X-Kubernetes-Pf-Flowschema-Uid", flow[0]))
        headers.append(("X-Kubernetes-Pf-Prioritylevel-Uid", flow[1]))
    return headers


def merged(common: Headers, more: Headers) -> Headers:
    """Merges headers; an answer's own replace common ones of the same name."""
    own = {name for name, _ in more}
    return [pair for pair in common if pair[0] not in own] + more


def warnings(texts: Sequence[str]) -> Headers:
    """Returns one Warning header per distinct text, in order and bounded in size."""
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
    """Formats a Warning header: code 299, no agent, quoted text, no control characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'
