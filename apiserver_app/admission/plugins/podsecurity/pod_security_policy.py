"""PodSecurityPolicy: a pod must satisfy a policy that its user or its account may use.

The first policy by name that admits the unchanged pod wins, else the first that admits it with its
defaults. Removed in 1.25. AppArmor and seccomp annotations are not checked.

Models kubernetes plugin/pkg/admission/security/podsecuritypolicy/admission.go and
pkg/security/podsecuritypolicy (1.19).
"""

from __future__ import annotations

import copy

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
from apiserver_app.admission.plugins.podsecurity import pspchecks
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.patch import jsonpatch

POLICIES = "podsecuritypolicies.policy"
ANNOTATION = "kubernetes.io/psp"


class PodSecurityPolicy(Plugin):
    name = "PodSecurityPolicy"
    concern = SECURITY
    resources = ("pods",)
    mutates = True
    validates = True
    reads = (POLICIES,)
    source = "plugin/pkg/admission/security/podsecuritypolicy/admission.go"

    async def admit(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None or attributes.operation != CREATE:
            return SKIP
        admitted, policy, reasons = await self._fitting(attributes, pod, may_change=True)
        if admitted is None:
            raise self._refusal(attributes, reasons)
        admitted = copy.deepcopy(admitted)
        admitted["metadata"].setdefault("annotations", {})[ANNOTATION] = policy
        return Verdict("change", f"fits {policy}", jsonpatch.diff(pod, admitted))

    async def validate(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        if attributes.operation == UPDATE and pod["spec"] == (attributes.old or {}).get("spec"):
            return Verdict("allow", "the spec stays as it is")
        admitted, policy, reasons = await self._fitting(attributes, pod, may_change=False)
        if admitted is None:
            raise self._refusal(attributes, reasons)
        return Verdict("allow", f"fits {policy}")

    async def _fitting(
        self, attributes: Attributes, pod: Object, *, may_change: bool
    ) -> tuple[Object | None, str, list[str]]:
        """Returns the pod as admitted and the policy's name, or every policy's objections."""
        changed: tuple[Object, str] | None = None
        reasons: list[str] = []
        for policy in attributes.reader.list(POLICIES):
            if not await self._may_use(attributes, pod, meta.name_of(policy)):
                continue
            changed_pod = copy.deepcopy(pod)
            if may_change:
                pspchecks.fill(policy["spec"], changed_pod)
            against = pspchecks.check(policy["spec"], changed_pod)
            if against:
                reasons += [str(problem) for problem in against]
            elif changed_pod == pod:
                return pod, meta.name_of(policy), []
            elif changed is None:
                changed = (changed_pod, meta.name_of(policy))
        if changed is None:
            return None, "", reasons
        return changed[0], changed[1], []

    async def _may_use(self, attributes: Attributes, pod: Object, policy: str) -> bool:
        """Reports whether the pod's account or the user may use the policy."""
        namespace = attributes.namespace
        account = pod["spec"].get("serviceAccountName")
        users = [attributes.user]
        if account:
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
            users.insert(0, User(f"system:serviceaccount:{namespace}:{account}", groups))
        for user in users:
            asked = auth.Attributes(
                user, "use", "", "policy", "*", "podsecuritypolicies", "", namespace, policy
            )
            if (await attributes.authorization.authorize(asked)).allowed:
                return True
        return False

    def _refusal(self, attributes: Attributes, reasons: list[str]) -> Exception:
        start = "unable to validate against any pod security policy"
        if attributes.version.has("PodSecurityPolicyRefusalReworded"):
            start = "PodSecurityPolicy: unable to admit pod"
        return forbidden(attributes, f"{start}: [{' '.join(reasons)}]")
