"""Carries a long-running answer from start to end: a log, a process, ports, or another server's
answer.

The request is already decided. Its task continues in the inside lane, so that a stream takes turns
with the cluster's own work, and records the stream in the trace when it ends.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/server.go (StreamIdleTimeout) and
staging/src/k8s.io/apiserver/pkg/util/proxy/websocket.go.
"""

from __future__ import annotations

from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.connect import passing, podlogs, streaming
from apiserver_app.http import statuses
from apiserver_app.http.exchange import Reply
from apiserver_app.http.streaming import portforward, remotecommand
from apiserver_app.http.streaming.conduit import Conduit, Gone, pieces
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net import httpwire

LEFT = "the client went away"
# of processes and ports: a kubelet's --streaming-connection-idle-timeout, and what the API server
# gives the WebSockets that it translates
IDLE_SECONDS = 4 * 3600
IDLE = "nothing crossed it for 4h0m0s"


async def serve(
    cluster: ClusterContext, outcome: Outcome, reply: Reply, headers: list[tuple[str, str]]
) -> None:
    """Starts the answer, carries the stream, and records how it ended."""
    stream = outcome.stream
    task = cluster.kernel.current
    assert task is not None
    span, task.span, task.lane = task.span, stream.span, kernels.INSIDE
    cluster.life.sessions[stream.span] = task
    conduit = Conduit(cluster.kernel, reply)
    conduit.on_gone = lambda: cluster.kernel.cancel(task)
    ended: Object = {"why": LEFT}
    answers = isinstance(stream, (podlogs.LogStream, passing.Passing))
    try:
        if isinstance(stream, podlogs.LogStream):
            plain = statuses.merged(headers, [("Content-Type", "text/plain")])
            reply.head(200, plain, b"", more=True, paced="paced")
            ended = await _log(stream, conduit)
        elif isinstance(stream, passing.Passing):
            merged = statuses.merged(headers, stream.headers)
            reply.head(stream.status, merged, b"", more=True, paced="paced")
            ended = await _passed(stream, conduit)
        elif isinstance(stream, passing.Tunnel):
            reply.switch(outcome.headers)
            ended = await _tunnelled(cluster.kernel, stream, conduit)
        else:
            reply.switch(outcome.headers)

            def idle() -> None:
                ended["why"] = IDLE
                conduit.close()
                cluster.kernel.cancel(task)

            conduit.expire(IDLE_SECONDS, idle)
            if isinstance(stream, streaming.Session):
                ended = await remotecommand.serve(cluster.kernel, stream, conduit)
            else:
                ended = await portforward.serve(cluster.kernel, stream, conduit)
    except Gone:
        pass
    finally:
        cluster.life.sessions.pop(stream.span, None)
        detail = {**ended, "in": conduit.bytes_in, "out": conduit.bytes_out}
        cluster.probe.tell("stream", "end", detail, span=stream.span)
        if answers:
            conduit.finish()
        else:
            conduit.close(1011)  # unless it was closed properly before
        task.span = span


async def _log(stream: podlogs.LogStream, conduit: Conduit) -> Object:
    count = 0
    try:
        while (text := await stream.lines.next()) is not None:
            count += text.count(b"\n")
            for piece in pieces(text):
                await conduit.send(piece)
        return {"why": "the log ended", "lines": count}
    finally:
        stream.lines.close()


async def _passed(stream: passing.Passing, conduit: Conduit) -> Object:
    try:
        while (data := await stream.answer.piece()) is not None:
            for piece in pieces(data):
                await conduit.send(piece)
        return {**stream.detail, "code": stream.status, "why": "the answer ended"}
    except httpwire.Malformed as error:
        return {**stream.detail, "code": stream.status, "why": str(error)}
    finally:
        stream.connection.close()


async def _tunnelled(kernel: kernels.Kernel, stream: passing.Tunnel, conduit: Conduit) -> Object:
    """Copies both directions until either end closes."""
    connection = stream.connection

    async def inward() -> None:
        while (data := await conduit.receive()) is not None:
            connection.write(data.encode() if isinstance(data, str) else data)
        connection.close()

    task = kernel.spawn("proxy/inward", inward())
    try:
        data: bytes | None = stream.first
        while data is not None:
            for piece in pieces(data) if data else ():
                await conduit.send(piece)
            data = await connection.read()
        conduit.close()
        return {**stream.detail, "why": "the connection was closed"}
    finally:
        kernel.cancel(task)
        connection.close()
