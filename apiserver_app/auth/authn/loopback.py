"""Authenticates the API server's own clients by a token that exists only in memory.

Asked before all configured authenticators, so that no flag can lock the server out.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/config.go
(AuthorizeClientBearerToken) and pkg/authentication/authenticatorfactory/loopback.go.
"""

from __future__ import annotations

from apiserver_app.authprotocols import EVER, Try
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/authenticatorfactory/loopback.go"
USER = User("system:apiserver", ("system:masters",))


class Loopback:
    """Knows one token, or none when it is empty."""

    name = "Loopback"

    def __init__(self, token: str = "") -> None:
        self._token = token
        self._answer = Try(
            self.name, "allow", "the server's own token", user=USER, source=SOURCE, until=EVER
        )

    def authenticate(self, bearer: str) -> Try | None:
        return self._answer if bearer and bearer == self._token else None
