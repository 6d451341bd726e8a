"""Verifies the certificate of a simulated server as Go's crypto/x509 does.

A certificate from a mounted Secret or an image is really checked: signature, validity, names. A
server without one presents a certificate that the cluster's CA signed for the name it is called
by, as if a serving certificate had been requested for it. No keys are needed, as the connection
stays inside the simulation.

Models Go's crypto/x509 (verify.go) for chains of one or two.
"""

from __future__ import annotations

import datetime
import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

UNKNOWN = "x509: certificate signed by unknown authority"
FAILED = "tls: failed to verify certificate: "
_BEGIN = "-----BEGIN CERTIFICATE-----"


def refusal(shown: str, ca_pem: str, cluster_ca: str, host: str, now: int) -> str:
    """Why a client that trusts `ca_pem` breaks off; empty when it accepts.

    `shown` is the server's chain as PEM; empty: signed by the cluster's CA. `now` is in µs.
    """
    why = _refusal(shown, ca_pem, cluster_ca, host, now)
    return FAILED + why if why else ""


def _refusal(shown: str, ca_pem: str, cluster_ca: str, host: str, now: int) -> str:
    if not shown:
        trusted = cluster_ca and _squeezed(cluster_ca) in _squeezed(ca_pem)
        return "" if trusted else UNKNOWN
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(shown.encode())
        roots = x509.load_pem_x509_certificates(ca_pem.encode()) if _BEGIN in ca_pem else []
    except ValueError as error:
        return f"x509: malformed certificate: {error}"
    moment = datetime.datetime.fromtimestamp(now / 1e6, datetime.UTC)
    leaf = chain[0]
    text = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    for before, word, limit in (
        (moment < leaf.not_valid_before_utc, "before", leaf.not_valid_before_utc),
        (moment > leaf.not_valid_after_utc, "after", leaf.not_valid_after_utc),
    ):
        if before:
            return (
                "x509: certificate has expired or is not yet valid: current time "
                f"{text} is {word} {limit.strftime('%Y-%m-%dT%H:%M:%SZ')}"
            )
    wrong_name = name_refusal(*_names(leaf), host)
    if wrong_name:
        return wrong_name
    return "" if _chains(chain, roots) else UNKNOWN


def name_refusal(dns: list[str], addresses: list[str], host: str) -> str:
    """Why a certificate for these names is not valid for the host; empty when it is."""
    if _is_address(host):
        if host in addresses:
            return ""
        if not addresses:
            return (
                f"x509: cannot validate certificate for {host} because it doesn't contain any IP "
                "SANs"
            )
        return f"x509: certificate is valid for {', '.join(addresses)}, not {host}"
    if any(_fits(pattern.lower(), host.lower().removesuffix(".")) for pattern in dns):
        return ""
    if not dns and not addresses:
        return "x509: certificate relies on legacy Common Name field, use SANs instead"
    if not dns:
        return f"x509: certificate is not valid for any names, but wanted to match {host}"
    return f"x509: certificate is valid for {', '.join(dns)}, not {host}"


def _fits(pattern: str, host: str) -> bool:
    if not pattern.startswith("*."):
        return pattern == host
    head, dot, tail = host.partition(".")
    return bool(head and dot) and tail == pattern[2:]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _names(leaf: x509.Certificate) -> tuple[list[str], list[str]]:
    from cryptography import x509

    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [], []
    dns = list(names.get_values_for_type(x509.DNSName))
    return dns, [str(address) for address in names.get_values_for_type(x509.IPAddress)]


def _chains(chain: list[x509.Certificate], roots: list[x509.Certificate]) -> bool:
    """Whether the leaf leads to a root, through what the server sent along."""
    at = chain[0]
    for _ in chain:
        if at in roots or any(_signed(at, root) for root in roots):
            return True
        upper = next((above for above in chain[1:] if above is not at and _signed(at, above)), None)
        if upper is None:
            return False
        at = upper
    return False


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _squeezed(pem: str) -> str:
    return "".join(pem.split())
