"""A WebSocket of Autobahn whose frames are looked at in turn with those of all others."""

from __future__ import annotations

from typing import Any

from autobahn.twisted.websocket import WebSocketServerProtocol

from lifecycle.hosting.edge.adapter.turns import Valve, Waiting


class TakesTurns(WebSocketServerProtocol):
    """What comes first is the whole head."""

    valve: Valve | None = None
    _waiting: Waiting | None = None

    def has_room(self) -> bool:
        return bool(self.state != self.STATE_CONNECTING)

    def go_on(self) -> None:
        if self._waiting is not None:
            self._waiting.go_on()

    def dataReceived(self, data: bytes) -> None:
        if self._waiting is not None:
            self._waiting.add(data)
            return
        valve = self.valve or Valve(self.transport)
        self._waiting = Waiting(valve, super().dataReceived, self.has_room)
        super().dataReceived(data)

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        """Autobahn would word and colour a line of its log for each frame, read by nobody."""
        if sync or chopsize or self.send_queue or self.state != self.STATE_OPEN:
            super().sendData(data, sync, chopsize)
        else:
            transport: Any = self.transport
            transport.write(data)
            self.trafficStats.outgoingOctetsWireLevel += len(data)

    def onOpen(self) -> None:
        super().onOpen()
        self.go_on()

    def _closeConnection(self, abort: bool = False) -> None:
        """Twisted's TLS raises when a connection that is lost already is aborted."""
        if self._waiting is not None:
            super()._closeConnection(abort)

    def connectionLost(self, reason: Any = None) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            super().connectionLost(reason)
        else:
            waiting.end(lambda: super(TakesTurns, self).connectionLost(reason))
