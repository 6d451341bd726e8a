"""The status of validating admission policies: what the type checker finds in their expressions.

It checks a policy once a generation; what it finds changes nothing of what the policy does.

Models kubernetes pkg/controller/validatingadmissionpolicystatus/controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For

MANAGER = "validatingadmissionpolicy-status"
RESOURCE = "validatingadmissionpolicies.admissionregistration.k8s.io"


class PolicyStatusController(Controller):
    """Reconciles validating admission policies, by name."""

    source = "pkg/controller/validatingadmissionpolicystatus/controller.go reconcile"
    watches = (For(RESOURCE, on=ADDED | UPDATED, optional=True),)

    async def reconcile(self, key: str) -> Result | None:
        policy = self.caches[RESOURCE].get(key)
        if policy is None:
            return Result("is gone")
        generation = policy["metadata"].get("generation") or 0
        status = policy.get("status") or {}
        if generation <= (status.get("observedGeneration") or 0):
            return Result("is checked already")
        check = self.ctx.check_types
        warnings = await check(policy) if check is not None else []
        checked: Object = {"expressionWarnings": warnings} if warnings else {}
        body = {
            "apiVersion": policy["apiVersion"],
            "kind": policy["kind"],
            "metadata": {"name": key},
            "status": {"observedGeneration": generation, "typeChecking": checked},
        }
        with errors.ignoring("NotFound"):
            await self.client.apply(RESOURCE, "", key, body, manager=MANAGER, subresource="status")
        return Result(f"checked: {len(warnings)} warnings")
