"""A process's streams as a client has them: the protocol, and terminal sizes.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

from apiserver_app.machinery.net.nodeapi import Process

RESIZES_BYTES_MAX = 4096  # of sizes that are not complete yet


class Wire(Protocol):
    """The client's side of a process."""

    async def out(self, stream: str, data: bytes) -> None:
        """Output; nothing to a stream that was not asked for."""
        ...

    async def status(self, body: bytes) -> None:
        """How it ended, and nothing after it."""
        ...

    async def listen(self, process: Process) -> None:
        """Pass on what the client sends until it sends no more. Raises Gone."""
        ...

    def rest(self, process: Process) -> None:
        """Pass on what a client that is gone had sent before."""
        ...


class Sizes:
    """Reads terminal sizes from a stream of JSON objects, however it was cut."""

    def __init__(self) -> None:
        self._text = ""
        self._decoder = json.JSONDecoder()

    def feed(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Every size that is whole now. What is no size ends the stream of them."""
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
