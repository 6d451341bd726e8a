"""The CSR approver: a kubelet's request for its client certificate, if its sender may have one.

Whether it may is asked of the authorizers, as the user who sent the request.

Models kubernetes pkg/controller/certificates/approver/sarapprove.go.
"""

from __future__ import annotations

from apiserver_app.apis import certificates
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.certificates import rules
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For

_SELF = "Auto approving self kubelet client certificate after SubjectAccessReview."
_ANY = "Auto approving kubelet client certificate after SubjectAccessReview."
RETRY_SECONDS = 60


class CsrApprovingController(Controller):
    """Reconciles certificate signing requests, by name."""

    source = "pkg/controller/certificates/approver/sarapprove.go handle"
    watches = (For(rules.RESOURCE, on=ADDED | UPDATED, when=lambda csr: not _decided(csr)),)

    async def reconcile(self, key: str) -> Result | None:
        csr = self.caches[rules.RESOURCE].get(key)
        if csr is None or _decided(csr):
            return Result("is gone or decided")
        spec = csr["spec"]
        if spec["signerName"] != rules.KUBELET_CLIENT:
            return Result(f"{spec['signerName']} is for others to approve")
        try:
            request = certificates.parse(spec["request"])
        except certificates.SigningError as error:
            return Result(f'unable to parse csr "{key}": {error}')
        if rules.kubelet_client(request, spec.get("usages") or ()):
            return Result("is no client certificate of a kubelet: does nothing")
        tried = []
        for subresource, message in (("selfnodeclient", _SELF), ("nodeclient", _ANY)):
            if subresource == "selfnodeclient" and spec.get("username") != request.common_name:
                continue
            tried.append(subresource)
            if await self._may(spec, subresource):
                await self._approve(csr, message)
                return Result(f"approves: {subresource}")
        text = f'recognized csr "{key}" as [{" ".join(tried)}]'
        return Result(
            f"{text} but subject access review was not approved", RETRY_SECONDS, background=True
        )

    async def _may(self, spec: Object, subresource: str) -> bool:
        asked: Object = {
            "resourceAttributes": {
                "group": "certificates.k8s.io",
                "resource": "certificatesigningrequests",
                "verb": "create",
                "subresource": subresource,
            }
        }
        for field, name in (
            ("username", "user"),
            ("uid", "uid"),
            ("groups", "groups"),
            ("extra", "extra"),
        ):
            if spec.get(field):
                asked[name] = spec[field]
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": asked,
        }
        answer = await self.client.create("subjectaccessreviews.authorization.k8s.io", "", review)
        return bool(answer["status"].get("allowed"))

    async def _approve(self, csr: Object, message: str) -> None:
        condition = {
            "type": "Approved",
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
        }
        conditions = [*((csr.get("status") or {}).get("conditions") or ()), condition]
        changed = meta.with_path(csr, ("status", "conditions"), conditions)
        name = meta.name_of(csr)
        await self.client.update(rules.RESOURCE, "", name, changed, subresource="approval")


def _decided(csr: Object) -> bool:
    certificate = (csr.get("status") or {}).get("certificate")
    return bool(certificate) or any(rules.has(csr, kind) for kind in ("Approved", "Denied"))
