"""Signed tokens (JWS, compact): reading, verifying, signing, and keys as JWK.

RS, PS and ES with SHA-256, 384 and 512. `cryptography` is loaded at the first key. `none` and
symmetric algorithms are not supported, so no token can select them.

Models go-jose as kubernetes uses it (pkg/serviceaccount/jwt.go, go-oidc's verify.go).
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from typing import Any

import msgspec

ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
TOKEN_BYTES_MAX = 64 << 10
_compact = json.JSONEncoder(separators=(",", ":")).encode
_CURVES = {"ES256": ("P-256", 32), "ES384": ("P-384", 48), "ES512": ("P-521", 66)}


class JwsError(Exception):
    """The text is no token, or the key did not sign it."""


class Token(msgspec.Struct, frozen=True):
    """A parsed token. Nothing in it is trusted before `verify`."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signed: bytes
    signature: bytes

    @property
    def algorithm(self) -> str:
        return str(self.header.get("alg", ""))

    @property
    def key_id(self) -> str:
        return str(self.header.get("kid", ""))


def parse(text: str) -> Token:
    """Parses a compact token. Raises JwsError."""
    parts = text.split(".")
    if len(parts) != 3 or len(text) > TOKEN_BYTES_MAX:
        raise JwsError("go-jose/go-jose: compact JWS format must have three parts")
    try:
        header, claims = json.loads(decode(parts[0])), json.loads(decode(parts[1]))
        signature = decode(parts[2])
    except (ValueError, RecursionError) as error:
        raise JwsError(f"malformed token: {type(error).__name__}") from error
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise JwsError("malformed token: no objects")
    return Token(header, claims, f"{parts[0]}.{parts[1]}".encode(), signature)


def verify(token: Token, key: Any) -> None:
    """Raises JwsError unless `key` signed the token by the algorithm it names."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    name, invalid = token.algorithm, JwsError("go-jose/go-jose: error in cryptographic primitive")
    if name not in ALGORITHMS:
        raise JwsError(f"go-jose/go-jose: unexpected signature algorithm {json.dumps(name)}")
    digest = _hash(name)
    try:
        if name in _CURVES and isinstance(key, ec.EllipticCurvePublicKey):
            half = _CURVES[name][1]
            if len(token.signature) != 2 * half or (key.key_size + 7) // 8 != half:
                raise invalid
            r, s = token.signature[:half], token.signature[half:]
            pair = encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
            key.verify(pair, token.signed, ec.ECDSA(digest))
        elif name not in _CURVES and isinstance(key, rsa.RSAPublicKey):
            how: Any = padding.PKCS1v15()
            if name.startswith("PS"):
                how = padding.PSS(padding.MGF1(digest), padding.PSS.AUTO)
            key.verify(token.signature, token.signed, how, digest)
        else:
            raise invalid
    except (InvalidSignature, UnsupportedAlgorithm, ValueError) as error:
        raise invalid from error


def public_keys(pem: str) -> list[Any]:
    """Returns every public key (or a private key's public half) in a PEM text, or raises
    ValueError."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    keys = []
    end = 0
    while (start := pem.find("-----BEGIN ", end)) >= 0:
        stop = pem.find("-----END ", start)
        end = pem.find("\n", stop + 9) if stop >= 0 else -1
        block = pem[start : end if end >= 0 else len(pem)].encode() + b"\n"
        end = len(pem) if end < 0 else end
        if b"PRIVATE KEY" in block[:60]:
            keys.append(serialization.load_pem_private_key(block, None).public_key())
        elif b"CERTIFICATE" in block[:40]:
            keys.append(x509.load_pem_x509_certificate(block).public_key())
        else:
            keys.append(serialization.load_pem_public_key(block))
    if not keys:
        raise ValueError("data does not contain any valid RSA or ECDSA public keys")
    return keys


def from_jwk(jwk: dict[str, Any]) -> Any:
    """Returns the public key of a JWK. Raises ValueError when its type is not supported."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    try:
        if jwk["kty"] == "RSA":
            return rsa.RSAPublicNumbers(_number(jwk["e"]), _number(jwk["n"])).public_key()
        curves: dict[str, Any] = {
            "P-256": ec.SECP256R1,
            "P-384": ec.SECP384R1,
            "P-521": ec.SECP521R1,
        }
        curve = curves[jwk["crv"]]()
        return ec.EllipticCurvePublicNumbers(
            _number(jwk["x"]), _number(jwk["y"]), curve
        ).public_key()
    except (KeyError, TypeError) as error:
        raise ValueError(f"go-jose/go-jose: unknown json web key: {error}") from error


def to_jwk(key: Any) -> dict[str, Any]:
    """Returns a P-256 public key as /openid/v1/jwks shows it."""
    numbers = key.public_numbers()
    return {
        "use": "sig",
        "kty": "EC",
        "kid": key_id(key),
        "crv": "P-256",
        "alg": "ES256",
        "x": encode(numbers.x.to_bytes(32, "big")),
        "y": encode(numbers.y.to_bytes(32, "big")),
    }


def key_id(key: Any) -> str:
    """The digest of the public key: upstream's kid."""
    from cryptography.hazmat.primitives import serialization

    public = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encode(hashlib.sha256(public).digest())


def sign(claims: dict[str, Any], key: Any, name: str) -> str:
    """Signs an ES256 token; equal claims give equal tokens (RFC 6979)."""
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    signed = f"{_header(name)}.{encode(compact(claims))}"
    r, s = decode_dss_signature(key.sign(signed.encode(), _algorithm()))
    return f"{signed}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


@functools.lru_cache(16)
def _header(name: str) -> str:
    return encode(compact({"alg": "ES256", "kid": name}))


@functools.cache
def _algorithm() -> Any:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.ECDSA(hashes.SHA256(), deterministic_signing=True)


def compact(value: Any) -> bytes:
    return _compact(value).encode()


def encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decodes base64url without padding. Raises ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _number(text: str) -> int:
    return int.from_bytes(decode(text), "big")


def _hash(name: str) -> Any:
    from cryptography.hazmat.primitives import hashes

    known: dict[str, Any] = {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}
    return known[name[2:]]()
