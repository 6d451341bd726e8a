"""Channels over a WebSocket: each message starts with the number of its channel.

Pure. Binary protocols send the number as a byte; the base64 ones send text, a digit and base64.
From v5 on the client may close a channel: the byte 255, then the channel's number.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/httpstream/wsstream/conn.go and
staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CLOSE = 255


class Message(NamedTuple):
    """A client's message: data for a channel, or its end."""

    channel: int
    data: bytes
    closes: bool = False


def is_base64(protocol: str) -> bool:
    return "base64." in protocol


def decode(protocol: str, message: bytes | str) -> Message | None:
    """Decodes a client's message; None for one to ignore."""
    raw = message.encode() if isinstance(message, str) else message
    if not raw:
        return None
    channel, data = raw[0], raw[1:]
    if not is_base64(protocol):
        if channel == CLOSE and protocol.startswith("v5."):
            return Message(data[0], b"", True) if len(data) == 1 else None
        return Message(channel, data)
    try:
        return Message(channel - ord("0"), base64.b64decode(data, validate=True))
    except binascii.Error:
        return None


def encode(protocol: str, channel: int, data: bytes) -> bytes | str:
    """Encodes a message to the client."""
    if is_base64(protocol):
        return chr(ord("0") + channel) + base64.b64encode(data).decode()
    return bytes((channel,)) + data
