"""What the adapter uses of the insides of Twisted, Daphne and Autobahn is there.

The tests of the edge drive each hook on a real socket; this one says by name what an upgrade took.
"""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.edge.adapter import server  # isort: skip
from lifecycle.hosting.edge.adapter.channel import Channel  # isort: skip
from autobahn.twisted.websocket import WebSocketServerProtocol
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from twisted.internet import reactor
from twisted.internet.tcp import Connection
from twisted.protocols.policies import ProtocolWrapper
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.web import http

HOOKS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (Server, (
        "create_application", "handle_reply", "protocol_disconnected", "kill_all_applications",
        "run", "stop",
    )),
    (WebRequest, (
        "gotLength", "handleContentChunk", "requestReceived", "process", "handle_reply",
        "basic_error", "finish", "connectionLost", "registerProducer", "unregisterProducer",
    )),
    (HTTPFactory, ("buildProtocol", "log")),
    (http.HTTPChannel, (
        "dataReceived", "setLineMode", "allContentReceived", "timeoutConnection",
        "loseConnection", "resetTimeout", "setTimeout", "callLater", "persistent",
        "_savedTimeOut", "_abortingCall",
        "_optimisticEagerReadSize", "_waitingForTransport",
        "_send100Continue", "_finishRequestBody",
    )),
    (http, ("_ChunkedTransferDecoder", "_IdentityTransferDecoder", "_MalformedChunkedDataError")),
    (TLSMemoryBIOFactory, ("protocol", "buildProtocol")),
    (TLSMemoryBIOProtocol, ("_flushSendBIO", "_handshakeDone", "getPeerCertificate", "getHandle")),
    (ProtocolWrapper, ("unregisterProducer", "registerProducer")),
    (Connection, ("dataBuffer", "offset", "setTcpKeepAlive")),
    (WebSocketServerProtocol, (
        "onConnect", "sendCloseFrame", "onAutoPingTimeout", "_sendAutoPing", "dropConnection",
        "STATE_OPEN", "sendData",
    )),
    (reactor, ("adoptStreamPort", "_asyncioEventloop")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "names"), HOOKS, ids=[getattr(one, "__name__", "reactor") for one, _ in HOOKS]
)
def test_the_hooks_of_the_adapter_are_there(owner: Any, names: tuple[str, ...]) -> None:
    assert [name for name in names if not hasattr(owner, name)] == []


def test_the_reactor_runs_on_the_loop_that_the_edge_uses() -> None:
    assert server.event_loop() is reactor._asyncioEventloop


def test_what_a_channel_keeps_is_kept_under_the_names_that_the_adapter_uses() -> None:
    kept = vars(Channel())
    names = ("requests", "_handlingRequest", "_transferDecoder")
    assert [name for name in names if name not in kept] == []
