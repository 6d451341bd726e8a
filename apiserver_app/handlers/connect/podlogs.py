"""pods/log: which container's log, from where on, and how much of it.

Models kubernetes pkg/registry/core/pod/rest/log.go, pkg/apis/core/validation/validation.go
(ValidatePodLogOptions) and staging/src/k8s.io/apiserver/pkg/registry/generic/rest.
"""

from __future__ import annotations

import msgspec

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.connect import connect
from apiserver_app.handlers.input import listoptions
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import ApiError, FieldError
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.kinds import features
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import Lines, LogOptions, NodeError

_NOT_NEGATIVE = "must be greater than or equal to 0"
_POSITIVE = "must be greater than 0"
_STREAMS = ("All", "Stderr", "Stdout")
_NO_TAIL = "`tailLines` and specific `stream` are mutually exclusive for now"


class LogStream(msgspec.Struct):
    """A log on its way to a client."""

    lines: Lines
    follow: bool
    span: int


class ReadLog(Operation):
    """The log as it stands, or for as long as the container runs."""

    async def answer(self, request: Request) -> Outcome:
        return await _read(request)


async def _read(request: Request) -> Outcome:
    cluster, call = request.cluster, request.call
    since = _since(call)
    numbers = {name: listoptions.integer(call, name) for name in _NUMBERS}
    splits = features.SPLIT_STREAMS in cluster.options.features
    _validate(call, numbers, splits)
    request.gate = "etcd"
    pod = connect.pod_of(request)
    container = connect.container_of(pod, call.param("container"))
    if not pod["spec"].get("nodeName"):
        return Outcome(204, value=b"", content_type="text/plain")
    seconds = numbers["sinceSeconds"]
    if seconds is not None:
        since = cluster.kernel.now - seconds * SECOND
    options = LogOptions(
        container,
        follow=connect.flag(call, "follow"),
        previous=connect.flag(call, "previous"),
        since=since,
        timestamps=connect.flag(call, "timestamps"),
        tail_lines=numbers["tailLines"],
        limit_bytes=numbers["limitBytes"],
        stream=call.param("stream") or "All",
    )
    try:
        lines = await cluster.egress.nodes.logs(pod, options)
    except NodeError as error:
        await cluster.probe.hop("stream", "refused", {"word": "log", "why": str(error)})
        raise _refusal(call, error) from error
    detail: Object = {"word": "log", "container": container, "follow": options.follow}
    await cluster.probe.hop("stream", "open", detail)
    return Outcome(200, stream=LogStream(lines, options.follow, request.span))


_NUMBERS = ("tailLines", "limitBytes", "sinceSeconds")


def _since(call: Call) -> int | None:
    text = call.param("sinceTime")
    if not text:
        return None
    try:
        return meta.parse_time(text)
    except (TypeError, ValueError) as error:
        raise errors.bad_request(
            f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"'
        ) from error


def _validate(call: Call, numbers: dict[str, int | None], splits: bool) -> None:
    errs: list[FieldError] = []
    tail, limit, seconds = (numbers[name] for name in _NUMBERS)
    if tail is not None and tail < 0:
        errs.append(errors.invalid_value("tailLines", tail, _NOT_NEGATIVE))
    if limit is not None and limit < 1:
        errs.append(errors.invalid_value("limitBytes", limit, _POSITIVE))
    if seconds is not None and call.param("sinceTime"):
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errs.append(errors.forbidden_value("", why))
    elif seconds is not None and seconds < 1:
        errs.append(errors.invalid_value("sinceSeconds", seconds, _POSITIVE))
    stream = call.param("stream")
    if stream and not splits:
        errs.append(errors.forbidden_value("stream", "may not be specified"))
    elif stream and stream not in _STREAMS:
        errs.append(errors.not_supported("stream", stream, _STREAMS))
    if stream not in ("", "All") and splits and tail is not None:
        errs.append(errors.forbidden_value("", _NO_TAIL))
    if errs:
        raise errors.invalid("", "PodLogOptions", call.name, errs)


def _refusal(call: Call, error: NodeError) -> ApiError:
    """What the kubelet's answer becomes."""
    text = str(error)
    if text.startswith('Get "'):
        return errors.ApiError(500, "", text)
    if error.code == 500:
        return errors.internal(text)
    if error.code == 400:
        return errors.bad_request(text)
    if error.code == 404 and text.startswith("nodes "):
        return errors.ApiError(404, "NotFound", text)
    message = f"the server could not find the requested resource ( pods/log {call.name})"
    details = {"name": call.name, "kind": "pods/log"}
    return errors.ApiError(error.code, "NotFound", message, details=details)


LOG = ReadLog()
