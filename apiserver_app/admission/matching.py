"""Whether a webhook or a policy is about a request: rules and selectors.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates and
pkg/admission/plugin/policy/matching/matching.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.admission.plugin import Attributes
from apiserver_app.machinery import labels, meta
from apiserver_app.machinery.meta import Object, ResourceInfo


def matches(holder: Object, rules: Iterable[Object], attributes: Attributes) -> bool:
    """Whether one of the rules and both selectors of the holder are about the request."""
    if not any(rule_matches(rule, attributes) for rule in rules):
        return False
    return selected(holder, attributes)


def selected(holder: Object, attributes: Attributes) -> bool:
    """Whether the namespaceSelector and the objectSelector of the holder let the request in."""
    if not namespace_selected(holder.get("namespaceSelector"), attributes):
        return False
    selector = holder.get("objectSelector")
    if not selector:
        return True
    parsed = labels.from_label_selector(selector)
    return any(
        parsed.matches(meta.labels_of(obj)) for obj in (attributes.obj, attributes.old) if obj
    )


def namespace_selected(selector: Object | None, attributes: Attributes) -> bool:
    if not selector:
        return True
    if attributes.info.key == "namespaces":
        holder = attributes.obj or attributes.old
    elif attributes.namespace:
        holder = attributes.reader.get("namespaces", "", attributes.namespace)
    else:
        return True  # cluster-scoped requests are never left out by it
    return labels.from_label_selector(selector).matches(meta.labels_of(holder or {}))


def rule_matches(rule: Object, attributes: Attributes, other: ResourceInfo | None = None) -> bool:
    """A RuleWithOperations, with the resourceNames of policies; `other` serves the same objects as
    what was requested, and is taken in its place."""
    info = other or attributes.info
    names = rule.get("resourceNames")
    if names and attributes.name not in names:
        return False
    scope = rule.get("scope", "*")
    if scope != "*" and (scope == "Namespaced") != info.namespaced:
        return False
    return (
        _listed(rule.get("operations"), attributes.operation)
        and _listed(rule.get("apiGroups"), info.group)
        and _listed(rule.get("apiVersions"), info.version)
        and any(_resource(one, info, attributes.subresource) for one in rule.get("resources") or ())
    )


def _listed(words: Iterable[str] | None, word: str) -> bool:
    return any(one in ("*", word) for one in words or ())


def _resource(pattern: str, info: ResourceInfo, asked: str) -> bool:
    resource, _, subresource = pattern.partition("/")
    return resource in ("*", info.plural) and subresource in ("*", asked)
