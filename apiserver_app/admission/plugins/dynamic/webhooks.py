"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: users' webhooks.

Mutating webhooks are called one after the other, each seeing the previous changes; validating ones
concurrently, and the first refusal in configuration order counts.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/{mutating,validating}/
{plugin,dispatcher}.go and .../mutating/reinvocationcontext.go.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import msgspec
import orjson

from apiserver_app.admission.plugin import (
    EVERY,
    EXTENSION,
    Attributes,
    ObjectInterfaces,
    Plugin,
    Verdict,
)
from apiserver_app.admission.webhooks import calls
from apiserver_app.admission.webhooks import hooks as configured
from apiserver_app.admission.webhooks.hooks import GROUP, Hook, Invocation
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import jsonpatch

_NO_WEBHOOK = Verdict("allow", "no webhook configuration matches")
_MUTATION, _PATCH = "mutation.webhook.admission.k8s.io/", "patch.webhook.admission.k8s.io/"
_VALIDATION = "validating.webhook.admission.k8s.io/"


class _Webhooks(Plugin):
    handles = EVERY
    configurations = ""

    def __init__(self) -> None:
        self._hooks = configured.Hooks(self.configurations)

    def concerned(self, attributes: Attributes) -> tuple[Hook, ...]:
        if configured.is_exempt(attributes):
            return ()
        return self._hooks.all(attributes.reader)


class _Remembered(msgspec.Struct):
    """State that the first round keeps for the second."""

    invoked: set[str] = msgspec.field(default_factory=set)  # webhooks that asked for reinvocation
    again: set[str] = msgspec.field(default_factory=set)  # those after which something changed
    output: Object | None = None

    def require(self) -> None:
        self.again |= self.invoked
        self.invoked = set()


