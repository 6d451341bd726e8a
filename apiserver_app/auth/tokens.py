"""Service account tokens: real signed JWTs with upstream's claims.

ES256 with deterministic signatures (RFC 6979), so that equal claims give equal tokens. Signing
keys come from pki; `cryptography` is loaded at the first use, not at import.

Models kubernetes pkg/serviceaccount/jwt.go, claims.go and openidmetadata.go.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

ISSUER = "https://kubernetes.default.svc.cluster.local"
_SECOND = 1_000_000
_HALF = 32  # bytes of r and of s in an ES256 signature


class TokenError(Exception):
    """The token is not one of ours, or was tampered with. The text may be shown to its bearer."""


class Tokens:
    """Signs and verifies with one P-256 key, given as PEM."""

    def __init__(self, private_key_pem: bytes, issuer: str = ISSUER) -> None:
        self.issuer = issuer
        self._pem = private_key_pem
        self._key: ec.EllipticCurvePrivateKey | None = None
        self._header = ""
        self.key_id = ""

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
        return self._sign(claims)

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token with a good signature. Times and audiences are the caller's."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        key = self._load()
        try:
            header_part, payload_part, signature_part = token.split(".")
            header = json.loads(_decode(header_part))
            signature = _decode(signature_part)
            claims = json.loads(_decode(payload_part))
        except ValueError as error:
            raise TokenError("invalid bearer token") from error
        if not isinstance(claims, dict) or not isinstance(header, dict):
            raise TokenError("invalid bearer token")
        if header.get("alg") != "ES256" or len(signature) != 2 * _HALF:
            raise TokenError("invalid signature, no keys found")
        if header.get("kid", self.key_id) != self.key_id:
            raise TokenError("invalid signature, no keys found")
        pair = encode_dss_signature(
            int.from_bytes(signature[:_HALF], "big"), int.from_bytes(signature[_HALF:], "big")
        )
        signed = f"{header_part}.{payload_part}".encode()
        try:
            key.public_key().verify(pair, signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature as error:
            raise TokenError("go-jose/go-jose: error in cryptographic primitive") from error
        return claims

    def jwks(self) -> dict[str, Any]:
        """What /openid/v1/jwks answers."""
        numbers = self._load().public_key().public_numbers()
        key = {
            "use": "sig",
            "kty": "EC",
            "kid": self.key_id,
            "crv": "P-256",
            "alg": "ES256",
            "x": _encode(numbers.x.to_bytes(_HALF, "big")),
            "y": _encode(numbers.y.to_bytes(_HALF, "big")),
        }
        return {"keys": [key]}

    def openid_configuration(self, jwks_uri: str) -> dict[str, Any]:
        """What /.well-known/openid-configuration answers."""
        return {
            "issuer": self.issuer,
            "jwks_uri": jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }

    def _sign(self, claims: dict[str, Any]) -> str:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        key = self._load()
        signed = f"{self._header}.{_encode(_json(claims))}"
        algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        r, s = decode_dss_signature(key.sign(signed.encode(), algorithm))
        return f"{signed}.{_encode(r.to_bytes(_HALF, 'big') + s.to_bytes(_HALF, 'big'))}"

    def _load(self) -> ec.EllipticCurvePrivateKey:
        if self._key is None:
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import ec

            key = serialization.load_pem_private_key(self._pem, None)
            assert isinstance(key, ec.EllipticCurvePrivateKey)
            public = key.public_key().public_bytes(
                serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            self.key_id = _encode(hashlib.sha256(public).digest())
            self._header = _encode(_json({"alg": "ES256", "kid": self.key_id}))
            self._key = key
        return self._key


def issuer_of(token: str) -> str:
    """The unverified issuer; "" when this is no JWT. Only to see whose token it might be."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        claims = json.loads(_decode(parts[1]))
    except ValueError:
        return ""
    return str(claims.get("iss", "")) if isinstance(claims, dict) else ""


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
