"""ValidatingAdmissionPolicy: rules of users, matched as upstream does.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy.
"""

from __future__ import annotations

from apiserver_app.admission import matching
from apiserver_app.admission.plugin import (
    CONNECT,
    CREATE,
    DELETE,
    EXTENSION,
    SKIP,
    UPDATE,
    Attributes,
    Plugin,
    Verdict,
)
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object

GROUP = "admissionregistration.k8s.io"
_EVERY = (CREATE, UPDATE, DELETE, CONNECT)
_NO_POLICY = Verdict("allow", "no policy matches")


class ValidatingAdmissionPolicy(Plugin):
    name = "ValidatingAdmissionPolicy"
    concern = EXTENSION
    handles = _EVERY
    validates = True
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/plugin.go"

    def validate(self, attributes: Attributes) -> Verdict:
        bindings = attributes.reader.list(f"validatingadmissionpolicybindings.{GROUP}")
        if not bindings:
            return _NO_POLICY
        if attributes.info.group == GROUP:
            return SKIP
        ignored: list[str] = []
        for binding in bindings:
            name = (binding.get("spec") or {}).get("policyName", "")
            policy = attributes.reader.get(f"validatingadmissionpolicies.{GROUP}", "", name)
            if policy is None or not _policy_matches(policy, binding, attributes):
                continue
            if policy["spec"].get("failurePolicy") != "Ignore":
                raise _denied(attributes, name, meta.name_of(binding))
            ignored.append(name)
        if ignored:
            return Verdict("allow", f"not evaluated, failures are ignored: {', '.join(ignored)}")
        return _NO_POLICY


def _policy_matches(policy: Object, binding: Object, attributes: Attributes) -> bool:
    constraints = policy["spec"].get("matchConstraints") or {}
    narrower = (binding.get("spec") or {}).get("matchResources") or {}
    if not matching.matches(constraints, constraints.get("resourceRules") or (), attributes):
        return False
    if any(
        matching.rule_matches(rule, attributes)
        for rule in constraints.get("excludeResourceRules") or ()
    ):
        return False
    if not narrower:
        return True
    rules = narrower.get("resourceRules") or constraints.get("resourceRules") or ()
    return matching.matches(narrower, rules, attributes)


def _denied(attributes: Attributes, policy: str, binding: str) -> errors.ApiError:
    info = attributes.info
    metadata = (attributes.obj or attributes.old or {}).get("metadata") or {}
    name = attributes.name or metadata.get("name") or metadata.get("generateName") or ""
    return errors.forbidden(
        info.group, info.plural, name,
        f"ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: "
        "evaluating CEL expressions is not simulated yet",
    )  # fmt: skip
