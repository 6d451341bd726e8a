"""Authenticates bootstrap tokens (`id.secret`, in Secrets of kube-system) of joining machines.

Models kubernetes plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go and
staging/src/k8s.io/cluster-bootstrap/util/secrets.
"""

from __future__ import annotations

import hmac

from apiserver_app.apis import bootstraptokens
from apiserver_app.authprotocols import Answer, Try
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import User
from apiserver_app.machinery.reader import Reader

SOURCE = "plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go"
USER_PREFIX = "system:bootstrap:"


class BootstrapTokens:
    """Looks up the Secret at each request."""

    name = "BootstrapToken"
    audience_agnostic = True

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._foreign = self._skip("not of the form of a bootstrap token")

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Answer:
        parts = bootstraptokens.split(token)
        if parts is None:
            return self._foreign
        identity, password = parts
        name = f"{bootstraptokens.NAME_PREFIX}{identity}"
        secret = self._reader.get("secrets", bootstraptokens.NAMESPACE, name)
        if secret is None:
            return self._skip(f"No secret of name {name} to match bootstrap bearer token")
        prefix = f"Bootstrap secret {bootstraptokens.NAMESPACE}/{name} matching bearer token "
        if meta.is_deleting(secret):
            return self._skip(f"{prefix}is deleted and awaiting removal")
        if secret.get("type") != bootstraptokens.TYPE or not secret.get("data"):
            return self._skip(f"{prefix}has invalid type, expected {bootstraptokens.TYPE}.")
        if not hmac.compare_digest(bootstraptokens.read(secret, "token-secret"), password):
            return self._skip(f"{prefix}has invalid value for key token-secret.")
        if bootstraptokens.read(secret, "token-id") != identity:
            return self._skip(f"{prefix}has invalid value for key token-id, expected {identity}.")
        if bootstraptokens.expired(secret, now):
            return self._skip(f"{prefix}has expired")
        if bootstraptokens.read(secret, "usage-bootstrap-authentication") != "true":
            return self._skip(f"{prefix}not marked usage-bootstrap-authentication=true.")
        try:
            groups = bootstraptokens.groups(secret)
        except ValueError as error:
            return self._skip(f"{prefix}has invalid value for key auth-extra-groups: {error}.")
        user = User(f"{USER_PREFIX}{identity}", groups)
        return Try(self.name, "allow", f'bootstrap token "{identity}"', user=user, source=SOURCE)

    def _skip(self, why: str) -> Try:
        return Try(self.name, "skip", why, source=SOURCE)
