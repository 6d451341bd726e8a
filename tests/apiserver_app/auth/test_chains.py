"""Chains of client certificates are judged as Go judges them, in its words."""

from __future__ import annotations

import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID

from apiserver_app.auth import chains
from apiserver_app.machinery.meta import TlsPeer
from tests.apiserver_app.auth.authorities import MOMENT, Authority, Extensions
from tests.apiserver_app.auth.conftest import NOW

UNKNOWN = "x509: certificate signed by unknown authority"
NOT_FOR_THE_NAME = (
    "x509: a root or intermediate certificate is not authorized to sign for this name: "
)
TOO_LONG = "x509: too many intermediates for path length constraint"
CRITICAL = "x509: unhandled critical extension"
NO_SIGNER = (
    UNKNOWN + ' (possibly because of "x509: invalid signature: parent certificate cannot sign this '
    'kind of certificate" while trying to verify candidate authority certificate "{}")'
)
UNREAD = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


def refusal(root: Authority, peer: TlsPeer) -> str:
    """Go's sentence; "" when the chain holds."""
    try:
        chains.Roots(root.pem).verify(peer.chain, NOW)
    except chains.ChainError as error:
        return str(error)
    return ""


def holds_in_cryptography(root: Authority, peer: TlsPeer) -> bool:
    """What the library's own verifier says, which asks for no more than Go does."""
    require = verification.ExtensionPolicy.permit_all().require_present
    authority = require(x509.BasicConstraints, verification.Criticality.AGNOSTIC, None)
    verifier = (
        verification.PolicyBuilder()
        .store(verification.Store([root.certificate]))
        .time(MOMENT.replace(tzinfo=None))
        .extension_policies(
            ca_policy=authority, ee_policy=verification.ExtensionPolicy.permit_all()
        )
        .build_client_verifier()
    )
    leaf, *between = (x509.load_der_x509_certificate(one) for one in peer.chain)
    try:
        verifier.verify(leaf, between)
    except verification.VerificationError:
        return False
    return True


def bounded(length: int) -> x509.BasicConstraints:
    return x509.BasicConstraints(True, length)


def signing(allowed: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=allowed,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def test_path_may_be_as_long_as_its_root_allows_and_no_longer() -> None:
    root = Authority("root", basic=bounded(0))

    assert refusal(root, root.peer("ann")) == ""
    long = Authority("middle", root).peer("ann")
    assert refusal(root, long) == TOO_LONG
    assert not holds_in_cryptography(root, long)


def test_intermediate_authority_limits_the_path_below_it() -> None:
    root = Authority("root")
    middle = Authority("middle", root, basic=bounded(0))

    assert refusal(root, middle.peer("ann")) == ""
    assert refusal(root, Authority("low", middle).peer("ann")) == TOO_LONG


@pytest.mark.parametrize("basic", [None, x509.BasicConstraints(False, None)])
def test_certificate_that_is_no_authority_signs_nothing(
    basic: x509.BasicConstraints | None,
) -> None:
    root = Authority("root")
    peer = Authority("middle", root, basic=basic).peer("ann")

    assert refusal(root, peer) == NO_SIGNER.format("middle")
    assert not holds_in_cryptography(root, peer)


def test_authority_whose_key_is_not_for_certificates_signs_nothing() -> None:
    root = Authority("root", more=[(signing(False), True)])
    good = Authority("root", more=[(signing(True), True)])

    assert refusal(root, root.peer("ann")) == NO_SIGNER.format("root")
    assert refusal(good, good.peer("ann")) == ""


def test_key_of_a_server_or_below_an_authority_for_servers_is_for_no_client() -> None:
    server = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    every = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE])
    usage = "x509: certificate specifies an incompatible key usage"
    root = Authority("root")

    assert refusal(root, root.peer("ann", usage=ExtendedKeyUsageOID.SERVER_AUTH)) == usage
    assert refusal(root, root.peer("ann", usage=None)) == ""
    low = Authority("low", root, more=[(server, False)]).peer("ann")
    assert refusal(root, low) == usage
    low = Authority("low", root, more=[(every, False)]).peer("ann")
    assert refusal(root, low) == ""


def test_unknown_extension_is_refused_only_when_it_is_critical() -> None:
    root = Authority("root")

    assert refusal(root, root.peer("ann", more=[(UNREAD, False)])) == ""
    assert refusal(root, root.peer("ann", more=[(UNREAD, True)])) == CRITICAL
    assert refusal(root, Authority("middle", root, more=[(UNREAD, True)]).peer("ann")) == CRITICAL
    assert not holds_in_cryptography(root, root.peer("ann", more=[(UNREAD, True)]))


def test_authority_that_has_expired_refuses_what_it_signed() -> None:
    root = Authority("root")
    peer = Authority("middle", root, days=-0.5).peer("ann")

    assert refusal(root, peer).startswith("x509: certificate has expired or is not yet valid: ")


