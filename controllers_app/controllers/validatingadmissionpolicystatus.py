"""The status of validating admission policies: what the type checker says of their expressions.

It checks a policy once a generation; what it finds changes nothing of what the policy does.

Models kubernetes pkg/controller/validatingadmissionpolicystatus/controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result

RESOURCE = "validatingadmissionpolicies.admissionregistration.k8s.io"


class PolicyStatusController(Controller):
    """Reconciles validating admission policies, by name."""

    resource = RESOURCE
    source = "pkg/controller/validatingadmissionpolicystatus/controller.go reconcile"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._check = ctx.check_types
        served = {info.key for info in kinds.resources(ctx.version, ctx.config)}
        if RESOURCE in served:
            self._policies = ctx.informers.informer(RESOURCE)
            self._policies.handle(self._changed, self._updated)

    async def reconcile(self, key: str) -> Result | None:
        policy = self._policies.get(key)
        if policy is None:
            return Result("is gone")
        generation = policy["metadata"].get("generation") or 0
        status = policy.get("status") or {}
        if generation <= (status.get("observedGeneration") or 0):
            return Result("is checked already")
        warnings = self._check(policy)
        checked: Object = {"expressionWarnings": warnings} if warnings else {}
        made = {**status, "observedGeneration": generation, "typeChecking": checked}
        try:
            await self.client.update(RESOURCE, "", key, {**policy, "status": made},
                                     subresource="status")  # fmt: skip
        except errors.ApiError as error:
            if error.code != 404:
                raise
        return Result(f"checked: {len(warnings)} warnings")

    def _changed(self, policy: Object, revision: int) -> None:
        self.queue.add(meta.name_of(policy), revision)

    def _updated(self, _old: Object, policy: Object, revision: int) -> None:
        self._changed(policy, revision)
