"""The front proxy: a trusted proxy's certificate vouches for the user named in X-Remote-* headers.

The headers count only when the connection's certificate comes from the front-proxy CA and its
common name is one of the configured ones. Never believes the headers of anybody else.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/headerrequest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from apiserver_app.auth.protocols import Try
from apiserver_app.machinery.meta import Credential, User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go"
_USER, _UID, _GROUP = "x-remote-user", "x-remote-uid", "x-remote-group"
_EXTRA = "x-remote-extra-"


class RequestHeader:
    """`ca_names` are the issuers taken as front-proxy CAs; no `allowed_names` means any name."""

    name = "RequestHeader"

    def __init__(self, ca_names: Sequence[str], allowed_names: Sequence[str] = ()) -> None:
        self.ca_names = tuple(ca_names)
        self.allowed_names = tuple(allowed_names)
        self._nothing = Try(self.name, "skip", "no X-Remote-User header", source=SOURCE)

    def authenticate(self, credential: Credential, now: int) -> Try:
        names = credential.headers.get(_USER) if credential.headers else None
        if not names or not names[0]:
            return self._nothing
        peer = credential.tls
        if peer is None:
            return self._say("skip", "X-Remote-User without a client certificate")
        if peer.error or peer.issuer not in self.ca_names:
            return self._say("deny", "the certificate is not from the front-proxy CA")
        if self.allowed_names and peer.common_name not in self.allowed_names:
            return self._say(
                "deny", f"x509: subject with cn={peer.common_name} is not in the allowed list"
            )
        user = _user(credential.headers)
        why = f'front proxy "{peer.common_name}" vouches for "{user.name}"'
        return Try(self.name, "allow", why, user=user, source=SOURCE)

    def _say(self, verdict: str, why: str) -> Try:
        return Try(self.name, verdict, why, source=SOURCE)


def _user(headers: Mapping[str, tuple[str, ...]]) -> User:
    extra = {
        unquote(header[len(_EXTRA) :]): values
        for header, values in headers.items()
        if header.startswith(_EXTRA)
    }
    uid = headers.get(_UID) or ("",)
    return User(
        headers[_USER][0].strip(),
        tuple(group for group in headers.get(_GROUP, ()) if group),
        uid[0],
        extra,
    )