class MutatingAdmissionWebhook(_Webhooks):
    name = "MutatingAdmissionWebhook"
    concern = EXTENSION
    mutates = True
    configurations = f"mutatingwebhookconfigurations.{GROUP}"
    reads = (configurations, "namespaces")
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/plugin.go"

    def admit(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        hooks = self.concerned(attributes)
        return self._dispatch(hooks, attributes) if hooks else _NO_WEBHOOK

    async def _dispatch(self, hooks: tuple[Hook, ...], attributes: Attributes) -> Verdict:
        before = obj = attributes.obj
        state = attributes.run.remembered.setdefault(self.name, _Remembered())
        if attributes.run.round and not jsonpatch.same(state.output, before):
            state.require()
        for index, hook in enumerate(hooks):
            invocation = await configured.invocation(hook, index, attributes, obj)
            if invocation is None or (attributes.run.round and hook.uid not in state.again):
                continue
            changed = await _mutate(invocation, attributes, obj)
            if changed is not obj:
                obj = changed
                state.require()
                attributes.run.reinvoke = True
            if hook.spec.get("reinvocationPolicy") == "IfNeeded":
                state.invoked.add(hook.uid)
        state.output = obj
        if not attributes.run.calls:
            return _NO_WEBHOOK
        message = _summary(attributes.run.calls)
        ops = [] if obj is before else jsonpatch.diff(before, obj)
        return Verdict("change" if ops else "allow", message, ops)


async def _mutate(
    invocation: Invocation, attributes: Attributes, obj: Object | None
) -> Object | None:
    """Returns the object as the webhook changed it; the same object when unchanged."""
    hook, services = invocation.hook, _services(attributes)
    info, position = invocation.info, f"round_{attributes.run.round}_index_{invocation.index}"
    note: Object = {}
    attributes.run.calls.append(note)
    sent, mutated = obj, False
    try:
        sent, old = _convert(services, obj, info), _convert(services, attributes.old, info)
        answer = await calls.ask(invocation, attributes, sent, old, note, mutating=True)
        note["verdict"] = "allow"
        if answer.patch:
            patched = _patched(hook, attributes, info, sent, answer.patch)
            mutated = not jsonpatch.same(sent, patched)
            note["patch"] = answer.patch
            _annotate(
                attributes, _PATCH + position, hook, patch=answer.patch, patchType="JSONPatch"
            )
            if mutated:
                note["verdict"] = "change"
                return (
                    patched
                    if info is attributes.info
                    else services.convert(patched, attributes.info)
                )
    except calls.Failed as error:
        _failed(hook, attributes, note, error, f"failed-open.{_MUTATION}{position}")
    except ApiError as error:
        _denied(note, error)
        raise
    finally:
        _annotate(attributes, _MUTATION + position, hook, mutated=mutated)
    return obj


def _patched(
    hook: Hook, attributes: Attributes, info: ResourceInfo, obj: Object | None, patch: Any
) -> Object:
    if obj is None:
        raise errors.internal(
            f'admission webhook "{hook.name}" attempted to modify the object, which is not '
            "supported for this operation"
        )
    try:
        patched = jsonpatch.apply_json_patch(obj, patch)
    except ApiError as error:
        raise errors.internal(str(error.__cause__ or error.message)) from error
    try:
        return _services(attributes).decode(info, attributes.subresource, patched)
    except ApiError as error:
        raise errors.internal(error.message) from error


class ValidatingAdmissionWebhook(_Webhooks):
    name = "ValidatingAdmissionWebhook"
    concern = EXTENSION
    validates = True
    configurations = f"validatingwebhookconfigurations.{GROUP}"
    reads = (configurations, "namespaces")
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/plugin.go"

    def validate(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        hooks = self.concerned(attributes)
        return self._dispatch(hooks, attributes) if hooks else _NO_WEBHOOK

    async def _dispatch(self, hooks: tuple[Hook, ...], attributes: Attributes) -> Verdict:
        invocations = []
        for index, hook in enumerate(hooks):
            invocation = await configured.invocation(hook, index, attributes, attributes.obj)
            if invocation is not None:
                invocations.append(invocation)
        if not invocations and not attributes.run.calls:
            return _NO_WEBHOOK
        for error in await _all(invocations, attributes):
            raise error
        return Verdict("allow", _summary(attributes.run.calls))


async def _all(invocations: list[Invocation], attributes: Attributes) -> list[ApiError]:
    """Calls all concurrently; returns the refusals in the webhooks' order."""
    if len(invocations) == 1:
        error = await _validate(invocations[0], 0, attributes)
        return [] if error is None else [error]
    kernel = _services(attributes).kernel
    current = kernel.current
    assert current is not None, "requests are handled inside a task of the kernel"
    results: dict[int, ApiError | None] = {}

    async def ask(number: int, invocation: Invocation) -> None:
        results[number] = await _validate(invocation, number, attributes)

    tasks = [
        kernel.spawn(f"webhook {item.hook.name}", ask(number, item), lane=current.lane)
        for number, item in enumerate(invocations)
    ]
    try:
        for task in tasks:
            await kernel.join(task)
    finally:
        for task in tasks:
            kernel.cancel(task)
    crashed = errors.internal("ValidatingAdmissionWebhook has panicked")
    refusals = [results.get(number, crashed) for number in range(len(invocations))]
    return [error for error in refusals if error is not None]


async def _validate(invocation: Invocation, number: int, attributes: Attributes) -> ApiError | None:
    """Returns the webhook's refusal, or None."""
    hook, services = invocation.hook, _services(attributes)
    note: Object = {}
    attributes.run.calls.append(note)
    try:
        obj = _convert(services, attributes.obj, invocation.info)
        old = _convert(services, attributes.old, invocation.info)
        await calls.ask(invocation, attributes, obj, old, note, mutating=False)
        note["verdict"] = "allow"
    except calls.Failed as error:
        key = f"failed-open.{_VALIDATION}round_0_index_{number}"
        try:
            _failed(hook, attributes, note, error, key)
        except ApiError as refusal:
            return refusal
    except ApiError as refusal:
        _denied(note, refusal)
        return refusal
    return None


# -- both -----------------------------------------------------------------------------------------


def _failed(
    hook: Hook, attributes: Attributes, note: Object, error: calls.Failed, key: str
) -> None:
    """Handles a failed call: ignores it or ends the request."""
    note["why"] = str(error)
    if not hook.ignores_failures:
        note["verdict"] = "failed"
        raise errors.internal(str(error)) from error
    note["verdict"] = "ignored"
    attributes.annotations[key] = hook.name


def _denied(note: Object, error: ApiError) -> None:
    if "verdict" not in note or note["verdict"] == "allow":
        note["verdict"] = "deny"
        note["why"] = error.message


def _annotate(attributes: Attributes, key: str, hook: Hook, **more: Any) -> None:
    annotation = {"configuration": hook.configuration, "webhook": hook.name, **more}
    attributes.annotations[key] = orjson.dumps(annotation).decode()


def _convert(services: ObjectInterfaces, obj: Object | None, info: ResourceInfo) -> Object | None:
    """Converts the object to the version the webhook asked for."""
    if obj is None or obj.get("apiVersion") == info.api_version:
        return obj
    return services.convert(obj, info)


def _services(attributes: Attributes) -> ObjectInterfaces:
    assert attributes.interfaces is not None, "webhooks are asked in a cluster only"
    return attributes.interfaces


def _summary(notes: list[Object]) -> str:
    """Summarizes the calls: who was called, and whose failure was ignored."""
    labels = {"ignored": "failures ignored of", "skip": "left out by its conditions:"}
    parts: dict[str, list[str]] = {}
    for note in notes:
        parts.setdefault(labels.get(note.get("verdict", ""), "asked"), []).append(note["webhook"])
    return "; ".join(f"{word} {', '.join(names)}" for word, names in parts.items())
