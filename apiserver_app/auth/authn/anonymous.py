"""Who sent no credential at all.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go.
"""

from __future__ import annotations

from apiserver_app.auth.protocols import Try
from apiserver_app.machinery.meta import Credential, User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go"
USER = User("system:anonymous", ("system:unauthenticated",))


class Anonymous:
    name = "Anonymous"

    def __init__(self) -> None:
        self._answer = Try(
            self.name, "allow", "no credential was offered", user=USER, source=SOURCE
        )

    def authenticate(self, credential: Credential, now: int) -> Try:
        return self._answer
