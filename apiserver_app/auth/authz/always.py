"""The modes that ignore the request: AlwaysAllow, AlwaysDeny, and the privileged group.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go.
"""

from __future__ import annotations

from apiserver_app.authprotocols import Attributes, Rules, Try
from apiserver_app.machinery.meta import Object, User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go"
MASTERS = "system:masters"


class AlwaysAllow:
    name = "AlwaysAllow"
    _answer = Try(name, "allow", "everything is allowed", source=SOURCE, general=True)

    def authorize(self, attributes: Attributes) -> Try:
        return self._answer

    def rules_for(self, user: User, namespace: str) -> Rules:
        resource: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        return Rules([resource], [{"verbs": ["*"], "nonResourceURLs": ["*"]}])


class AlwaysDeny:
    """Has no opinion, as upstream: as the only mode it refuses everything."""

    name = "AlwaysDeny"
    _said = "Everything is forbidden."
    _answer = Try(name, "noop", "everything is forbidden", source=SOURCE, reason=_said)

    def authorize(self, attributes: Attributes) -> Try:
        return self._answer

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules([], [])


class PrivilegedGroup:
    """Members of system:masters may do everything; asked before the configured modes."""

    name = "PrivilegedGroup"
    _yes = Try(name, "allow", f"group {MASTERS} may do everything", source=SOURCE, general=True)
    _no = Try(name, "noop", f"not in group {MASTERS}", source=SOURCE, general=True)

    def authorize(self, attributes: Attributes) -> Try:
        return self._yes if MASTERS in attributes.user.groups else self._no

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules([], [])
