"""exec, attach and portforward: who may, with which options, and what is then connected.

The answer is a session that `apiserver_app.http` carries to its end. Clients whose protocol the API
server translates (v5) are granted the upgrade before the kubelet is asked; for all others the
kubelet's refusal is the answer.

Models kubernetes pkg/registry/core/pod/rest/subresources.go, pkg/registry/core/pod/strategy.go
(streamLocation) and staging/src/k8s.io/kubelet/pkg/cri/streaming.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.connect import connect, upgrades
from apiserver_app.handlers.permissions import creating
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import Connection, NodeError, Process
from apiserver_app.machinery.syntax import names

# `create` is needed for a WebSocket, too, which comes as a GET
_CHECKS_CREATE = "AuthorizePodWebsocketUpgradeCreatePermission"
# of a command, in the trace
_WORDS_MAX, _WORD_MAX = 16, 200
# what a runtime says once the streams are open: for the error stream, not an answer
_NO_COMMAND = (
    "error executing command in container: failed to exec in container: OCI runtime exec failed: "
    "process args cannot be empty: unknown"
)
_LATE = ("error executing command in container", "error attaching to container")


class Session(msgspec.Struct):
    """A process that a client talks to. `start` is asked for it once the upgrade is granted."""

    kind: str  # exec, attach
    upgrade: upgrades.Upgrade
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool
    span: int
    start: Callable[[], Awaitable[Process]]


class Forward(msgspec.Struct):
    """Ports of a pod. The old WebSocket protocols name them in the request."""

    upgrade: upgrades.Upgrade
    pod: Object
    ports: list[int]
    span: int
    dial: Callable[[int], Awaitable[Connection]]


class Stream(connect.Connect):
    """A connection whose streams a client talks on."""

    def begin(self, request: Request) -> Awaitable[None] | None:
        websocket = upgrades.is_websocket(request.call.headers)
        if request.cluster.version.has(_CHECKS_CREATE) and websocket:
            request.gate = "authorization"
            return creating.check_may_create(request)
        return None


async def _exec(request: Request) -> Outcome:
    nodes, options = request.cluster.egress.nodes, request.obj
    command, stdin, tty = options["command"], options["stdin"], options["tty"]
    pod, container = _located(request)

    async def start() -> Process:
        if not command:
            raise NodeError(500, _NO_COMMAND)
        return await nodes.exec(pod, container, command, stdin=stdin, tty=tty)

    return await _open(request, start)


async def _attach(request: Request) -> Outcome:
    nodes, stdin, tty = request.cluster.egress.nodes, request.obj["stdin"], request.obj["tty"]
    pod, container = _located(request)

    async def start() -> Process:
        return await nodes.attach(pod, container, stdin=stdin, tty=tty)

    return await _open(request, start)


async def _portforward(request: Request) -> Outcome:
    cluster, ports = request.cluster, request.obj.get("ports", [])
    pod = connect.pod_of(request)
    connect.check_host(pod, request.name)
    try:
        upgrade = upgrades.of_forwarding(request.call.headers, cluster.version)
        if upgrade.carrier == upgrades.WEBSOCKET:
            _check_ports(request.call)
    except upgrades.Refused as refused:
        return await _refused(request, refused)

    async def dial(port: int) -> Connection:
        return await cluster.egress.nodes.dial(pod, port)

    forward = Forward(upgrade, pod, ports, request.span, dial)
    await cluster.probe.hop("stream", "open", _detail("portforward", upgrade, ports=ports))
    return Outcome(101, headers=upgrade.headers, stream=forward)


def _located(request: Request) -> tuple[Object, str]:
    pod = connect.pod_of(request)
    container = connect.container_of(pod, request.call.param("container"))
    connect.check_host(pod, request.name)
    return pod, container


async def _open(request: Request, start: Callable[[], Awaitable[Process]]) -> Outcome:
    """Grant the upgrade, or pass on why not."""
    cluster, options, kind = request.cluster, request.obj, request.subresource
    tty = options["tty"]
    wants = {name: options[name] for name in ("stdin", "stdout", "stderr")}
    wants["stderr"] = wants["stderr"] and not tty
    try:
        upgrade = upgrades.of_remote_command(request.call.headers, cluster.version)
        if not any(wants.values()) and not upgrade.translated:
            raise upgrades.Refused(400, "you must specify at least 1 of stdin, stdout, stderr")
        if not upgrade.translated:
            start = await _started(start)
    except upgrades.Refused as refused:
        return await _refused(request, refused)
    except NodeError as error:
        await cluster.probe.hop("stream", "refused", {"word": kind, "why": str(error)})
        return connect.passed_on(error)
    session = Session(kind, upgrade, **wants, tty=tty, span=request.span, start=start)
    command = options.get("command")
    streams = [name for name, wanted in wants.items() if wanted] + ["tty"] * tty
    detail = _detail(kind, upgrade, streams=streams)
    if command:
        detail["command"] = [word[:_WORD_MAX] for word in command[:_WORDS_MAX]]
    await cluster.probe.hop("stream", "open", detail)
    return Outcome(101, headers=upgrade.headers, stream=session)


async def _refused(request: Request, refused: upgrades.Refused) -> Outcome:
    detail = {"word": request.subresource, "why": str(refused)}
    await request.cluster.probe.hop("stream", "refused", detail)
    return connect.plain(refused.code, str(refused), refused.headers)


async def _started(start: Callable[[], Awaitable[Process]]) -> Callable[[], Awaitable[Process]]:
    """The kubelet looks for the container now; what its runtime says comes over the streams."""
    outcome: Process | NodeError
    try:
        outcome = await start()
    except NodeError as error:
        if not str(error).startswith(_LATE):
            raise
        outcome = error

    async def result() -> Process:
        if isinstance(outcome, NodeError):
            raise outcome
        return outcome

    return result


def _options(request: Request, kind: str) -> Object:
    call = request.call
    options: Object = {
        "kind": kind,
        "apiVersion": "v1",
        "stdin": connect.flag(call, "stdin"),
        "stdout": connect.flag(call, "stdout", True),
        "stderr": connect.flag(call, "stderr", True),
        "tty": connect.flag(call, "tty"),
    }
    if call.param("container"):
        options["container"] = call.param("container")
    return options


def _exec_options(request: Request) -> Object:
    command = list(request.call.params.get("command") or ())
    return {**_options(request, "PodExecOptions"), "command": command}


def _attach_options(request: Request) -> Object:
    return _options(request, "PodAttachOptions")


def _forward_options(request: Request) -> Object:
    named = request.call.params.get("ports") or ()
    ports = [int(number) for number in named if names.is_number(number)]
    options: Object = {"kind": "PodPortForwardOptions", "apiVersion": "v1"}
    if ports:
        options["ports"] = ports
    return options


EXEC = Stream(_exec_options, _exec)
ATTACH = Stream(_attach_options, _attach)
PORT_FORWARD = Stream(_forward_options, _portforward)


def _check_ports(call: Call) -> None:
    """The old WebSocket protocols cannot say later which ports they mean."""
    asked = call.params.get("ports")
    if not asked:
        raise upgrades.Refused(400, 'query parameter "port" is required')
    for text in asked:
        digits = text.isascii() and text.isdigit()
        if not digits or len(text.lstrip("0")) > 5 or int(text) > 65535:
            why = "value out of range" if digits else "invalid syntax"
            raise errors.bad_request(f'strconv.ParseUint: parsing "{text}": {why}')
        if int(text) < 1:
            raise upgrades.Refused(400, f'port "{text}" must be > 0')


def _detail(kind: str, upgrade: upgrades.Upgrade, **more: object) -> Object:
    carrier = {
        upgrades.WEBSOCKET: "WebSocket",
        upgrades.SPDY: "SPDY/3.1",
        upgrades.TUNNEL: "SPDY/3.1 in a WebSocket",
    }[upgrade.carrier]
    return {"word": kind, "carrier": carrier, "protocol": upgrade.protocol, **more}
