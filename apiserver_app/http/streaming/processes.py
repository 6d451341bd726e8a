"""A process's streams as its client sees them: the protocol, and terminal sizes.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

from apiserver_app.machinery.net.nodeapi import Process

RESIZES_BYTES_MAX = 4096  # of incomplete sizes


class Wire(Protocol):
    """The client's side of a process."""

    async def out(self, stream: str, data: bytes) -> None:
        """Sends output; dropped when the stream was not requested."""
        ...

    async def status(self, body: bytes) -> None:
        """Sends how the process ended; nothing may follow."""
        ...

    async def listen(self, process: Process) -> None:
        """Passes the client's data to the process until its end. Raises Gone."""
        ...

    def rest(self, process: Process) -> None:
        """Passes on the unreceived data of a disconnected client."""
        ...


class Sizes:
    """Reads terminal sizes from a stream of JSON objects that may be split anywhere."""

    def __init__(self) -> None:
        self._text = ""
        self._decoder = json.JSONDecoder()

    def feed(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yields the complete sizes. Anything else ends the stream of sizes."""
        self._text += data.decode("utf-8", "replace")
        while self._text:
            try:
                size, end = self._decoder.raw_decode(self._text)
            except ValueError:
                if len(self._text) > RESIZES_BYTES_MAX:
                    self._text = ""
                return
            self._text = self._text[end:].lstrip()
            if isinstance(size, dict):
                width, height = size.get("Width", 0), size.get("Height", 0)
                if isinstance(width, int) and isinstance(height, int):
                    yield width, height
