"""Whether a webhook is called for a request: selectors, rules, equivalent versions, conditions.

Webhooks are ordered by their configurations' names, then as listed.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go,
.../webhook/predicates/{namespace,object} and
pkg/admission/configuration/mutating_webhook_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from apiserver_app.admission import matching
from apiserver_app.admission.plugin import CREATE, UPDATE, Attributes
from apiserver_app.admission.webhooks import conditions
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.syntax import labels

GROUP = "admissionregistration.k8s.io"
# exempt from webhooks, so that a broken webhook can be removed
EXEMPT = (
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
)


class Hook(msgspec.Struct, frozen=True):
    """One webhook of one configuration. `uid` distinguishes equal names."""

    uid: str
    configuration: str
    name: str
    spec: Object
    namespaces: labels.Selector
    objects: labels.Selector

    @property
    def ignores_failures(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"


class Invocation(msgspec.Struct, frozen=True):
    """A webhook to call, and the resource version it receives."""

    hook: Hook
    index: int
    info: ResourceInfo


class Hooks:
    """The webhooks of one kind of configuration, parsed again when one changes."""

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._generation = -1
        self._hooks: tuple[Hook, ...] = ()

    def all(self, reader: Reader) -> tuple[Hook, ...]:
        generation = reader.generation(self._resource)
        if generation != self._generation:
            self._hooks = tuple(_parsed(reader.list(self._resource)))
            self._generation = generation
        return self._hooks


def is_exempt(attributes: Attributes) -> bool:
    info = attributes.info
    return info.group == GROUP and info.kind in EXEMPT


async def invocation(
    hook: Hook, index: int, attributes: Attributes, obj: Object | None
) -> Invocation | None:
    """Returns how to call the webhook for the request, whose current object is obj; None when it
    does not match. Raises ApiError when that cannot be decided."""
    unknown: errors.ApiError | None = None
    try:
        if not _namespace_selected(hook.namespaces, attributes, obj):
            return None
    except errors.ApiError as error:  # it counts only if the webhook matches this request
        unknown = error
    if not _object_selected(hook.objects, (obj, attributes.old)):
        return None
    info = _resource(hook.spec, attributes)
    if info is None:
        return None
    if unknown is not None:
        raise unknown
    if hook.spec.get("matchConditions"):
        failed = await conditions.failed(hook.spec, attributes, info, obj)
        if failed is not None:
            note = {"webhook": hook.name, "configuration": hook.configuration, "verdict": "skip"}
            attributes.run.calls.append({**note, "why": f"matchCondition {failed or 'unknown'}"})
            return None
    return Invocation(hook, index, info)


def _parsed(configurations: Sequence[Object]) -> Iterable[Hook]:
    for configuration in sorted(configurations, key=meta.name_of):
        counts: dict[str, int] = {}
        owner = meta.name_of(configuration)
        for spec in configuration.get("webhooks") or ():
            name = spec.get("name", "")
            number = counts.get(name, 0)
            counts[name] = number + 1
            yield Hook(
                f"{owner}/{name}/{number}",
                owner,
                name,
                spec,
                labels.from_label_selector(spec.get("namespaceSelector") or {}),
                labels.from_label_selector(spec.get("objectSelector") or {}),
            )


# -- selectors ------------------------------------------------------------------------------------


def _namespace_selected(
    selector: labels.Selector, attributes: Attributes, obj: Object | None
) -> bool:
    about_namespaces = attributes.info.key == "namespaces"
    if selector is labels.EVERYTHING or not (attributes.namespace or about_namespaces):
        return True  # cluster-scoped objects are never excluded
    is_its_own = about_namespaces and not attributes.subresource
    if is_its_own and attributes.operation in (CREATE, UPDATE):
        return selector.matches(meta.labels_of(obj or {}))
    name = attributes.namespace or attributes.name
    namespace = attributes.reader.get("namespaces", "", name)
    if namespace is None:
        raise errors.not_found("", "namespaces", name)
    return selector.matches(meta.labels_of(namespace))


def _object_selected(selector: labels.Selector, objects: Iterable[Object | None]) -> bool:
    if selector is labels.EVERYTHING:
        return True
    return any(selector.matches(meta.labels_of(obj)) for obj in objects if obj is not None)


def _resource(spec: Object, attributes: Attributes) -> ResourceInfo | None:
    """Returns the resource a rule matches: the requested one, or an equivalent one."""
    rules = spec.get("rules") or ()
    if any(matching.rule_matches(rule, attributes) for rule in rules):
        return attributes.info
    if spec.get("matchPolicy") != "Equivalent" or attributes.interfaces is None:
        return None
    others = attributes.interfaces.equivalents(attributes.info, attributes.subresource)
    for rule in rules:
        for other in others:
            if matching.rule_matches(rule, attributes, other):
                return other
    return None
