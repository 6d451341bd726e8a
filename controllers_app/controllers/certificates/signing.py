"""The CSR signers: approved requests get a certificate of the cluster's CA.

Each of upstream's four signers has its own rules; a request that breaks them has failed for good.

Models kubernetes pkg/controller/certificates/signer/signer.go.
"""

from __future__ import annotations

import base64
import hashlib

from apiserver_app.apis import certificates
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.certificates import rules
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For


class CsrSigningController(Controller):
    """Reconciles certificate signing requests, by name."""

    source = "pkg/controller/certificates/signer/signer.go handle"
    watches = (
        For(rules.RESOURCE, on=ADDED | UPDATED, when=lambda csr: rules.has(csr, "Approved")),
    )

    async def reconcile(self, key: str) -> Result | None:
        csr = self.caches[rules.RESOURCE].get(key)
        if csr is None or (csr.get("status") or {}).get("certificate"):
            return Result("is gone or has its certificate")
        if not rules.has(csr, "Approved") or rules.has(csr, "Failed"):
            return Result("is not approved, or has failed: does nothing")
        spec, authority = csr["spec"], self.ctx.authority
        if spec["signerName"] not in rules.SIGNERS or authority is None:
            return Result(f"{spec['signerName']} is somebody else's to sign")
        usages = spec.get("usages") or ()
        try:
            request = certificates.parse(spec["request"])
            wrong = rules.refusal(request, usages, spec["signerName"])
            if wrong:
                await self._fail(csr, wrong)
                return Result(f"fails: {wrong}")
            certificate = authority.certificate(
                spec["request"],
                usages,
                spec.get("expirationSeconds"),
                self.kernel.now,
                _serial(csr),
            )
        except certificates.SigningError as error:
            return Result(f"cannot be signed: {error}")
        encoded = base64.b64encode(certificate.encode()).decode()
        await self._write(meta.with_path(csr, ("status", "certificate"), encoded))
        return Result(f"signs for {request.common_name!r}")

    async def _fail(self, csr: Object, why: str) -> None:
        condition = {
            "type": "Failed",
            "status": "True",
            "reason": "SignerValidationFailure",
            "message": why,
            "lastUpdateTime": meta.rfc3339(self.kernel.now),
        }
        conditions = [*((csr.get("status") or {}).get("conditions") or ()), condition]
        await self._write(meta.with_path(csr, ("status", "conditions"), conditions))

    async def _write(self, csr: Object) -> None:
        name = meta.name_of(csr)
        await self.client.update(rules.RESOURCE, "", name, csr, subresource="status")


def _serial(csr: Object) -> int:
    """128 bits that no other request has."""
    digest = hashlib.sha256(meta.uid_of(csr).encode()).digest()[:16]
    return int.from_bytes(digest, "big") >> 1 | 1
