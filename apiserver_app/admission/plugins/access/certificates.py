"""Who may approve, sign and attest certificates, and which subjects are forbidden.

CertificateApproval, CertificateSigning, ClusterTrustBundleAttest, CertificateSubjectRestriction.
The first three ask the authorizers for the verb on the signer, then on its domain.

Models kubernetes plugin/pkg/admission/certificates.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from apiserver_app import authprotocols as auth
from apiserver_app.admission.plugin import (
    CREATE,
    SECURITY,
    SKIP,
    UPDATE,
    Attributes,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.machinery.meta import Object

REQUESTS = "certificatesigningrequests.certificates.k8s.io"
BUNDLES = "clustertrustbundles.certificates.k8s.io"
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
MASTERS = "system:masters"


class SignerPlugin(Plugin):
    """A plugin that checks whether a user may perform a verb on a signer."""

    validates = True

    async def check(self, attributes: Attributes, verb: str, signer: str, deed: str) -> Verdict:
        """Returns that the user may perform the verb on the signer, or refuses the deed."""
        if not await self._may(attributes, verb, signer):
            raise forbidden(attributes, f'user not permitted to {deed} signerName "{signer}"')
        return Verdict("allow", f"may {verb} for {signer}")

    async def _may(self, attributes: Attributes, verb: str, signer: str) -> bool:
        domain = signer.partition("/")[0]
        for name in (signer, f"{domain}/*"):
            asked = auth.Attributes(
                attributes.user, verb, "", "certificates.k8s.io", "*", "signers", name=name
            )
            if (await attributes.authorization.authorize(asked)).allowed:
                return True
        return False


class CertificateApproval(SignerPlugin):
    name = "CertificateApproval"
    concern = SECURITY
    handles = (UPDATE,)
    resources = (f"{REQUESTS}/approval",)
    source = "plugin/pkg/admission/certificates/approval/admission.go"

    async def validate(self, attributes: Attributes) -> Verdict:
        signer = _signer(attributes.old)
        return await self.check(attributes, "approve", signer, "approve requests with")


class CertificateSigning(SignerPlugin):
    name = "CertificateSigning"
    concern = SECURITY
    handles = (UPDATE,)
    resources = (f"{REQUESTS}/status",)
    source = "plugin/pkg/admission/certificates/signing/admission.go"

    async def validate(self, attributes: Attributes) -> Verdict:
        old = (attributes.old or {}).get("status") or {}
        new = (attributes.obj or {}).get("status") or {}
        if all(old.get(field) == new.get(field) for field in ("certificate", "conditions")):
            return Verdict("allow", "neither certificate nor conditions change")
        signer = _signer(attributes.old)
        return await self.check(attributes, "sign", signer, "sign requests with")


class ClusterTrustBundleAttest(SignerPlugin):
    name = "ClusterTrustBundleAttest"
    concern = SECURITY
    resources = (BUNDLES,)
    source = "plugin/pkg/admission/certificates/ctbattest/admission.go"

    async def validate(self, attributes: Attributes) -> Verdict:
        signer = _signer(attributes.obj)
        if not signer:
            return Verdict("allow", "the bundle names no signer")
        return await self.check(attributes, "attest", signer, "attest for")


class CertificateSubjectRestriction(Plugin):
    """`cryptography` is loaded at the first request for a client certificate."""

    name = "CertificateSubjectRestriction"
    concern = SECURITY
    handles = (CREATE,)
    resources = (REQUESTS,)
    validates = True
    source = "plugin/pkg/admission/certificates/subjectrestriction/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        if _signer(attributes.obj) != CLIENT_SIGNER:
            return Verdict("allow", "not for a client of the API server")
        try:
            groups = organizations(attributes.obj["spec"].get("request", ""))
        except ValueError as error:
            raise forbidden(attributes, f"failed to parse CSR: {error}") from error
        if MASTERS in groups:
            raise forbidden(
                attributes, f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
            )
        return Verdict("allow", f"the subject is not in {MASTERS}")


def organizations(request: str) -> list[str]:
    """Returns the groups in a certificate request (PEM in base64). Raises ValueError."""
    from cryptography.x509.oid import NameOID

    return _subject(request, NameOID.ORGANIZATION_NAME)


def common_name(request: str) -> str:
    """Returns the user in a certificate request. Raises ValueError."""
    from cryptography.x509.oid import NameOID

    return next(iter(_subject(request, NameOID.COMMON_NAME)), "")


def _subject(request: str, field: Any) -> list[str]:
    from cryptography import x509

    try:
        pem = base64.b64decode(request, validate=True)
    except binascii.Error as error:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST") from error
    if b"CERTIFICATE REQUEST" not in pem:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    parsed = x509.load_pem_x509_csr(pem)
    return [str(attribute.value) for attribute in parsed.subject.get_attributes_for_oid(field)]


def _signer(obj: Object | None) -> str:
    return str(((obj or {}).get("spec") or {}).get("signerName", ""))
