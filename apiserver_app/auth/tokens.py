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
    """The token is not one of ours, or was tampered with. The text may be shown to its bearer."""


class Tokens:
    """Signs with one P-256 key, given as PEM, in the name of the first issuer; verifies with it,
    or with the public keys of `verify_pem` when there are any."""

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
        """A token for the account. pod, node and secret are (name, uid); `now` is µs since 1970."""
        start = now // _SECOND
        bound: dict[str, Any] = {"namespace": namespace}
        for kind, ref in (("node", node), ("pod", pod), ("secret", secret)):
            if ref:
                bound[kind] = {"name": ref[0], "uid": ref[1]}
        bound["serviceaccount"] = {"name": name, "uid": uid}
        if warn_after_seconds:
            bound["warnafter"] = start + warn_after_seconds
        claims = {
            "aud": list(audiences) or [self.issuer],
            "exp": start + expires_seconds,
            "iat": start,
            "iss": self.issuer,
            "jti": jti,
            "kubernetes.io": bound,
            "nbf": start,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        return jws.sign(claims, self._key, self.key_id)

    def issue_legacy(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """The token of a Secret: it never ends, and knows no audience."""
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
        """The claims of a token with a good signature. Times and audiences are the caller's."""
        try:
            found = jws.parse(token)
        except jws.JwsError as error:
            raise TokenError("invalid bearer token") from error
        keys = [(key_id, key) for key_id, key in self._keys if found.key_id in ("", key_id)]
        if not keys:
            raise TokenError("invalid signature, no keys found")
        failed = ""
        for _, key in keys:
            try:
                jws.verify(found, key)
                return found.claims
            except jws.JwsError as error:
                failed = str(error)
        raise TokenError(failed)

    @functools.cached_property
    def key_id(self) -> str:
        """Of the key that signs."""
        return jws.key_id(self._key.public_key())

    def jwks(self) -> dict[str, Any]:
        """What /openid/v1/jwks answers."""
        return {"keys": [jws.to_jwk(self._key.public_key())]}

    def openid_configuration(self, jwks_uri: str) -> dict[str, Any]:
        """What /.well-known/openid-configuration answers."""
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
    """The unverified issuer; "" when this is no JWT. Only to see whose token it might be."""
    try:
        return str(jws.parse(token).claims.get("iss", ""))
    except jws.JwsError:
        return ""
