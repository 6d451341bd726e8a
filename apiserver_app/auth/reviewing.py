"""Sends a review to an authentication or authorization webhook, with retries.

Calls leave through egress, in virtual time.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go (WithExponentialBackoff)
and staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go (NewGenericServerResponse).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import orjson

from apiserver_app.egress import outbound
from apiserver_app.egress.kubeconfigs import Target
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object

# DefaultAuthWebhookRetryBackoff: five tries, 0.5 s apart and growing by half
TRIES_MAX, PAUSE_SECONDS, PAUSE_FACTOR = 5, 0.5, 1.5
_RETRIABLE = (429, 500, 504)
_SENTENCES = {
    401: "Unauthorized",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    429: "the server has received too many requests and has asked us to try again later",
}


class Transport(msgspec.Struct, frozen=True):
    """What a call needs: egress, a clock (µs) and sleep."""

    call: Callable[[outbound.Call], Awaitable[outbound.Answer]]
    now: Callable[[], int]
    sleep: Callable[[float], Awaitable[None]]


async def ask(
    transport: Transport,
    target: Target,
    review: Object,
    resource: str,
    timeout_seconds: float,
    query: str = "",
) -> tuple[Object, str]:
    """Returns the status of the answered review, and who answered. Raises CallFailed."""
    pause = PAUSE_SECONDS
    call = target.post(orjson.dumps(review), timeout_seconds, query)
    for retries in range(TRIES_MAX - 1, -1, -1):
        answer = await transport.call(call)
        if answer.status not in _RETRIABLE or not retries:
            return _status(answer, resource), answer.by
        await transport.sleep(pause)
        pause *= PAUSE_FACTOR
    raise AssertionError("unreachable: the last try returns or raises")


def _status(answer: outbound.Answer, resource: str) -> Object:
    """Returns the status in the server's answer. Raises CallFailed when it holds no review."""
    if answer.status not in (200, 201):
        raise outbound.CallFailed(_failure(answer, resource))
    try:
        review = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        text = answer.body.decode(errors="replace")
        raise outbound.CallFailed(
            f"couldn't get version/kind; json parse error: {error}: {go_value(text)}"
        ) from error
    status = review.get("status") if isinstance(review, dict) else None
    return status if isinstance(status, dict) else {}


def _failure(answer: outbound.Answer, resource: str) -> str:
    try:
        message = orjson.loads(answer.body).get("message")
    except (orjson.JSONDecodeError, AttributeError):
        message = None
    if message:
        return str(message)
    known = _SENTENCES.get(answer.status)
    text = answer.body.decode(errors="replace").strip()
    if known:
        return known
    return (
        f"an error on the server ({go_value(text)}) has prevented the request from succeeding "
        f"(post {resource})"
    )
