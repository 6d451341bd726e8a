"""The front proxy: its certificate vouches for the user named in X-Remote-* headers.

The headers count only when the connection's certificate comes from the front-proxy CA and its
common name is one of the configured ones. Headers of other clients are ignored.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/headerrequest and the
Verifier of request/x509/x509.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from apiserver_app.auth import chains
from apiserver_app.authprotocols import Try
from apiserver_app.machinery.meta import Credential, User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go"

Headers = Mapping[str, tuple[str, ...]]


class RequestHeader:
    """`ca_pem` signs front proxies; without `allowed_names` any name is trusted."""

    name = "RequestHeader"

    def __init__(
        self,
        ca_pem: str,
        allowed_names: Sequence[str] = (),
        *,
        user: Sequence[str] = ("X-Remote-User",),
        uid: Sequence[str] = (),
        group: Sequence[str] = ("X-Remote-Group",),
        extra: Sequence[str] = ("X-Remote-Extra-",),
    ) -> None:
        self._roots = chains.Roots(ca_pem)
        self.allowed_names = tuple(allowed_names)
        self._user, self._uid = _lower(user), _lower(uid)
        self._group, self._extra = _lower(group), _lower(extra)
        self._no_certificate = self._answer("skip", "no client certificate")
        self._no_header = self._answer("skip", f"no {' or '.join(user)} header")

    def authenticate(self, credential: Credential, now: int) -> Try:
        peer = credential.tls
        if peer is None:
            return self._no_certificate
        if not peer.chain:
            return self._no_header
        try:
            self._roots.verify(peer.chain, now)
        except chains.ChainError as error:
            return self._answer("deny", str(error))
        if self.allowed_names and peer.common_name not in self.allowed_names:
            return self._answer(
                "deny", f"x509: subject with cn={peer.common_name} is not in the allowed list"
            )
        user = self._read(credential.headers)
        if user is None:
            return self._no_header
        why = f'front proxy "{peer.common_name}" vouches for "{user.name}"'
        return Try(self.name, "allow", why, user=user, source=SOURCE)

    def _answer(self, verdict: str, why: str) -> Try:
        return Try(self.name, verdict, why, source=SOURCE)

    def _read(self, headers: Headers) -> User | None:
        name = next(_values(headers, self._user), "")
        if not name:
            return None
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self._extra:
            for header, values in headers.items():
                if header.startswith(prefix):
                    key = unquote(header[len(prefix) :])
                    extra[key] = (*extra.get(key, ()), *values)
        groups = tuple(_values(headers, self._group))
        return User(name, groups, next(_values(headers, self._uid), ""), extra)


def _lower(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _values(headers: Headers, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield from (value for value in headers.get(name, ()) if value)
