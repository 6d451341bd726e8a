"""One call of a webhook: request, answer and failure. Every call is recorded for the trace.

Every call is noted in attributes.run.calls for the trace: its target, both bodies (cut short), how
long it took and what came of it.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/{mutating,validating}/
dispatcher.go, pkg/util/webhook/{client,error}.go and client-go's rest/request.go.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import orjson

from apiserver_app.admission.plugin import Attributes
from apiserver_app.admission.webhooks import review
from apiserver_app.admission.webhooks.hooks import Invocation
from apiserver_app.egress import outbound
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object

SHOWN_CHARACTERS_MAX = 4096
AGENT = "kube-apiserver-admission"
TIMEOUT_SECONDS = 10
_DRY = ("None", "NoneOnDryRun")


class Failed(Exception):
    """The webhook could not be called or its answer is invalid: failurePolicy decides."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f'failed calling webhook "{name}": {reason}')


async def ask(
    invocation: Invocation,
    attributes: Attributes,
    obj: Object | None,
    old: Object | None,
    note: Object,
    *,
    mutating: bool,
) -> review.Answer:
    """Calls the webhook. Raises ApiError when it denies or may not be called, Failed when the
    call fails. `note` receives the trace's record of the call."""
    hook = invocation.hook
    note.update({"webhook": hook.name, "configuration": hook.configuration})
    if attributes.run.round:
        note["round"] = attributes.run.round
    if attributes.dry_run and hook.spec.get("sideEffects") not in _DRY:
        raise errors.bad_request(f'admission webhook "{hook.name}" does not support dry run')
    services = attributes.interfaces
    assert services is not None, "webhooks are asked in a cluster only"
    started = services.kernel.now
    try:
        version = review.version_for(hook.spec)
        uid = attributes.rand.uuid()
        question = review.question(attributes, invocation.info, version, uid, obj, old)
        call = _call(hook.spec, orjson.dumps(question))
        note["to"] = _target(call)
        note["request"] = _trace_body(call.body)
        try:
            answer = await services.outbound.call(call)
        except outbound.CallFailed as error:
            raise review.Unusable(f"failed to call webhook: {error}") from error
        note["by"] = answer.by
        note["code"] = answer.status
        note["response"] = _trace_body(answer.body)
        if not 200 <= answer.status <= 206:
            raise review.Unusable(f"failed to call webhook: {unexpected(answer)}")
        verdict = review.verify(review.parse(answer.body), version, uid, mutating=mutating)
    except review.Unusable as error:
        raise Failed(hook.name, str(error)) from error
    finally:
        note["micros"] = services.kernel.now - started
    for key, value in verdict.annotations.items():
        attributes.annotations[f"{hook.name}/{key}"] = str(value)
    attributes.warnings += [str(warning) for warning in verdict.warnings]
    if not verdict.allowed:
        raise review.denial(hook.name, verdict.result)
    return verdict


def _call(spec: Object, body: bytes) -> outbound.Call:
    client = spec.get("clientConfig") or {}
    try:
        bundle = base64.b64decode(client.get("caBundle") or "").decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise review.Unusable(
            "could not get REST client: unable to load root certificates: unable to parse bytes "
            "as PEM block"
        ) from error
    seconds = spec.get("timeoutSeconds") or TIMEOUT_SECONDS
    return outbound.Call(
        outbound.target_of(client),
        query=f"timeout={seconds}s",
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
            "User-Agent": AGENT,
        },
        body=body,
        ca_pem=bundle,
        timeout_seconds=float(seconds),
    )


def _target(call: outbound.Call) -> str:
    to = call.to
    return to if isinstance(to, str) else f"service {to.namespace}/{to.name}:{to.port}{to.path}"


def _trace_body(body: bytes) -> Any:
    """Returns a body for the trace: as data when short, else its beginning as text."""
    if len(body) <= SHOWN_CHARACTERS_MAX:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            return body.decode(errors="replace")
    return body[:SHOWN_CHARACTERS_MAX].decode(errors="replace") + "…"


def unexpected(answer: outbound.Answer) -> str:
    """Words an unsuccessful answer as client-go does."""
    try:
        status = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("message"):
        return str(status["message"])
    text = answer.body.decode(errors="replace").strip() or "unknown"
    if answer.status in (403, 406, 415):
        return text
    if answer.status in _UNEXPECTED:
        return _UNEXPECTED[answer.status]
    if answer.status >= 500:
        quoted = errors.go_value(text[:2048])
        return f"an error on the server ({quoted}) has prevented the request from succeeding"
    return (
        f"the server responded with the status code {answer.status} but did not return more "
        "information"
    )


# staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go, NewGenericServerResponse
_UNEXPECTED = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be "
        "processing the request"
    ),
}
