"""Connections that are kept, or that misbehave."""

from __future__ import annotations

from typing import Any

from lifecycle.bench.attacks.making import (
    BIG,
    CORE,
    LISTED,
    MANY,
    NOBODY,
    RAW,
    SERVES,
    WATCH,
    Attack,
    Send,
    asked,
    got,
    obj,
    pod,
)


def upgraded(path: str, protocol: str = "v5.channel.k8s.io", more: bytes = b"") -> bytes:
    head = [
        f"GET {path} HTTP/1.1",
        "Host: bench",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Sec-WebSocket-Protocol: {protocol}",
        "",
        "",
    ]
    return "\r\n".join(head).encode() + more


def inside(path: str, program: str = "sleep 1000", **rest: Any) -> Attack:
    """Connections into a running pod."""
    first = Send("POST", f"{CORE}/pods", pod("aim", "sh", "-c", program))
    return Attack((first,), held=upgraded(f"{CORE}/pods/aim/{path}"), **rest)


def _frame(data: bytes, kind: int = 0x82) -> bytes:
    """A frame of a WebSocket from a client, whose mask changes nothing."""
    size = len(data)
    head = bytes([kind, 0x80 | size]) if size < 126 else b""
    head = head or bytes([kind, 0xFE]) + size.to_bytes(2, "big") if size < 65536 else head
    head = head or bytes([kind, 0xFF]) + size.to_bytes(8, "big")
    return head + bytes(4) + data


def _echoed(more: bytes, **rest: Any) -> Attack:
    """Data for a command that gives all of it back."""
    path = f"{CORE}/pods/aim/exec?command=cat&stdin=1&stdout=1"
    return inside("exec", **rest)._replace(held=upgraded(path, more=more))


INITIAL = (
    "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
)
TERMS = ",".join(f"k{n}!=v" for n in range(200))
CROWD = pod("aim")
CROWD["spec"]["containers"] = [
    {"name": f"c{n}", "image": "busybox", "command": ["yes"]} for n in range(20)
]
HTTP = b"\x00GET / HTTP/1.1\r\nHost: x\r\n\r\n"
RUNNING = (Send("POST", f"{CORE}/pods", pod("aim", "sh", "-c", "yes | head -c 10000000; sleep 9")),)


ATTACKS: dict[str, Attack] = {
    "commands in a pod": inside("exec?command=yes&stdout=1"),
    "shells in a pod": inside("exec?command=sh&stdin=1&stdout=1&tty=1"),
    "attached": inside("attach?stdout=1", "yes"),
    "forwarded ports": inside("portforward?ports=80"),
    "followed logs": Attack(RUNNING, held=asked(f"{CORE}/pods/aim/log?follow=1")),
    "logs": got(f"{CORE}/pods/aim/log")._replace(before=RUNNING),
    "watches": Attack(held=WATCH, flood=lambda n: Send("POST", LISTED, obj("ConfigMap", f"f{n}"))),
    "watches with initial events": Attack(MANY, held=asked(f"{LISTED}?{INITIAL}")),
    "watches from long ago": Attack(MANY, held=asked(f"{LISTED}?watch=1&resourceVersion=400")),
    "watches with 200 terms": Attack(
        held=asked(f"{LISTED}?watch=1&labelSelector={TERMS}"),
        flood=lambda n: Send("POST", LISTED, obj("ConfigMap", f"f{n}")),
    ),
    "watches that nobody reads": Attack(
        held=WATCH,
        flood=lambda n: Send("POST", LISTED, {**BIG, "metadata": {"name": f"b{n}"}}),
        reads=False,
        connections=1,
    ),
    "watches of much that nobody reads": Attack(
        tuple(Send("POST", LISTED, {**BIG, "metadata": {"name": f"b{n}"}}) for n in range(40)),
        held=WATCH,
        reads=False,
    ),
    "watches that end at once": got(f"{LISTED}?watch=1&timeoutSeconds=1")._replace(connections=100),
    "slow bodies": Attack(held=b"POST / HTTP/1.1\r\nHost: bench\r\nContent-Length: 999\r\n\r\n{"),
    "slow heads": Attack(held=b"GET / HTTP/1.1\r\nHost: be"),
    "huge heads": got(LISTED, X_Large="x" * 60_000),
    "pipelined requests": Attack(held=asked(LISTED) * 500),
    "garbage in a WebSocket": inside("exec")._replace(
        held=upgraded(f"{CORE}/pods/aim/exec?command=cat&stdin=1", more=bytes(range(256)) * 400)
    ),
    "frames of all kinds": _echoed(b"".join(_frame(b"x", 0x80 | kind) for kind in range(16)) * 500),
    "huge frames": _echoed(_frame(bytes(1 << 20)) * 4),
    "10,000 small messages": _echoed(_frame(b"\x00x\n") * 10_000),
    "a message of 10,000 pieces": _echoed(
        _frame(b"\x00x", 0x02) + _frame(b"x", 0x00) * 10_000 + _frame(b"\n", 0x80)
    ),
    "pings": _echoed(_frame(b"ping", 0x89) * 10_000),
    "data for a forwarded port": Attack(
        (SERVES,),
        held=upgraded(
            f"{CORE}/pods/aim/portforward?ports=80", "v4.channel.k8s.io", _frame(HTTP) * 2000
        ),
    ),
    "output of many containers": Attack(
        (Send("POST", f"{CORE}/pods", CROWD),),
        held=asked(f"{CORE}/pods/aim/log?follow=1&container=c7"),
        flood=lambda n: Send("GET", f"{CORE}/pods/aim/log?container=c{n % 20}"),
    ),
    "hellos that never begin": Attack(held=b"", port=RAW, who=NOBODY),
    "hellos that never end": Attack(held=b"\x16\x03\x01\x40\x00\x01", port=RAW, who=NOBODY),
    "garbage instead of a hello": Attack(held=bytes(range(256)) * 40, port=RAW, who=NOBODY),
    "handshakes": Attack(held=b"GET /version HTTP/1.0\r\n\r\n", who=NOBODY),
    "half a frame": inside("exec?command=sh&stdin=1", connections=1)._replace(
        held=upgraded(f"{CORE}/pods/aim/exec?command=cat&stdin=1", more=b"\x82\xff" + b"\x7f" * 8)
    ),
    "HTTP/2": Attack(held=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00" * 1000),
}
