"""Compiled PolicyRules: what a rule allows, and how close it comes to allowing a request.

Models kubernetes pkg/apis/rbac/v1/evaluation_helpers.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.authprotocols import Attributes
from apiserver_app.machinery.meta import Object


class Rule:
    """One compiled PolicyRule. `None` stands for `*` and, with names, for any name."""

    __slots__ = ("groups", "names", "raw", "resources", "url_prefixes", "urls", "verbs")

    def __init__(self, raw: Object) -> None:
        self.raw = raw
        self.verbs = _value_set(raw.get("verbs"))
        self.groups = _value_set(raw.get("apiGroups"))
        self.resources = _value_set(raw.get("resources"))
        names = raw.get("resourceNames")
        self.names = frozenset(names) if names else None
        urls = raw.get("nonResourceURLs") or ()
        self.urls = frozenset(urls)
        self.url_prefixes = tuple(url.rstrip("*") for url in urls if url.endswith("*"))

    def covers(self, verb: str, group: str, combined: str, subresource: str) -> bool:
        """Reports whether the rule allows the verb on `combined` (`pods/log`), ignoring names."""
        if self.verbs is not None and verb not in self.verbs:
            return False
        if self.groups is not None and group not in self.groups:
            return False
        return self.on(combined, subresource)

    def on(self, combined: str, subresource: str) -> bool:
        if self.resources is None or combined in self.resources:
            return True
        return bool(subresource) and f"*/{subresource}" in self.resources

    def covers_path(self, verb: str, path: str) -> bool:
        return (self.verbs is None or verb in self.verbs) and self.on_path(path)

    def on_path(self, path: str) -> bool:
        return path in self.urls or any(path.startswith(prefix) for prefix in self.url_prefixes)

    def missing(self, attributes: Attributes) -> list[str]:
        """Returns the fields that keep the rule from allowing the request."""
        fields: list[str] = []
        if self.verbs is not None and attributes.verb not in self.verbs:
            fields.append("verb")
        if not attributes.is_resource:
            if not self.on_path(attributes.path):
                fields.append("path")
            return fields
        if self.groups is not None and attributes.group not in self.groups:
            fields.append("apiGroup")
        if not self.on(combined(attributes), attributes.subresource):
            fields.append("resource")
        if self.names is not None and attributes.name not in self.names:
            fields.append("resourceName")
        return fields


def compile_rules(raw: Sequence[Object] | None) -> tuple[Rule, ...]:
    return tuple(Rule(rule) for rule in raw or ())


def combined(attributes: Attributes) -> str:
    if attributes.subresource:
        return f"{attributes.resource}/{attributes.subresource}"
    return attributes.resource


def smallest_rule(attributes: Attributes) -> Object:
    """Returns the narrowest PolicyRule that allows exactly this request."""
    if not attributes.is_resource:
        return {"nonResourceURLs": [attributes.path], "verbs": [attributes.verb]}
    rule: Object = {
        "apiGroups": [attributes.group],
        "resources": [combined(attributes)],
        "verbs": [attributes.verb],
    }
    # upstream does not know the name of an object being created, so a rule cannot name it
    if attributes.name and attributes.verb != "create":
        rule["resourceNames"] = [attributes.name]
    return rule


def smallest_role(attributes: Attributes) -> dict[str, Any]:
    """Returns the kind of role for that rule: a Role in the namespace, or a ClusterRole."""
    if attributes.is_resource and attributes.namespace:
        return {"kind": "Role", "namespace": attributes.namespace}
    return {"kind": "ClusterRole"}


def _value_set(values: Sequence[str] | None) -> frozenset[str] | None:
    unique = frozenset(values or ())
    return None if "*" in unique else unique
