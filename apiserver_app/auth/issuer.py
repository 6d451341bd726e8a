"""A simulated OpenID Connect issuer, so that a class sees ID tokens without an external service.

It publishes a discovery document and keys under a name that no network resolves; its key is derived
from the cluster's signing key. It has one client, `kubernetes`, and asks for no password.

Models what an issuer such as Dex answers (OpenID Connect Discovery 1.0).
"""

from __future__ import annotations

import functools
import hashlib
import hmac
from typing import Any

from apiserver_app.auth import jws
from apiserver_app.auth.data import cast
from apiserver_app.egress.outbound import Answer, Call

URL = "https://issuer.classroom.example"
CLIENT_ID = "kubernetes"
USERNAME_CLAIM, USERNAME_PREFIX, GROUPS_CLAIM = "preferred_username", "oidc:", "groups"
FLAGS = (
    f"--oidc-issuer-url={URL}",
    f"--oidc-client-id={CLIENT_ID}",
    f"--oidc-username-claim={USERNAME_CLAIM}",
    f"--oidc-username-prefix={USERNAME_PREFIX}",
    f"--oidc-groups-claim={GROUPS_CLAIM}",
    "--oidc-signing-algs=ES256",
)
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256


class Issuer:
    """Issues ID tokens with a key derived from `secret`."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def answer(self, call: Call) -> Answer | None:
        """Answers a request to the issuer; None when the URL is not the issuer's."""
        url = call.to
        if not isinstance(url, str) or not url.startswith(f"{URL}/"):
            return None
        path = url[len(URL) :]
        documents: dict[str, Any] = {
            "/.well-known/openid-configuration": {
                "issuer": URL,
                "jwks_uri": f"{URL}/keys",
                "response_types_supported": ["code", "id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
            }
        }
        if path == "/keys":
            documents[path] = {"keys": [jws.to_jwk(self._key.public_key())]}
        document = documents.get(path)
        body = jws.compact(document) if document is not None else b"404 page not found"
        headers = {"content-type": "application/json"}
        return Answer(404 if document is None else 200, headers, body, "the simulated issuer")

    def id_token(self, person: cast.Person, since: int, until: int, **change: Any) -> str:
        """A token for the client; times are seconds since 1970."""
        claims = {
            "iss": URL,
            "aud": CLIENT_ID,
            "sub": hashlib.sha256(person.name.encode()).hexdigest()[:32],
            USERNAME_CLAIM: person.name,
            "email": f"{person.name}@classroom.example",
            "email_verified": True,
            GROUPS_CLAIM: list(person.groups),
            "iat": since,
            "exp": until,
            **change,
        }
        key = self._key
        return jws.sign(claims, key, jws.key_id(key.public_key()))

    @functools.cached_property
    def _key(self) -> Any:
        from cryptography.hazmat.primitives.asymmetric import ec

        digest = hmac.new(self._secret, URL.encode(), hashlib.sha512).digest()
        number = int.from_bytes(digest, "big") % (_ORDER - 1) + 1
        return ec.derive_private_key(number, ec.SECP256R1())
