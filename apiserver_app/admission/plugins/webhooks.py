"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: the webhooks that users configure.

Mutating ones are called one after the other, each seeing what those before it changed; validating
ones at the same time, and the first refusal in the order of their configurations counts.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/{mutating,validating}/
{plugin,dispatcher}.go and .../mutating/reinvocationcontext.go.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

import orjson

from apiserver_app.admission.plugin import EVERY, EXTENSION, Attributes, Means, Plugin, Verdict
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


@dataclass(slots=True)
class _Remembered:
    """What the first round leaves for the second."""

    invoked: set[str] = field(default_factory=set)  # webhooks that ask to be called again
    again: set[str] = field(default_factory=set)  # those after which something was changed
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
        kept = attributes.run.remembered.setdefault(self.name, _Remembered())
        if attributes.run.round and not jsonpatch.same(kept.output, before):
            kept.require()
        for index, hook in enumerate(hooks):
            invocation = await configured.invocation(hook, index, attributes, obj)
            if invocation is None or (attributes.run.round and hook.uid not in kept.again):
                continue
            changed = await _mutate(invocation, attributes, obj)
            if changed is not obj:
                obj = changed
                kept.require()
                attributes.run.reinvoke = True
            if hook.spec.get("reinvocationPolicy") == "IfNeeded":
                kept.invoked.add(hook.uid)
        kept.output = obj
        if not attributes.run.calls:
            return _NO_WEBHOOK
        why = _said(attributes.run.calls)
        ops = [] if obj is before else jsonpatch.diff(before, obj)
        return Verdict("change" if ops else "allow", why, ops)


async def _mutate(
    invocation: Invocation, attributes: Attributes, obj: Object | None
) -> Object | None:
    """The object as the webhook wants it; the very same when it changes nothing."""
    hook, means = invocation.hook, _means(attributes)
    info, place = invocation.info, f"round_{attributes.run.round}_index_{invocation.index}"
    note: Object = {}
    attributes.run.calls.append(note)
    shown, mutated = obj, False
    try:
        shown, old = _as(means, obj, info), _as(means, attributes.old, info)
        said = await calls.ask(invocation, attributes, shown, old, note, mutating=True)
        note["verdict"] = "allow"
        if said.patch:
            patched = _patched(hook, attributes, info, shown, said.patch)
            mutated = not jsonpatch.same(shown, patched)
            note["patch"] = said.patch
            _annotate(attributes, _PATCH + place, hook, patch=said.patch, patchType="JSONPatch")
            if mutated:
                note["verdict"] = "change"
                return (
                    patched if info is attributes.info else means.convert(patched, attributes.info)
                )
    except calls.Failed as error:
        _failed(hook, attributes, note, error, f"failed-open.{_MUTATION}{place}")
    except ApiError as error:
        _denied(note, error)
        raise
    finally:
        _annotate(attributes, _MUTATION + place, hook, mutated=mutated)
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
        made = jsonpatch.apply_json_patch(obj, patch)
    except ApiError as error:
        raise errors.internal(str(error.__cause__ or error.message)) from error
    try:
        return _means(attributes).decode(info, attributes.subresource, made)
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
        relevant = []
        for index, hook in enumerate(hooks):
            found = await configured.invocation(hook, index, attributes, attributes.obj)
            if found is not None:
                relevant.append(found)
        if not relevant and not attributes.run.calls:
            return _NO_WEBHOOK
        for error in await _all(relevant, attributes):
            raise error
        return Verdict("allow", _said(attributes.run.calls))


async def _all(relevant: list[Invocation], attributes: Attributes) -> list[ApiError]:
    """Ask all at once; the refusals in the webhooks' order."""
    if len(relevant) == 1:
        error = await _validate(relevant[0], 0, attributes)
        return [] if error is None else [error]
    kernel = _means(attributes).kernel
    current = kernel.current
    assert current is not None, "requests are handled inside a task of the kernel"
    found: dict[int, ApiError | None] = {}

    async def ask(number: int, invocation: Invocation) -> None:
        found[number] = await _validate(invocation, number, attributes)

    tasks = [
        kernel.spawn(f"webhook {one.hook.name}", ask(number, one), lane=current.lane)
        for number, one in enumerate(relevant)
    ]
    try:
        for task in tasks:
            await kernel.join(task)
    finally:
        for task in tasks:
            kernel.cancel(task)
    crashed = errors.internal("ValidatingAdmissionWebhook has panicked")
    refusals = [found.get(number, crashed) for number in range(len(relevant))]
    return [error for error in refusals if error is not None]


async def _validate(invocation: Invocation, number: int, attributes: Attributes) -> ApiError | None:
    """The webhook's refusal, if it has one."""
    hook, means = invocation.hook, _means(attributes)
    note: Object = {}
    attributes.run.calls.append(note)
    try:
        obj = _as(means, attributes.obj, invocation.info)
        old = _as(means, attributes.old, invocation.info)
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
    """A call that came to nothing: ignored, or the end of the request."""
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
    said = {"configuration": hook.configuration, "webhook": hook.name, **more}
    attributes.annotations[key] = orjson.dumps(said).decode()


def _as(means: Means, obj: Object | None, info: ResourceInfo) -> Object | None:
    """The object in the version the webhook asked for."""
    if obj is None or obj.get("apiVersion") == info.api_version:
        return obj
    return means.convert(obj, info)


def _means(attributes: Attributes) -> Means:
    assert attributes.means is not None, "webhooks are asked in a cluster only"
    return attributes.means


def _said(notes: list[Object]) -> str:
    """One sentence: who was asked, and whose failure was ignored."""
    words = {"ignored": "failures ignored of", "skip": "left out by its conditions:"}
    parts: dict[str, list[str]] = {}
    for one in notes:
        parts.setdefault(words.get(one.get("verdict", ""), "asked"), []).append(one["webhook"])
    return "; ".join(f"{word} {', '.join(names)}" for word, names in parts.items())
