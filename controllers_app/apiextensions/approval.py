"""The API approval controller: says of definitions in groups of the community what their
annotation says of a review.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/controller/apiapproval/
apiapproval_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery.kinds import customresources
from controllers_app.apiextensions.definitions import DefinitionController
from controllers_app.runtime.controller import Result

CONDITION = "KubernetesAPIApprovalPolicyConformant"
# state of the annotation -> (status, reason)
_STATES = {
    "missing": ("False", "MissingAnnotation"),
    "invalid": ("False", "InvalidAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
    "approved": ("True", "ApprovedAnnotation"),
}


class ApprovalController(DefinitionController):
    """Reconciles definitions: the condition KubernetesAPIApprovalPolicyConformant."""

    source = (
        "staging/src/k8s.io/apiextensions-apiserver/pkg/controller/apiapproval/"
        "apiapproval_controller.go sync"
    )

    async def reconcile(self, key: str) -> Result | None:
        definition = self.definitions.get(key)
        if definition is None:
            return Result("is gone")
        if not customresources.is_protected_group(definition["spec"]["group"]):
            return Result("its group needs no review")
        state, why = customresources.approval(definition)
        status, reason = _STATES[state]
        changed = self.with_condition(definition, CONDITION, status, reason, why)
        if changed != definition and await self.write_status(changed) is None:
            return Result("changed meanwhile")
        return Result(f"{reason}: {why}")
