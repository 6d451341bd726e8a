"""Client certificates: common name is the user, organizations are the groups.

The chain is verified by the cluster's own clock, against the CAs of --client-ca-file. A component
inside the cluster has no chain, because it has no connection.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go.
"""

from __future__ import annotations

from apiserver_app.auth import chains
from apiserver_app.authprotocols import EVER, Try
from apiserver_app.machinery import memos
from apiserver_app.machinery.meta import Credential, TlsPeer, User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_CACHE_LIMIT = 16_384


class X509:
    name = "X509"

    def __init__(self, ca_pem: str = "") -> None:
        self._roots = chains.Roots(ca_pem)
        self._known: dict[TlsPeer, tuple[Try, int, int]] = {}
        self._nothing = Try(self.name, "skip", "no client certificate", source=SOURCE)

    def authenticate(self, credential: Credential, now: int) -> Try:
        peer = credential.tls
        if peer is None:
            return self._nothing
        known = self._known.get(peer)
        if known is not None and known[1] <= now <= known[2]:
            return known[0]
        memos.make_room(self._known, _CACHE_LIMIT)
        known = self._judge(peer, now)
        if known[0].verdict != "deny":
            self._known[peer] = known
        return known[0]

    def _judge(self, peer: TlsPeer, now: int) -> tuple[Try, int, int]:
        since, until = 0, EVER
        if peer.error:
            return Try(self.name, "deny", peer.error, source=SOURCE), since, until
        if peer.chain:
            try:
                verified = self._roots.verify(peer.chain, now)
            except chains.ChainError as error:
                return self._refusal(peer, error), since, until
            since, until = verified.since, verified.until
        if not peer.common_name:
            why = "the certificate has no common name"
            return Try(self.name, "skip", why, source=SOURCE), since, until
        extra = {CREDENTIAL_ID: (f"X509SHA256={peer.fingerprint}",)} if peer.fingerprint else {}
        user = User(peer.common_name, peer.organizations, "", extra)
        issuer = f' signed by "{peer.issuer}"' if peer.issuer else ""
        why = f'certificate of "{peer.common_name}"{issuer}'
        allow = Try(self.name, "allow", why, user=user, source=SOURCE, until=until)
        return allow, since, until

    def _refusal(self, peer: TlsPeer, error: chains.ChainError) -> Try:
        why = f"verifying certificate {chains.identifier(peer.chain)} failed: {error}"
        return Try(self.name, "deny", why, source=SOURCE)
