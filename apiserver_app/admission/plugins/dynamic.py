"""The extension points: webhooks and admission policies that users configure.

They match requests as upstream does, but nothing outside the cluster is called and no CEL is
evaluated: a configuration that matches and may not be ignored refuses the request by name, one
with failurePolicy Ignore lets it pass with a word about it. Match conditions are taken to hold.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/{webhook,policy}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apiserver_app.admission.plugin import (
    CONNECT,
    CREATE,
    DELETE,
    SKIP,
    UPDATE,
    Attributes,
    Plugin,
    Verdict,
)
from apiserver_app.machinery import errors, labels, meta
from apiserver_app.machinery.meta import Object

GROUP = "admissionregistration.k8s.io"
_EVERY = (CREATE, UPDATE, DELETE, CONNECT)
_NO_WEBHOOK = Verdict("allow", "no webhook configuration matches")
_NO_POLICY = Verdict("allow", "no policy matches")


class _Webhooks(Plugin):
    handles = _EVERY
    configurations = ""
    word = ""

    def ask(self, attributes: Attributes) -> Verdict:
        found = attributes.reader.list(self.configurations)
        if not found:
            return _NO_WEBHOOK
        if attributes.info.group == GROUP:
            return SKIP
        ignored: list[str] = []
        for webhook in _webhooks(found):
            if not _matches(webhook, webhook.get("rules") or (), attributes):
                continue
            name = webhook["name"]
            if webhook.get("failurePolicy") != "Ignore":
                raise errors.internal(
                    f'failed calling webhook "{name}": calling {self.word} webhooks is not '
                    "simulated yet"
                )
            ignored.append(name)
        if ignored:
            return Verdict("allow", f"not called, failures are ignored: {', '.join(ignored)}")
        return _NO_WEBHOOK


class MutatingAdmissionWebhook(_Webhooks):
    name = "MutatingAdmissionWebhook"
    mutates = True
    configurations = f"mutatingwebhookconfigurations.{GROUP}"
    word = "mutating"
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/plugin.go"

    def admit(self, attributes: Attributes) -> Verdict:
        return self.ask(attributes)


class ValidatingAdmissionWebhook(_Webhooks):
    name = "ValidatingAdmissionWebhook"
    validates = True
    configurations = f"validatingwebhookconfigurations.{GROUP}"
    word = "validating"
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/plugin.go"

    def validate(self, attributes: Attributes) -> Verdict:
        return self.ask(attributes)


class ValidatingAdmissionPolicy(Plugin):
    name = "ValidatingAdmissionPolicy"
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
    if not _matches(constraints, constraints.get("resourceRules") or (), attributes):
        return False
    if any(_rule(rule, attributes) for rule in constraints.get("excludeResourceRules") or ()):
        return False
    if not narrower:
        return True
    rules = narrower.get("resourceRules") or constraints.get("resourceRules") or ()
    return _matches(narrower, rules, attributes)


def _denied(attributes: Attributes, policy: str, binding: str) -> errors.ApiError:
    info = attributes.info
    metadata = (attributes.obj or attributes.old or {}).get("metadata") or {}
    name = attributes.name or metadata.get("name") or metadata.get("generateName") or ""
    return errors.forbidden(
        info.group, info.plural, name,
        f"ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: "
        "evaluating CEL expressions is not simulated yet",
    )  # fmt: skip


def _webhooks(configurations: Iterable[Object]) -> Iterator[Object]:
    for configuration in configurations:
        yield from configuration.get("webhooks") or ()


# -- matching, as upstream's predicates ---------------------------------------------------------


def _matches(holder: Object, rules: Iterable[Object], attributes: Attributes) -> bool:
    """Whether one of the rules and both selectors of the holder are about the request."""
    if not any(_rule(rule, attributes) for rule in rules):
        return False
    if not _namespace_selected(holder.get("namespaceSelector"), attributes):
        return False
    selector = holder.get("objectSelector")
    if not selector:
        return True
    parsed = labels.from_label_selector(selector)
    return any(
        parsed.matches(meta.labels_of(obj)) for obj in (attributes.obj, attributes.old) if obj
    )


def _namespace_selected(selector: Object | None, attributes: Attributes) -> bool:
    if not selector:
        return True
    if attributes.info.key == "namespaces":
        holder = attributes.obj or attributes.old
    elif attributes.namespace:
        holder = attributes.reader.get("namespaces", "", attributes.namespace)
    else:
        return True  # cluster-scoped requests are never left out by it
    return labels.from_label_selector(selector).matches(meta.labels_of(holder or {}))


def _rule(rule: Object, attributes: Attributes) -> bool:
    info = attributes.info
    names = rule.get("resourceNames")
    if names and attributes.name not in names:
        return False
    scope = rule.get("scope", "*")
    if scope == "Namespaced" and not attributes.namespace:
        return False
    if scope == "Cluster" and attributes.namespace:
        return False
    return (
        _listed(rule.get("operations"), attributes.operation)
        and _listed(rule.get("apiGroups"), info.group)
        and _listed(rule.get("apiVersions"), info.version)
        and any(_resource(one, attributes) for one in rule.get("resources") or ())
    )


def _listed(words: Iterable[str] | None, word: str) -> bool:
    return any(one in ("*", word) for one in words or ())


def _resource(pattern: str, attributes: Attributes) -> bool:
    resource, _, subresource = pattern.partition("/")
    if resource not in ("*", attributes.info.plural):
        return False
    return subresource in ("*", attributes.subresource)
