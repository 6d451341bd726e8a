"""exec and attach: a process's streams over WebSocket channels or SPDY streams.

Both send the result on the error channel: a Status from v4 on, plain text before. The client's data
and its end are passed to the process; a client that disconnects hangs up.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/proxy/{websocket,streamtranslator}.go and
staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand.
"""

from __future__ import annotations

import orjson

from apiserver_app.handlers.connect import upgrades
from apiserver_app.handlers.connect.streaming import Session
from apiserver_app.http.streaming import channels
from apiserver_app.http.streaming.conduit import Conduit, Data, Gone, pieces
from apiserver_app.http.streaming.processes import Sizes, Wire
from apiserver_app.http.streaming.spdy import remotecommand as spdy
from apiserver_app.machinery import errors
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT, NodeError, Process
from apiserver_app.machinery.task import Task

_SILENT = ("v1", "v2", "v3", "channel", "base64")  # protocols before v4: no Status


async def serve(kernel: kernels.Kernel, session: Session, conduit: Conduit) -> Object:
    """Runs one process to its end; returns the trace's detail."""
    if session.upgrade.carrier == upgrades.SPDY:
        wire: Wire = await spdy.accept(session, conduit)
    else:
        wire = _Channels(session, conduit)
        await wire.out(STDOUT if session.stdout else STDERR, b"")
    try:
        process = await session.start()
    except NodeError as error:
        await wire.status(_failed(session, str(error)))
        conduit.close()
        return {"why": str(error)}
    task = kernel.current
    assert task is not None
    listener = kernel.spawn(f"{session.kind}/client", _listen(kernel, task, wire, process))
    try:
        while (item := await process.read()) is not None:
            stream, data = item
            for piece in pieces(data):
                await wire.out(stream, piece)
        code = process.exit_code or 0
        exited = session.kind == "exec" and code != 0
        await wire.status(_exited(session, code) if exited else _succeeded(session))
        conduit.close()
        detail: Object = {"why": "the process ended"}
        return detail | {"exit": code} if session.kind == "exec" else detail
    finally:
        kernel.cancel(listener)
        if process.exit_code is None:
            wire.rest(process)
            process.hang_up()


async def _listen(kernel: kernels.Kernel, task: Task, wire: Wire, process: Process) -> None:
    try:
        await wire.listen(process)
    except Gone:
        kernel.cancel(task)


class _Channels:
    """A process over the channels of a WebSocket."""

    def __init__(self, session: Session, conduit: Conduit) -> None:
        self._protocol = session.upgrade.protocol
        self._conduit = conduit
        self._stdin = session.stdin
        self._numbers: dict[str, int] = {}
        self._sizes = Sizes()
        if session.stdout:
            self._numbers[STDOUT] = channels.STDOUT
        if session.stderr:
            self._numbers[STDERR] = channels.STDERR

    async def out(self, stream: str, data: bytes) -> None:
        number = self._numbers.get(stream)
        if number is None:
            if data:
                return
            number = channels.ERROR  # the empty message that reports it open
        await self._conduit.send(channels.encode(self._protocol, number, data))

    async def status(self, body: bytes) -> None:
        if body:
            await self._conduit.send(channels.encode(self._protocol, channels.ERROR, body))

    async def listen(self, process: Process) -> None:
        while (raw := await self._conduit.receive()) is not None:
            self._heard(raw, process)

    def rest(self, process: Process) -> None:
        for raw in self._conduit.rest():
            self._heard(raw, process)

    def _heard(self, raw: Data, process: Process) -> None:
        message = channels.decode(self._protocol, raw)
        if message is None:
            return
        if message.channel == channels.STDIN and self._stdin:
            if message.closes:
                process.close_stdin()
            else:
                process.write(message.data)
        elif message.channel == channels.RESIZE:
            for width, height in self._sizes.feed(message.data):
                process.resize(width, height)


# -- how it ended ---------------------------------------------------------------------------------


def _succeeded(session: Session) -> bytes:
    return b"" if _is_old(session) else b'{"metadata":{},"status":"Success"}'


def _exited(session: Session, code: int) -> bytes:
    why = f"command terminated with exit code {code}"
    if not session.upgrade.translated:
        why = f"error executing command, exit code {code}"
    message = f"command terminated with non-zero exit code: {why}"
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return _status(session, message, "NonZeroExitCode", {"causes": causes}, 0)


def _failed(session: Session, text: str) -> bytes:
    """Returns the error of a process that could not be started, repeating the kubelet's message."""
    early = not text.startswith(("error executing command", "error attaching to"))
    if session.upgrade.translated:
        text = f"unable to upgrade connection: {text}" if early else errors.internal(text).message
    error = errors.internal(text)
    return _status(session, error.message, error.reason, error.details, error.code)


def _status(session: Session, message: str, reason: str, details: Object, code: int) -> bytes:
    if _is_old(session):
        return message.encode()
    status: Object = {
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
    }
    return orjson.dumps(status | ({"code": code} if code else {}))


def _is_old(session: Session) -> bool:
    protocol = session.upgrade.protocol
    return not protocol or protocol.startswith(_SILENT)
