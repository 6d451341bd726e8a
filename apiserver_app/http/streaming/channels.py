"""Channels over a WebSocket: each message begins with the number of the channel it belongs to.

Pure. Binary protocols have the number as a byte; the base64 ones are text, a digit and base64. From
v5 on the client may close a channel: the byte 255, then the channel's number.

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
    """One message of a client: data for a channel, or the channel's end."""

    channel: int
    data: bytes
    closes: bool = False


def is_base64(protocol: str) -> bool:
    return "base64." in protocol


def decode(protocol: str, message: bytes | str) -> Message | None:
    """What a client's message says; None for one that says nothing, which is passed over."""
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
    """A message for the client."""
    if is_base64(protocol):
        return chr(ord("0") + channel) + base64.b64encode(data).decode()
    return bytes((channel,)) + data
