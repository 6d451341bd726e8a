"""Service account tokens: real signed JWTs with upstream's claims.

ES256 with deterministic signatures (RFC 6979), so that equal claims give equal tokens. Signing
keys come from pki; `cryptography` is loaded at the first use, not at import.

Models kubernetes pkg/serviceaccount/jwt.go, claims.go, legacy.go and openidmetadata.go.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apiserver_app.auth import jws

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEGACY_ISSUER = "kubernetes/serviceaccount"
_SECOND = 1_000_000
_LEGACY = "kubernetes.io/serviceaccount/"


class TokenError(Exception):
    """The token is not one of ours, or was tampered with. Its bearer may see the message."""


class Tokens:
    """Signs with one P-256 key, given as PEM, as the first issuer; verifies with it, or with the
    public keys in `verify_pem`."""

    def __init__(
        self, private_key_pem: bytes, issuers: Sequence[str] = (ISSUER,), verify_pem: str = ""
    ) -> None:
        self.issuers = tuple(issuers)
        self.issuer = self.issuers[0] if self.issuers else ""
        self._pem = private_key_pem
        self._verify_pem = verify_pem

    def issue(
        self,
        namespace: str,
        name: str,
        uid: str,
        now: int,
        *,
        jti: str,
        expires_seconds: int = 3600,
        audiences: Sequence[str] = (),
        pod: tuple[str, str] | None = None,
        node: tuple[str, str] | None = None,
        secret: tuple[str, str] | None = None,
        warn_after_seconds: int = 0,
    ) -> str:
        """Issues a token. pod, node and secret are (name, uid); `now` is µs since 1970."""
        start = now // _SECOND
        private_claims: dict[str, Any] = {"namespace": namespace}
        for kind, ref in (("node", node), ("pod", pod), ("secret", secret)):
            if ref:
                private_claims[kind] = {"name": ref[0], "uid": ref[1]}
        private_claims["serviceaccount"] = {"name": name, "uid": uid}
        if warn_after_seconds:
            private_claims["warnafter"] = start + warn_after_seconds
        claims = {
            "aud": list(audiences) or [self.issuer],
            "exp": start + expires_seconds,
            "iat": start,
            "iss": self.issuer,
            "jti": jti,
            "kubernetes.io": private_claims,
            "nbf": start,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        return jws.sign(claims, self._key, self.key_id)

    def issue_legacy(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """Issues the token of a Secret: it never expires and has no audience."""
        claims = {
            "iss": LEGACY_ISSUER,
            f"{_LEGACY}namespace": namespace,
            f"{_LEGACY}secret.name": secret,
            f"{_LEGACY}service-account.name": name,
            f"{_LEGACY}service-account.uid": uid,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        return jws.sign(claims, self._key, self.key_id)

    def verify(self, token: str) -> dict[str, Any]:
        """Returns the claims of a correctly signed token. The caller checks times and audiences."""
        try:
            parsed = jws.parse(token)
        except jws.JwsError as error:
            raise TokenError("invalid bearer token") from error
        keys = [(key_id, key) for key_id, key in self._keys if parsed.key_id in ("", key_id)]
        if not keys:
            raise TokenError("invalid signature, no keys found")
        failure = ""
        for _, key in keys:
            try:
                jws.verify(parsed, key)
                return parsed.claims
            except jws.JwsError as error:
                failure = str(error)
        raise TokenError(failure)

    @functools.cached_property
    def key_id(self) -> str:
        return jws.key_id(self._key.public_key())

    def jwks(self) -> dict[str, Any]:
        """Returns the document at /openid/v1/jwks."""
        return {"keys": [jws.to_jwk(self._key.public_key())]}

    def openid_configuration(self, jwks_uri: str) -> dict[str, Any]:
        """Returns the document at /.well-known/openid-configuration."""
        return {
            "issuer": self.issuer,
            "jwks_uri": jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }

    @functools.cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = serialization.load_pem_private_key(self._pem, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return key

    @functools.cached_property
    def _keys(self) -> list[tuple[str, Any]]:
        keys = [self._key.public_key()]
        if self._verify_pem:
            keys = jws.public_keys(self._verify_pem)
        return [(jws.key_id(key), key) for key in keys]


def issuer_of(token: str) -> str:
    """Returns the unverified issuer, or "" for text that is no JWT. Only tells tokens apart."""
    try:
        return str(jws.parse(token).claims.get("iss", ""))
    except jws.JwsError:
        return ""
