"""Authenticates requests without credentials as system:anonymous.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.authprotocols import Try
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go"
USER = User("system:anonymous", ("system:unauthenticated",))


class Anonymous:
    """With `paths`, only requests for one of them may be anonymous."""

    name = "Anonymous"

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self.paths = tuple(paths)
        self._answer = Try(
            self.name, "allow", "no credential was offered", user=USER, source=SOURCE
        )
        listed = ", ".join(self.paths)
        self._elsewhere = Try(
            self.name, "skip", f"the path is none of those for everybody: {listed}", source=SOURCE
        )

    def authenticate(self, path: str) -> Try:
        return self._answer if not self.paths or path in self.paths else self._elsewhere
