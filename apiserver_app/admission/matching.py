"""Whether a webhook or a policy is about a request: rules, selectors, equivalent resources.

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
    """As which resource MatchResources are about the request: as the one that is asked for, or as
    one that serves the same objects; None when they are not about it."""
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
    if not fuzzy or attributes.means is None:
        return None
    others = attributes.means.equivalents(attributes.info, attributes.subresource)
    for rule in rules:
        for other in others:
            if rule_matches(rule, attributes, other):
                return other
    return None


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
