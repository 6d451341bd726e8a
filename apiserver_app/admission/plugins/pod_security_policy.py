"""PodSecurityPolicy: a pod must fit one of the policies that its user or its account may use.

The first policy by name that lets the pod in unchanged is taken, else the first that would after
it filled in its defaults. Gone in 1.25. AppArmor and seccomp annotations are not looked at.

Models kubernetes plugin/pkg/admission/security/podsecuritypolicy/admission.go and
pkg/security/podsecuritypolicy (1.19).
"""

from __future__ import annotations

import copy

from apiserver_app.admission import pspchecks
from apiserver_app.admission.plugin import (
    CREATE,
    SECURITY,
    SKIP,
    UPDATE,
    Attributes,
    Given,
    Permits,
    Plugin,
    Question,
    Verdict,
    forbidden,
)
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

    def __init__(self, permits: Permits) -> None:
        self._permits = permits

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given.permits)

    async def admit(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None or attributes.operation != CREATE:
            return SKIP
        found, policy, why = await self._fitting(attributes, pod, may_change=True)
        if found is None:
            raise self._refusal(attributes, why)
        found = copy.deepcopy(found)
        found["metadata"].setdefault("annotations", {})[ANNOTATION] = policy
        return Verdict("change", f"fits {policy}", jsonpatch.diff(pod, found))

    async def validate(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        if attributes.operation == UPDATE and pod["spec"] == (attributes.old or {}).get("spec"):
            return Verdict("allow", "the spec stays as it is")
        found, policy, why = await self._fitting(attributes, pod, may_change=False)
        if found is None:
            raise self._refusal(attributes, why)
        return Verdict("allow", f"fits {policy}")

    async def _fitting(
        self, attributes: Attributes, pod: Object, *, may_change: bool
    ) -> tuple[Object | None, str, list[str]]:
        """The pod as a policy lets it in, that policy's name, or what each had against it."""
        changed: tuple[Object, str] | None = None
        why: list[str] = []
        for policy in attributes.reader.list(POLICIES):
            if not await self._may_use(attributes, pod, meta.name_of(policy)):
                continue
            made = copy.deepcopy(pod)
            if may_change:
                pspchecks.fill(policy["spec"], made)
            against = pspchecks.check(policy["spec"], made)
            if against:
                why += [str(one) for one in against]
            elif made == pod:
                return pod, meta.name_of(policy), []
            elif changed is None:
                changed = (made, meta.name_of(policy))
        if changed is None:
            return None, "", why
        return changed[0], changed[1], []

    async def _may_use(self, attributes: Attributes, pod: Object, policy: str) -> bool:
        """Whether the pod's account or the user may use the policy."""
        namespace = attributes.namespace
        account = pod["spec"].get("serviceAccountName")
        users = [attributes.user]
        if account:
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
            users.insert(0, User(f"system:serviceaccount:{namespace}:{account}", groups))
        for user in users:
            asked = Question(
                user, "use", "policy", "*", "podsecuritypolicies", "", namespace, policy
            )
            if (await self._permits(asked))[0]:
                return True
        return False

    def _refusal(self, attributes: Attributes, why: list[str]) -> Exception:
        start = "unable to validate against any pod security policy"
        if attributes.version.has("PodSecurityPolicyRefusalReworded"):
            start = "PodSecurityPolicy: unable to admit pod"
        return forbidden(attributes, f"{start}: [{' '.join(why)}]")
