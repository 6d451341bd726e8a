"""Matches requests against webhooks and policies: rules, selectors, equivalent resources.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates and
pkg/admission/plugin/policy/matching/matching.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.admission.plugin import Attributes
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.syntax import labels


def matched(match: Object, attributes: Attributes) -> ResourceInfo | None:
    """Returns the resource by which MatchResources match the request: the requested one, or one
    that serves the same objects; None when they do not match."""
    if not selected(match, attributes):
        return None
    fuzzy = match.get("matchPolicy") == "Equivalent"
    excluded = match.get("excludeResourceRules")
    if excluded and _named(excluded, attributes, fuzzy) is not None:
        return None
    rules = match.get("resourceRules")
    return _named(rules, attributes, fuzzy) if rules else attributes.info


def _named(rules: Iterable[Object], attributes: Attributes, fuzzy: bool) -> ResourceInfo | None:
    if any(rule_matches(rule, attributes) for rule in rules):
        return attributes.info
    if not fuzzy or attributes.interfaces is None:
        return None
    others = attributes.interfaces.equivalents(attributes.info, attributes.subresource)
    for rule in rules:
        for other in others:
            if rule_matches(rule, attributes, other):
                return other
    return None


def selected(criteria: Object, attributes: Attributes) -> bool:
    """Reports whether namespaceSelector and objectSelector of a webhook or policy select the
    request."""
    if not namespace_selected(criteria.get("namespaceSelector"), attributes):
        return False
    selector = criteria.get("objectSelector")
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
        labelled = attributes.obj or attributes.old
    elif attributes.namespace:
        labelled = attributes.reader.get("namespaces", "", attributes.namespace)
    else:
        return True  # it never excludes cluster-scoped requests
    return labels.from_label_selector(selector).matches(meta.labels_of(labelled or {}))


def rule_matches(rule: Object, attributes: Attributes, other: ResourceInfo | None = None) -> bool:
    """Matches a RuleWithOperations, and the resourceNames of policies; `other` is an equivalent
    resource to match instead of the requested one."""
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
        and any(
            _resource(pattern, info, attributes.subresource)
            for pattern in rule.get("resources") or ()
        )
    )


def _listed(values: Iterable[str] | None, value: str) -> bool:
    return any(item in ("*", value) for item in values or ())


def _resource(pattern: str, info: ResourceInfo, requested: str) -> bool:
    resource, _, subresource = pattern.partition("/")
    return resource in ("*", info.plural) and subresource in ("*", requested)
