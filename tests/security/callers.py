"""Clients with one credential, for tests of who may what."""

from __future__ import annotations

import http.client
from collections.abc import Mapping

from tests.lifecycle.hosting.running import Demo

CHANGES = ("POST", "PUT", "PATCH", "DELETE")
FEED = "/ws/v1/clusters/demo/trace"
JSON = {"Content-Type": "application/json"}


class Caller:
    """A client that always sends the same credential, over one connection."""

    def __init__(self, demo: Demo, headers: Mapping[str, str]) -> None:
        self._connection, self._headers = demo.connect(), dict(headers)

    def ask(self, method: str, path: str, **more: str) -> http.client.HTTPResponse:
        body = b"{}" if method in CHANGES else b""
        self._connection.request(method, path, body, {**JSON, **self._headers, **more})
        answer = self._connection.getresponse()
        answer.data = answer.read()  # type: ignore[attr-defined]
        return answer


def cookie(demo: Demo, token: str) -> dict[str, str]:
    """The session that the page's link with this token gives, as a browser sends it."""
    answer = demo.get(f"/?token={token}")
    assert (answer.status, answer.headers["Location"]) == (302, "/")
    session = answer.headers["Set-Cookie"].partition(";")[0]
    return {"Cookie": session, "Origin": demo.endpoints["http"]}
