"""Signs certificates and service account tokens with the cluster's keys, for the controllers.

Serial numbers and times are arguments, and signatures are deterministic, so equal requests give
equal certificates.

Models kubernetes pkg/controller/certificates/authority/{authority,policies}.go.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from apiserver_app.apis import certificates
from apiserver_app.apis.certificates import SigningError
from apiserver_app.auth import tokens as jwt
from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import go_value

SECONDS_MAX = 8760 * 3600  # --cluster-signing-duration
SECONDS_MIN = 600
BACKDATE_SECONDS = 300
SHORT_SECONDS = 8 * 3600  # below it, backdating does not shorten the certificate

_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED = {  # in the order of crypto/x509's constants
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}


class ClusterAuthority:
    """Signs with the CA given as PEM; refuses without a key."""

    def __init__(self, ca_pem: str, ca_key: bytes, tokens: jwt.Tokens) -> None:
        self._ca_pem = ca_pem
        self._ca_key = ca_key
        self._tokens = tokens

    def account_token(self, namespace: str, name: str, uid: str, secret: str) -> str:
        return self._tokens.issue_legacy(namespace, name, uid, secret)

    def certificate(
        self, request: str, usages: Sequence[str], seconds: int | None, now: int, serial: int
    ) -> str:
        """See machinery.signing.Authority."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization

        if not self._ca_key:
            raise SigningError("the cluster has no key of its CA")
        ca = x509.load_pem_x509_certificate(self._ca_pem.encode())
        key: Any = serialization.load_pem_private_key(self._ca_key, None)
        csr = x509.load_pem_x509_csr(certificates.pem_of(request))
        if not csr.is_signature_valid:
            raise SigningError("x509: ECDSA verification failure")
        start, end = _times(seconds, now, ca.not_valid_after_utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(csr.subject)
            .issuer_name(ca.subject)
            .public_key(csr.public_key())
            .serial_number(serial)
            .not_valid_before(start)
            .not_valid_after(end)
        )
        for extension, critical in _extensions(csr, ca, usages):
            builder = builder.add_extension(extension, critical)
        signed = builder.sign(key, hashes.SHA256(), ecdsa_deterministic=_is_elliptic(key))
        return signed.public_bytes(serialization.Encoding.PEM).decode()


def _times(
    seconds: int | None, now: int, ca_end: datetime.datetime
) -> tuple[datetime.datetime, datetime.datetime]:
    current = datetime.datetime.fromisoformat(meta.rfc3339(now).replace("Z", "+00:00"))
    if current >= ca_end:
        raise SigningError(
            "refusing to sign a certificate that expired in the past: NotAfter "
            f"{ca_end:%Y-%m-%d %H:%M:%S} +0000 UTC"
        )
    life = SECONDS_MAX if seconds is None else min(max(seconds, SECONDS_MIN), SECONDS_MAX)
    start = current - datetime.timedelta(seconds=BACKDATE_SECONDS)
    begin = current if life < SHORT_SECONDS else start
    return start, min(begin + datetime.timedelta(seconds=life), ca_end)


def _extensions(csr: Any, ca: Any, usages: Sequence[str]) -> list[tuple[Any, bool]]:
    from cryptography import x509

    unknown = [usage for usage in usages if usage not in _KEY_USAGES and usage not in _EXTENDED]
    if unknown:
        raise SigningError(
            f"unrecognized usage values: [{' '.join(go_value(usage) for usage in unknown)}]"
        )
    enabled = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    bits = {name: name in enabled for name in dict.fromkeys(_KEY_USAGES.values())}
    if not bits["key_agreement"]:
        bits["encipher_only"] = bits["decipher_only"] = False
    extensions: list[tuple[Any, bool]] = []
    if any(bits.values()):
        extensions.append((x509.KeyUsage(**bits), True))
    extended = [oid for name, oid in _EXTENDED.items() if name in usages]
    if extended:
        oids = [x509.ObjectIdentifier(oid) for oid in dict.fromkeys(extended)]
        extensions.append((x509.ExtendedKeyUsage(oids), False))
    extensions.append((x509.BasicConstraints(False, None), True))
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key())
    extensions.append((issuer, False))
    try:
        names = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        extensions.append((names.value, names.critical))
    except x509.ExtensionNotFound:
        pass
    return extensions


def _is_elliptic(key: object) -> bool:
    from cryptography.hazmat.primitives.asymmetric import ec

    return isinstance(key, ec.EllipticCurvePrivateKey)
