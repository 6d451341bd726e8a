"""The Webhook authorizer: a SubjectAccessReview to a server outside, its answer remembered a while.

Asked through the way out of the cluster, in virtual time. What cannot be reached has no opinion,
or denies, as the configuration says; it is asked again after a growing pause before that.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from apiserver_app.auth import reviewing
from apiserver_app.auth.protocols import Attributes, Rules, Try
from apiserver_app.egress import outbound
from apiserver_app.egress.kubeconfigs import Target
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.syntax import fields, labels

SOURCE = "staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go"
CACHE_MAX = 8192
KEY_LENGTH_MAX = 10_000  # an answer to more than this is not remembered


class Condition(Protocol):
    """Whether a request concerns the webhook; raises ValueError with the evaluation's error."""

    def __call__(self, review: Object) -> bool: ...


@dataclass(frozen=True, slots=True)
class Settings:
    target: Target
    version: str = "v1beta1"
    authorized_seconds: float = 300.0
    unauthorized_seconds: float = 30.0
    timeout_seconds: float = 30.0
    on_error: str = "noop"  # or deny
    conditions: tuple[Condition, ...] = field(default=())


class Webhook:
    def __init__(self, settings: Settings, world: reviewing.World, name: str = "Webhook") -> None:
        self.name = name
        self._settings = settings
        self._world = world
        self._known: OrderedDict[bytes, tuple[int, Object]] = OrderedDict()

    async def authorize(self, attributes: Attributes) -> Try:
        review = review_of(attributes, self._settings.version)
        skipped = self._concerns(attributes)
        if skipped is not None:
            return skipped
        key = orjson.dumps(review["spec"], option=orjson.OPT_SORT_KEYS)
        status = self._remembered(key)
        detail: dict[str, Any] = {"review": review["spec"]}
        if status is not None:
            detail["cached"] = True
        else:
            try:
                status, detail["by"] = await self._ask(review)
            except outbound.CallFailed as error:
                why = "could not be asked"
                return Try(
                    self.name, self._settings.on_error, why, detail=detail, source=SOURCE,
                    error=str(error),
                )  # fmt: skip
            self._remember(key, attributes, status)
        return self._answer(status, {**detail, "status": status})

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules([], [], True, "webhook authorizer does not support user rule resolution")

    def _concerns(self, attributes: Attributes) -> Try | None:
        """What is answered without asking, when a condition says so."""
        if not self._settings.conditions:
            return None
        asked = review_of(attributes, "v1")["spec"]
        failed = []
        for condition in self._settings.conditions:
            try:
                if not condition(asked):
                    return Try(self.name, "noop", "its conditions do not match", source=SOURCE)
            except ValueError as error:
                failed.append(str(error))
        if not failed:
            return None
        why = "its conditions cannot be evaluated"
        return Try(self.name, self._settings.on_error, why, source=SOURCE, error=failed[0])

    async def _ask(self, review: Object) -> tuple[Object, str]:
        settings = self._settings
        seconds = settings.timeout_seconds
        resource = "subjectaccessreviews.authorization.k8s.io"
        query = f"timeout={seconds:g}s"
        return await reviewing.ask(self._world, settings.target, review, resource, seconds, query)

    def _remembered(self, key: bytes) -> Object | None:
        found = self._known.get(key)
        if found is None:
            return None
        if found[0] <= self._world.now():
            del self._known[key]
            return None
        self._known.move_to_end(key)
        return found[1]

    def _remember(self, key: bytes, attributes: Attributes, status: Object) -> None:
        settings = self._settings
        allowed = bool(status.get("allowed"))
        seconds = settings.authorized_seconds if allowed else settings.unauthorized_seconds
        length = sum(map(len, (
            attributes.namespace, attributes.verb, attributes.group, attributes.version,
            attributes.resource, attributes.subresource, attributes.name, attributes.path,
        )))  # fmt: skip
        if seconds <= 0 or length >= KEY_LENGTH_MAX:
            return
        self._known[key] = (self._world.now() + int(seconds * SECOND), status)
        while len(self._known) > CACHE_MAX:
            self._known.popitem(last=False)

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
    """The SubjectAccessReview about a request. v1beta1 names its groups `group`."""
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
        ("namespace", attributes.namespace), ("verb", attributes.verb),
        ("group", attributes.group), ("version", attributes.version),
        ("resource", attributes.resource), ("subresource", attributes.subresource),
        ("name", attributes.name),
    )  # fmt: skip
    out: Object = {name: value for name, value in pairs if value}
    for name, wanted in (
        ("fieldSelector", field_requirements(attributes.fields)),
        ("labelSelector", label_requirements(attributes.labels)),
    ):
        if wanted:
            out[name] = {"requirements": wanted}
    return out


def field_requirements(text: str) -> list[Object]:
    """A field selector as requirements; what cannot be read narrows nothing."""
    try:
        found = fields.parse(text).requirements if text else ()
    except ApiError:
        return []
    return [
        {
            "key": one.field,
            "operator": "In" if one.operator == fields.EQUALS else "NotIn",
            "values": [one.value],
        }
        for one in found
    ]


def label_requirements(text: str) -> list[Object]:
    """The same of a label selector."""
    try:
        found = labels.parse(text).requirements if text else ()
    except ApiError:
        return []
    out: list[Object] = []
    for one in found:
        operator = _OPERATORS.get(one.operator)
        if operator is None:  # Gt and Lt have no counterpart
            continue
        requirement: Object = {"key": one.key, "operator": operator}
        if one.values:
            requirement["values"] = list(one.values)
        out.append(requirement)
    return out


_OPERATORS = {
    labels.EQUALS: "In", labels.DOUBLE_EQUALS: "In", labels.IN: "In",
    labels.NOT_EQUALS: "NotIn", labels.NOT_IN: "NotIn",
    labels.EXISTS: "Exists", labels.DOES_NOT_EXIST: "DoesNotExist",
}  # fmt: skip
