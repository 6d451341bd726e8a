"""portforward: connections to a pod's ports, over SPDY streams or WebSocket channels.

With SPDY, plain or tunnelled, each connection is a pair of streams (error and data) that name their
port and share a request id. The old WebSocket protocols have a pair of channels for each port of
the request, 2i for data and 2i+1 for errors, and send the port first.

Models kubernetes
staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward/{httpstream,websocket}.go.
"""

from __future__ import annotations

import struct

from apiserver_app.handlers.connect import upgrades
from apiserver_app.handlers.connect.streaming import Forward
from apiserver_app.http.streaming import channels
from apiserver_app.http.streaming.conduit import Conduit
from apiserver_app.http.streaming.links import Link, Send
from apiserver_app.http.streaming.spdy import portforward as spdy
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery import waiting
from apiserver_app.machinery.meta import Object


async def serve(kernel: kernels.Kernel, forward: Forward, conduit: Conduit) -> Object:
    """Forwards connections until the client leaves; returns the trace's detail."""
    links: list[Link] = []
    try:
        if forward.upgrade.carrier == upgrades.WEBSOCKET:
            await _channels(kernel, forward, conduit, links)
        else:
            await spdy.serve(kernel, forward, conduit, links)
        conduit.close()
        return {"why": "the client ended it", "connections": len(links)}
    finally:
        for link in links:
            link.kill()


async def _channels(
    kernel: kernels.Kernel, forward: Forward, conduit: Conduit, links: list[Link]
) -> None:
    protocol = forward.upgrade.protocol
    left = len(forward.ports)
    task = kernel.current
    assert task is not None
    over = waiting.Signal(kernel)

    async def done() -> None:
        nonlocal left
        left -= 1
        if not left:
            over.set()

    def sender(number: int) -> Send:
        async def send(data: bytes) -> None:
            await conduit.send(channels.encode(protocol, number, data))

        return send

    for number, port in enumerate(forward.ports):
        data, error = sender(2 * number), sender(2 * number + 1)
        for send in (data, error):
            await send(struct.pack("<H", port))
        link = Link(kernel, forward, port)
        links.append(link)
        link.begin(data, error, done)
    listener = kernel.spawn("portforward/client", _listen(conduit, protocol, links))
    try:
        await over.wait()
    finally:
        kernel.cancel(listener)


async def _listen(conduit: Conduit, protocol: str, links: list[Link]) -> None:
    while (raw := await conduit.receive()) is not None:
        message = channels.decode(protocol, raw)
        if message is not None and not message.channel & 1:
            number = message.channel // 2
            if number < len(links):
                links[number].write(message.data)
