"""PolicyRules made ready for quick answers: what one rule allows, and how close it comes.

Models kubernetes pkg/apis/rbac/v1/evaluation_helpers.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.auth.protocols import Attributes
from apiserver_app.machinery.meta import Object


class Rule:
    """One compiled PolicyRule. `None` stands for `*` and, with names, for any name."""

    __slots__ = ("groups", "names", "raw", "resources", "url_prefixes", "urls", "verbs")

    def __init__(self, raw: Object) -> None:
        self.raw = raw
        self.verbs = _words(raw.get("verbs"))
        self.groups = _words(raw.get("apiGroups"))
        self.resources = _words(raw.get("resources"))
        names = raw.get("resourceNames")
        self.names = frozenset(names) if names else None
        urls = raw.get("nonResourceURLs") or ()
        self.urls = frozenset(urls)
        self.url_prefixes = tuple(url.rstrip("*") for url in urls if url.endswith("*"))

    def covers(self, verb: str, group: str, combined: str, subresource: str) -> bool:
        """Whether it allows the verb on `combined` (`pods/log`), leaving aside names."""
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
        """What keeps the rule from allowing this; empty when it does."""
        out: list[str] = []
        if self.verbs is not None and attributes.verb not in self.verbs:
            out.append("verb")
        if not attributes.is_resource:
            if not self.on_path(attributes.path):
                out.append("path")
            return out
        if self.groups is not None and attributes.group not in self.groups:
            out.append("apiGroup")
        if not self.on(combined(attributes), attributes.subresource):
            out.append("resource")
        if self.names is not None and attributes.name not in self.names:
            out.append("resourceName")
        return out


def compile_rules(raw: Sequence[Object] | None) -> tuple[Rule, ...]:
    return tuple(Rule(rule) for rule in raw or ())


def combined(attributes: Attributes) -> str:
    if attributes.subresource:
        return f"{attributes.resource}/{attributes.subresource}"
    return attributes.resource


def smallest_rule(attributes: Attributes) -> Object:
    """The narrowest PolicyRule that allows exactly this request."""
    if not attributes.is_resource:
        return {"nonResourceURLs": [attributes.path], "verbs": [attributes.verb]}
    rule: Object = {
        "apiGroups": [attributes.group],
        "resources": [combined(attributes)],
        "verbs": [attributes.verb],
    }
    # upstream does not know the name of what is being created, so a rule cannot name it
    if attributes.name and attributes.verb != "create":
        rule["resourceNames"] = [attributes.name]
    return rule


def smallest_role(attributes: Attributes) -> dict[str, Any]:
    """The kind of role that rule belongs into: a Role in the namespace, or a ClusterRole."""
    if attributes.is_resource and attributes.namespace:
        return {"kind": "Role", "namespace": attributes.namespace}
    return {"kind": "ClusterRole"}


def _words(given: Sequence[str] | None) -> frozenset[str] | None:
    words = frozenset(given or ())
    return None if "*" in words else words