@pytest.mark.parametrize(
    ("constraints", "name", "why"),
    [
        (([x509.DNSName("example.com")], None), x509.DNSName("a.example.com"), ""),
        (([x509.DNSName("example.com")], None), x509.DNSName("EXAMPLE.com"), ""),
        (([x509.DNSName("example.com")], None), x509.DNSName("myexample.com"),
         'DNS name "myexample.com" is not permitted by any constraint'),
        ((None, [x509.DNSName("example.com")]), x509.DNSName("a.example.com"),
         'DNS name "a.example.com" is excluded by constraint "example.com"'),
        (([x509.IPAddress(ipaddress.ip_network("10.0.0.0/8"))], None),
         x509.IPAddress(ipaddress.ip_address("10.1.2.3")), ""),
        (([x509.IPAddress(ipaddress.ip_network("10.0.0.0/8"))], None),
         x509.IPAddress(ipaddress.ip_address("11.1.2.3")),
         'IP address "11.1.2.3" is not permitted by any constraint'),
        ((None, [x509.IPAddress(ipaddress.ip_network("10.0.0.0/8"))]),
         x509.IPAddress(ipaddress.ip_address("10.1.2.3")),
         'IP address "10.1.2.3" is excluded by constraint "10.0.0.0/8"'),
        (([x509.RFC822Name("example.com")], None), x509.RFC822Name("ann@example.com"), ""),
        (([x509.RFC822Name("ann@example.com")], None), x509.RFC822Name("bob@example.com"),
         'email address "bob@example.com" is not permitted by any constraint'),
        # constraints of one type say nothing of names of another
        (([x509.DNSName("example.com")], None), x509.RFC822Name("ann@elsewhere.org"), ""),
    ],
)  # fmt: skip
def test_authority_signs_only_for_names_within_its_constraints(
    constraints: tuple[list[x509.GeneralName] | None, list[x509.GeneralName] | None],
    name: x509.GeneralName,
    why: str,
) -> None:
    root = Authority("root", more=[(x509.NameConstraints(*constraints), True)])
    peer = root.peer("ann", more=[(x509.SubjectAlternativeName([name]), False)])

    assert refusal(root, peer) == (NOT_FOR_THE_NAME + why if why else "")
    if not isinstance(name, x509.RFC822Name):  # which the library does not match
        assert holds_in_cryptography(root, peer) is not bool(why)


def test_constraint_with_a_leading_dot_excludes_what_is_below_only() -> None:
    constraints = x509.NameConstraints([x509.UniformResourceIdentifier(".example.com")], None)
    root = Authority("root", more=[(constraints, True)])

    def named(uri: str) -> Extensions:
        return [(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri)]), False)]

    assert refusal(root, root.peer("ann", more=named("https://a.example.com/x"))) == ""
    assert refusal(root, root.peer("ann", more=named("https://example.com/x"))) == (
        f'{NOT_FOR_THE_NAME}URI "https://example.com/x" is not permitted by any constraint'
    )


def test_name_constraints_bind_no_certificate_without_names() -> None:
    root = Authority("root", more=[(x509.NameConstraints([x509.DNSName("a.b")], None), True)])

    assert refusal(root, root.peer("ann")) == ""


def test_constraints_of_a_type_that_go_does_not_read_are_refused_when_critical() -> None:
    directory = x509.DirectoryName(x509.Name([]))
    constraints = x509.NameConstraints([directory], None)
    for critical, why in ((True, CRITICAL), (False, "")):
        root = Authority("root", more=[(constraints, critical)])
        assert refusal(root, root.peer("ann")) == why


@pytest.mark.parametrize(("last", "name"), [(5, "SHA1-RSA"), (4, "MD5-RSA")])
def test_weak_signature_is_not_looked_at(last: int, name: str) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    root = Authority("root", key=key)
    peer = root.peer("ann")
    assert refusal(root, peer) == ""

    algorithm = bytes.fromhex("2a864886f70d0101")
    weak = peer.chain[0].replace(algorithm + b"\x0b", algorithm + bytes([last]))
    with pytest.raises(chains.ChainError) as refused:
        chains.Roots(root.pem).verify([weak], NOW)

    assert str(refused.value) == (
        f'{UNKNOWN} (possibly because of "x509: cannot verify signature: insecure algorithm {name}"'
        ' while trying to verify candidate authority certificate "root")'
    )


def test_another_path_is_taken_where_the_first_does_not_hold() -> None:
    root = Authority("root")
    good = Authority("middle", root)
    bad = Authority("middle", root, days=-0.5, key=good.key)
    peer = good.peer("ann")
    leaf, middle = peer.chain
    expired = bad.peer("ann").chain[1]

    for between in ((expired, middle), (middle, expired)):
        found = chains.Roots(root.pem).verify([leaf, *between], NOW)
        assert found.common_name == "ann"
