"""The Webhook authorizer: sends a SubjectAccessReview and caches the answer for a while.

Calls leave through egress, in virtual time, and are retried with growing pauses. An unreachable
webhook has no opinion or denies, as configured.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Protocol

import msgspec

from apiserver_app.auth import reviewing
from apiserver_app.authprotocols import Attributes, Rules, Try
from apiserver_app.egress import outbound
from apiserver_app.egress.kubeconfigs import Target
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.serializer import compact
from apiserver_app.machinery.syntax import fields, labels

SOURCE = "staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go"
CACHE_MAX = 8192
KEY_LENGTH_MAX = 10_000  # answers to longer requests are not cached


class Condition(Protocol):
    """Reports whether the webhook is asked about a request; raises ValueError on evaluation
    errors."""

    def __call__(self, review: Object) -> bool: ...


class Settings(msgspec.Struct, frozen=True):
    target: Target
    version: str = "v1beta1"
    authorized_seconds: float = 300.0
    unauthorized_seconds: float = 30.0
    timeout_seconds: float = 30.0
    on_error: str = "noop"  # or deny
    conditions: tuple[Condition, ...] = msgspec.field(default=())


class Webhook:
    def __init__(
        self, settings: Settings, transport: reviewing.Transport, name: str = "Webhook"
    ) -> None:
        self.name = name
        self._settings = settings
        self._transport = transport
        self._entries: OrderedDict[bytes, tuple[int, Object]] = OrderedDict()

    async def authorize(self, attributes: Attributes) -> Try:
        review = review_of(attributes, self._settings.version)
        skipped = self._answer_by_conditions(attributes)
        if skipped is not None:
            return skipped
        key = compact.encode(review["spec"], sort_keys=True)
        status = self._cached(key)
        detail: dict[str, Any] = {"review": review["spec"]}
        if status is not None:
            detail["cached"] = True
        else:
            try:
                status, detail["by"] = await self._ask(review)
            except outbound.CallFailed as error:
                why = "could not be asked"
                return Try(
                    self.name,
                    self._settings.on_error,
                    why,
                    detail=detail,
                    source=SOURCE,
                    error=str(error),
                )
            self._cache(key, attributes, status)
        return self._answer(status, {**detail, "status": status})

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules([], [], True, "webhook authorizer does not support user rule resolution")

    def _answer_by_conditions(self, attributes: Attributes) -> Try | None:
        """Returns the answer given without a call when a condition decides it."""
        if not self._settings.conditions:
            return None
        spec = review_of(attributes, "v1")["spec"]
        failures = []
        for condition in self._settings.conditions:
            try:
                if not condition(spec):
                    return Try(self.name, "noop", "its conditions do not match", source=SOURCE)
            except ValueError as error:
                failures.append(str(error))
        if not failures:
            return None
        why = "its conditions cannot be evaluated"
        return Try(self.name, self._settings.on_error, why, source=SOURCE, error=failures[0])

    async def _ask(self, review: Object) -> tuple[Object, str]:
        settings = self._settings
        seconds = settings.timeout_seconds
        resource = "subjectaccessreviews.authorization.k8s.io"
        query = f"timeout={seconds:g}s"
        return await reviewing.ask(
            self._transport, settings.target, review, resource, seconds, query
        )

    def _cached(self, key: bytes) -> Object | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._transport.now():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry[1]

    def _cache(self, key: bytes, attributes: Attributes, status: Object) -> None:
        settings = self._settings
        allowed = bool(status.get("allowed"))
        seconds = settings.authorized_seconds if allowed else settings.unauthorized_seconds
        length = sum(
            map(
                len,
                (
                    attributes.namespace,
                    attributes.verb,
                    attributes.group,
                    attributes.version,
                    attributes.resource,
                    attributes.subresource,
                    attributes.name,
                    attributes.path,
                ),
            )
        )
        if seconds <= 0 or length >= KEY_LENGTH_MAX:
            return
        self._entries[key] = (self._transport.now() + int(seconds * SECOND), status)
        while len(self._entries) > CACHE_MAX:
            self._entries.popitem(last=False)

    def _answer(self, status: Object, detail: dict[str, Any]) -> Try:
        allowed, denied = bool(status.get("allowed")), bool(status.get("denied"))
        reason = str(status.get("reason") or "")
        verdict = "deny" if denied else "allow" if allowed else "noop"
        why = reason or {"deny": "denies", "allow": "allows", "noop": "has no opinion"}[verdict]
        error = ""
        if allowed and denied:
            error = "webhook subject access review returned both allow and deny response"
        return Try(
            self.name, verdict, why, detail=detail, source=SOURCE, reason=reason, error=error
        )


def review_of(attributes: Attributes, version: str) -> Object:
    """Builds the SubjectAccessReview of a request. v1beta1 names its groups `group`."""
    user = attributes.user
    spec: Object = {}
    if attributes.is_resource:
        spec["resourceAttributes"] = _resource(attributes)
    else:
        spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
    if user.name:
        spec["user"] = user.name
    if user.groups:
        spec["group" if version == "v1beta1" else "groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in sorted(user.extra.items())}
    if user.uid:
        spec["uid"] = user.uid
    return {
        "kind": "SubjectAccessReview",
        "apiVersion": f"authorization.k8s.io/{version}",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": False},
    }


def _resource(attributes: Attributes) -> Object:
    pairs = (
        ("namespace", attributes.namespace),
        ("verb", attributes.verb),
        ("group", attributes.group),
        ("version", attributes.version),
        ("resource", attributes.resource),
        ("subresource", attributes.subresource),
        ("name", attributes.name),
    )
    resource: Object = {name: value for name, value in pairs if value}
    for name, requirements in (
        ("fieldSelector", field_requirements(attributes.fields)),
        ("labelSelector", label_requirements(attributes.labels)),
    ):
        if requirements:
            resource[name] = {"requirements": requirements}
    return resource


def field_requirements(text: str) -> list[Object]:
    """Converts a field selector to requirements; one that does not parse gives none."""
    try:
        requirements = fields.parse(text).requirements if text else ()
    except ApiError:
        return []
    return [
        {
            "key": requirement.field,
            "operator": "In" if requirement.operator == fields.EQUALS else "NotIn",
            "values": [requirement.value],
        }
        for requirement in requirements
    ]


def label_requirements(text: str) -> list[Object]:
    """Converts a label selector to requirements; one that does not parse gives none."""
    try:
        parsed = labels.parse(text).requirements if text else ()
    except ApiError:
        return []
    requirements: list[Object] = []
    for term in parsed:
        operator = _OPERATORS.get(term.operator)
        if operator is None:  # Gt and Lt have no counterpart
            continue
        requirement: Object = {"key": term.key, "operator": operator}
        if term.values:
            requirement["values"] = list(term.values)
        requirements.append(requirement)
    return requirements


_OPERATORS = {
    labels.EQUALS: "In",
    labels.DOUBLE_EQUALS: "In",
    labels.IN: "In",
    labels.NOT_EQUALS: "NotIn",
    labels.NOT_IN: "NotIn",
    labels.EXISTS: "Exists",
    labels.DOES_NOT_EXIST: "DoesNotExist",
}
