"""Who may do what on the page, the product API and the live feed.

Decides; `app.py` enforces it on every route. A token gives its bearer a role. The page exchanges
the token of its link for a session, a cookie signed with that token: a new token ends them all.

Models jupyter_server's auth/identity.py.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from lifecycle.hosting.edge import origins

# what a route may need
OPEN, WATCH, ANSWER, CONTROL = "open", "watch", "answer", "control"
CONSOLE, APPLY, KEEP = "console", "apply", "keep"
UNLISTED = "unlisted"  # needed by a route that is not in the table
DRIVER, VIEWER = "driver", "viewer"
ROLES: Mapping[str, frozenset[str]] = {
    DRIVER: frozenset((OPEN, WATCH, ANSWER, CONTROL, CONSOLE, APPLY, KEEP, UNLISTED)),
    VIEWER: frozenset((OPEN, WATCH, ANSWER)),
    "": frozenset((OPEN,)),  # without a credential
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# by route as in lifecycle.urls, lifecycle.api.urls and lifecycle.asgi
ROUTES: Mapping[str, Mapping[str, str]] = {
    "": {"GET": OPEN},  # shows the way in to those who may not watch
    "favicon.ico": {"GET": OPEN},
    "static/<path:file>": dict.fromkeys(METHODS, OPEN),
    "viz": {"GET": OPEN},
    "viz/": {"GET": OPEN},
    "viz/v1/clusters": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>": {"GET": WATCH, "DELETE": CONTROL},
    "viz/v1/clusters/<str:cluster>/control": {"POST": CONTROL},
    "viz/v1/clusters/<str:cluster>/vote": {"POST": ANSWER},
    "viz/v1/clusters/<str:cluster>/console": {"POST": CONSOLE},
    "viz/v1/clusters/<str:cluster>/apply": {"POST": APPLY},
    "viz/v1/clusters/<str:cluster>/services/<str:namespace>/<str:name>/request": {"POST": APPLY},
    "viz/v1/clusters/<str:cluster>/services/<str:namespace>/<str:name>/rules": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/resolve": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/get": {"POST": APPLY},
    "viz/v1/clusters/<str:cluster>/object/request": {"POST": APPLY},
    "viz/v1/clusters/<str:cluster>/openapi": {"GET": APPLY},
    "viz/v1/clusters/<str:cluster>/objects": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/object": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/startup": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/requests/<int:seq>/forms": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/records": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/moment": {"GET": WATCH},
    "viz/v1/clusters/<str:cluster>/bookmarks": {"GET": WATCH, "PUT": KEEP},
    "viz/v1/clusters/<str:cluster>/forks": {"GET": WATCH, "POST": CONTROL},
    "viz/v1/clusters/<str:cluster>/comparison": {"GET": WATCH},
    "viz/v1/addons": {"GET": WATCH},
    "viz/v1/cast": {"GET": WATCH},
    "viz/v1/traces": {"GET": WATCH, "POST": KEEP},
    "viz/v1/traces/import": {"POST": KEEP},
    "viz/v1/traces/<str:trace>": {"GET": WATCH, "DELETE": KEEP},
    "viz/v1/traces/<str:trace>/bookmarks": {"GET": WATCH, "PUT": KEEP},
    "viz/v1/traces/<str:trace>/records": {"GET": WATCH},
    "viz/v1/schema": {"GET": OPEN},
    "viz/v1/docs": {"GET": OPEN},
    "ws/v1/clusters/<str:cluster>/trace": {"GET": WATCH},
}
SESSION_SECONDS = 7 * 24 * 3600
DIGITS_MAX = 12  # of a session's end
_SEGMENTS = {"str": "[^/]+", "int": "[0-9]+", "path": ".+"}

Headers = Sequence[tuple[bytes, bytes]]


class Caller(msgspec.Struct, frozen=True):
    """Who sent a request. A cookie is sent by the browser, whoever made it send the request."""

    role: str = ""
    by_cookie: bool = False

    def has(self, right: str) -> bool:
        return right in ROLES[self.role]


def right_for(method: str, path: str) -> str:
    """Returns the right that a request needs."""
    known = "GET" if method in origins.SAFE_METHODS else method
    for pattern, rights in _PATTERNS:
        if pattern.fullmatch(path[1:]):
            return rights.get(known, UNLISTED)
    return UNLISTED


class Access:
    """The tokens of a data directory, by role. Without any, everybody drives."""

    def __init__(self, tokens: Mapping[str, str], now: Callable[[], float] = time.time) -> None:
        self._tokens = tokens
        self._now = now
        seed = hmac.new(tokens.get(DRIVER, "").encode(), b"cookie", hashlib.sha256)
        self._cookie = f"lifecycle-{seed.hexdigest()[:8]}"  # cookies know no ports

    @property
    def needed(self) -> bool:
        """Whether a credential is."""
        return bool(self._tokens)

    def caller(self, headers: Headers, secure: bool, token: str = "") -> Caller:
        """Returns who sent a request. A wrong token is nobody, whatever the cookie says."""
        if not self.needed:
            return Caller(DRIVER)
        sent = [value for name, value in headers if name == b"authorization"]
        if sent:
            scheme, _, token = sent[0].decode("latin-1").partition(" ")
            if len(sent) > 1 or scheme.lower() != "bearer":
                return Caller()
        if sent or token:
            return Caller(self.role_of(token.strip()))
        role = next(filter(None, map(self._role_of_session, self._sessions(headers, secure))), "")
        return Caller(role, by_cookie=True) if role else Caller()

    def role_of(self, token: str) -> str:
        """Returns the role of a token, in the same time for all wrong ones."""
        matches = [
            role
            for role, known in self._tokens.items()
            if hmac.compare_digest(known.encode(), token.encode("utf-8", "replace"))
        ]
        return matches[0] if matches else ""

    def cookie(self, secure: bool) -> str:
        """Returns the name of the cookie; over TLS one that only a TLS answer can set."""
        return f"__Host-{self._cookie}" if secure else self._cookie

    def session(self, role: str) -> str:
        """Returns the value of a new session's cookie."""
        end = int(self._now()) + SESSION_SECONDS
        return f"{role}.{end}.{self._signature(role, end)}"

    def _sessions(self, headers: Headers, secure: bool) -> list[str]:
        pairs = (
            pair.strip().partition("=")
            for name, value in headers
            if name == b"cookie"
            for pair in value.decode("latin-1").split(";")
        )
        return [value for name, _, value in pairs if name == self.cookie(secure)]

    def _role_of_session(self, value: str) -> str:
        role, _, rest = value.partition(".")
        end, _, signature = rest.partition(".")
        if role not in self._tokens or not (end.isascii() and end.isdigit()):
            return ""
        if len(end) > DIGITS_MAX or int(end) <= self._now():
            return ""
        signed = self._signature(role, int(end)).encode()
        return role if hmac.compare_digest(signed, signature.encode("utf-8", "replace")) else ""

    def _signature(self, role: str, end: int) -> str:
        key, text = self._tokens[role].encode(), f"{role}.{end}".encode()
        return hmac.new(key, text, hashlib.sha256).hexdigest()


def _pattern(route: str) -> re.Pattern[str]:
    parts = re.split(r"<(\w+):\w+>", route)
    return re.compile(
        "".join(_SEGMENTS[p] if i % 2 else re.escape(p) for i, p in enumerate(parts)), re.DOTALL
    )


_PATTERNS = [(_pattern(route), rights) for route, rights in ROUTES.items()]
