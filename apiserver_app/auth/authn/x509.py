"""Client certificates: common name is the user, organizations are the groups.

The TLS layer verified the chain; a stored verification error is a refusal here.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go.
"""

from __future__ import annotations

from apiserver_app.auth.protocols import Try
from apiserver_app.machinery.meta import Credential, TlsPeer, User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_CACHE_LIMIT = 4096


class X509:
    name = "X509"

    def __init__(self) -> None:
        self._known: dict[TlsPeer, Try] = {}
        self._nothing = Try(self.name, "skip", "no client certificate", source=SOURCE)

    def authenticate(self, credential: Credential, now: int) -> Try:
        peer = credential.tls
        if peer is None:
            return self._nothing
        known = self._known.get(peer)
        if known is None:
            if len(self._known) >= _CACHE_LIMIT:
                self._known.clear()
            known = self._known[peer] = self._judge(peer)
        return known

    def _judge(self, peer: TlsPeer) -> Try:
        if peer.error:
            return Try(self.name, "deny", peer.error, source=SOURCE)
        if not peer.common_name:
            return Try(self.name, "skip", "the certificate has no common name", source=SOURCE)
        extra = {CREDENTIAL_ID: (f"X509SHA256={peer.fingerprint}",)} if peer.fingerprint else {}
        user = User(peer.common_name, peer.organizations, "", extra)
        issuer = f' signed by "{peer.issuer}"' if peer.issuer else ""
        why = f'certificate of "{peer.common_name}"{issuer}'
        return Try(self.name, "allow", why, user=user, source=SOURCE)
