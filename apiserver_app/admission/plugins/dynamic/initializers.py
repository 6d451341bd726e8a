"""Initializers: a new object waits for those that configurations name. Alpha, removed in 1.14.

It is written with their names as pending, and hidden until each of them took its own name away
(`registry.watchcache` and the operations see to that). Who writes an object that is not initialized
needs the verb `initialize`; who has it may also bring a list of their own, or an empty one.

Upstream reads the configurations once a second; here they count from the next request on.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/initialization/
initialization.go and pkg/admission/configuration/initializer_manager.go of 1.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app import authprotocols as auth
from apiserver_app.admission.plugin import (
    CREATE,
    EXTENSION,
    SKIP,
    UPDATE,
    Attributes,
    Ops,
    Plugin,
    Verdict,
)
from apiserver_app.apis import initializers
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo

_PATH = "/metadata/initializers"
_REMOVE: Ops = [{"op": "remove", "path": _PATH}]
_MIRROR = "kubernetes.io/config.mirror"


class Initializers(Plugin):
    name = "Initializers"
    concern = EXTENSION
    handles = (CREATE, UPDATE)
    mutates = True
    reads = (initializers.CONFIGURATIONS,)
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/initialization/initialization.go"

    async def admit(self, attributes: Attributes) -> Verdict:
        obj, old = attributes.obj, attributes.old
        if obj is None or attributes.subresource:
            return SKIP
        if attributes.operation == UPDATE and old is not None:
            return await self._update(attributes, obj, old)
        return await self._create(attributes, obj)

    async def _create(self, attributes: Attributes, obj: Object) -> Verdict:
        brought = obj["metadata"].get("initializers")
        if brought is not None:
            await _check_may_initialize(attributes, "create with initializers denied")
            if initializers.is_empty(brought):
                return Verdict("change", "the client asked to wait for none", _REMOVE)
            return Verdict("allow", "the client says itself what to wait for")
        if attributes.info.key == "pods" and _MIRROR in meta.annotations_of(obj):
            return Verdict("allow", "a mirror pod runs already")
        found = [
            (initializer, meta.name_of(configuration))
            for configuration in attributes.reader.list(initializers.CONFIGURATIONS)
            for initializer in configuration.get("initializers") or ()
            if _matches(initializer, attributes.info)
        ]
        if not found:
            return Verdict("allow", f"no initializer for {attributes.info.plural}, skipped")
        wanted = [{"name": initializer["name"]} for initializer, _ in found]
        told = ", ".join(f"{initializer['name']} ({by})" for initializer, by in found)
        ops: Ops = [{"op": "add", "path": _PATH, "value": {"pending": wanted}}]
        return Verdict("change", f"hidden until initialized by {told}", ops)

    async def _update(self, attributes: Attributes, obj: Object, old: Object) -> Verdict:
        after, before = obj["metadata"].get("initializers"), old["metadata"].get("initializers")
        ops: Ops = []
        if after is not None and initializers.is_empty(after):
            after, ops = None, _REMOVE
        if after is None and before is None:
            return Verdict("change" if ops else "allow", "initialized already", ops)
        errs: list[FieldError] = []
        initializers.validate_change(after, before, errs)
        if errs:
            info = attributes.info
            raise errors.invalid(info.group, info.kind, attributes.name, errs)
        await _check_may_initialize(attributes, "update to uninitialized resource denied")
        return Verdict("change" if ops else "allow", _told(obj, old), ops)


def _told(obj: Object, old: Object) -> str:
    """What an update does to the list, for the trace."""
    names = initializers.pending(obj)
    if initializers.result(obj) is not None:
        return "an initializer refused it: written once more, then deleted"
    left = ", ".join(names)
    gone = ", ".join(name for name in initializers.pending(old) if name not in names)
    if not gone:
        return f"waits for {left}"
    return f"{gone} acted, {left} to come" if left else f"{gone} acted: initialized, visible now"


async def _check_may_initialize(attributes: Attributes, why: str) -> None:
    info = attributes.info
    name = attributes.name if attributes.operation == UPDATE else ""
    asked = auth.Attributes(
        attributes.user, "initialize", "", *info.gvr, "", attributes.namespace, name
    )
    decision = await attributes.authorization.authorize(asked)
    if not decision.allowed:
        raise errors.forbidden(info.group, info.plural, name, f"{why}: {decision.reason}")


def _matches(initializer: Mapping[str, Any], info: ResourceInfo) -> bool:
    """Whether every rule is about the resource: upstream leaves at the first that is not."""
    rules = initializer.get("rules") or ()
    return bool(rules) and all(_fits(rule, info) for rule in rules)


def _fits(rule: Mapping[str, Any], info: ResourceInfo) -> bool:
    for field, value in (
        ("apiGroups", info.group),
        ("apiVersions", info.version),
        ("resources", info.plural),
    ):
        values = rule.get(field) or ("",)
        if values[0] != "*" and value not in values:
            return False
    return True
