"""A driver without a cluster: answers what the edge's tests ask for, over the real port.

GET /stream          stays open; GET /flood sends until it is cancelled
GET /big?n=N         N bytes
GET /never           no answer; GET /crash ends the worker
GET /upgrade/<what>  an upgrade: refused, echo (sends back what comes), deaf (uses nothing up),
                     flood (sends as long as it is taken)
POST /standin/<act>  makes the driver act: see Driver._act
anything else        the request as it arrived, as JSON
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lifecycle.hosting.options import Options
from lifecycle.hosting.port.frames import Message

JSON = [["Content-Type", "application/json"], ["Audit-Id", "1"]]


def build_driver(
    options: Options, loop: asyncio.AbstractEventLoop, send: Callable[[list[Message]], None]
) -> Driver:
    if options.kubernetes_version == "1.25":
        raise ValueError('there is no Kubernetes version "1.25" here')
    return Driver(options, loop, send)


class Role:
    """A role that remembers what it was asked to do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done: list[str] = []


class Driver:
    def __init__(
        self,
        options: Options,
        loop: asyncio.AbstractEventLoop,
        send: Callable[[list[Message]], None],
    ) -> None:
        self._options = options
        self._loop = loop
        self._send = send
        self._streams: list[int] = []
        self._cancelled: list[int] = []
        self._seq = 0
        self._switched: dict[int, str] = {}
        self._poured = 0
        self._held: dict[int, int] = {}  # of deaf ones and floods, bytes
        self._controls: list[str] = []
        self._last_post: dict[str, Any] = {}
        self.roles = {name: Role(name) for name in ("controllers", "scheduler", "kubelet")}
        cluster = SimpleNamespace(roles=self.roles, role=self._role)
        self.hosts = {
            "demo": SimpleNamespace(cluster=cluster, offer=lambda what, data, start: start())
        }

    def start(
        self, ask: Callable[[str, str], None], poll: object = None, written: object = None
    ) -> None:
        for name in self.roles:
            ask("demo", name)
        info = {"cluster": "demo", "nodes": self._options.nodes, "version": "1.33"}
        self._send([("ready", info)])

    def stop(self) -> None:
        self._send([("body", number, b"last\n", False) for number in self._streams])

    def wake(self) -> None:
        pass

    def receive(self, messages: list[Message]) -> None:
        for message in messages:
            if message[0] == "req":
                self._request(*message[1:])
            elif message[0] == "data":
                self._data(*message[1:])
            elif message[0] == "took":
                self._took(*message[1:])
            elif message[0] == "cancel":
                self._cancelled.append(message[1])
                self._switched.pop(message[1], None)
                if message[1] in self._streams:
                    self._streams.remove(message[1])
            else:
                self._control(*message[1:])

    def _role(self, role: str, action: str, **details: Any) -> None:
        self.roles[role].done.append(action)

    def _request(
        self,
        number: int,
        cluster: str,
        method: str,
        path: str,
        query: str,
        headers: Any,
        body: bytes,
        tls: Any,
        address: str,
    ) -> None:
        if path == "/never":
            return
        if path == "/crash":
            os._exit(9)
        if path == "/stream":
            self._streams.append(number)
            self._send([("head", number, 200, JSON, True, b"")])
        elif path == "/big":
            self._send([("head", number, 200, JSON, False, b"x" * int(query[2:]))])
        elif path == "/flood":
            self._streams.append(number)
            self._send([("head", number, 200, JSON, True, b"")])
            self._flood(number)
        elif path.startswith("/upgrade/"):
            self._upgrade(number, path.rsplit("/", 1)[1], dict(headers))
        elif path.startswith("/standin/"):
            result = self._act(path.rsplit("/", 1)[1], json.loads(body))
            self._send([("head", number, 200, JSON, False, _json(result))])
        else:
            echo = {
                "cluster": cluster,
                "method": method,
                "path": path,
                "query": query,
                "headers": dict(headers),
                "body": body.decode("latin-1"),
                "tls": tls,
                "address": address,
            }
            if method != "GET":
                self._last_post = echo
            self._send([("head", number, 200, JSON, False, _json(echo))])

    def _upgrade(self, number: int, what: str, headers: dict[str, str]) -> None:
        if what == "refused":
            body = b'{"kind":"Status","message":"not you"}'
            self._send([("head", number, 403, JSON, False, body)])
            return
        self._switched[number], self._held[number] = what, 0
        offered = headers.get("sec-websocket-protocol", "").split(",")[0]
        answer = [["Sec-WebSocket-Protocol", offered]] if offered else [["X-Version", "1"]]
        if "x-granted" in headers:  # by somebody else, who speaks its frames
            answer.append(["Sec-WebSocket-Accept", headers["x-granted"]])
        self._send([("switch", number, answer)])
        if what == "flood":
            self._pour(number)

    def _data(self, number: int, data: bytes | str) -> None:
        what = self._switched.get(number)
        if what == "echo":
            if data == b"stop":
                self._send([("close", number, 1000, "done")])
                del self._switched[number]
            else:
                self._send([("took", number, len(data)), ("body", number, data, True)])
        else:
            self._held[number] += len(data)

    def _took(self, number: int, count: int) -> None:
        if number in self._switched and self._switched[number] == "flood":
            self._held[number] -= count
            self._pour(number)

    def _pour(self, number: int) -> None:
        while self._held[number] < 1 << 20:
            self._held[number] += 65536
            self._poured += 65536
            self._send([("body", number, b"f" * 65536, True)])

    def _flood(self, number: int) -> None:
        if number in self._streams:
            self._send([("body", number, b"f" * 65536, True)])
            self._loop.call_soon(self._flood, number)

    def _control(self, number: int, cluster: str, action: str, args: dict[str, Any]) -> None:
        result: dict[str, Any]
        self._controls.append(action)
        if cluster != "demo":
            result = {"error": f'there is no cluster "{cluster}"'}
        elif action == "pause":
            result = {"error": "not today"}
        else:
            result = {"mode": "run", "speed": 1, "seq": self._seq, "action": action, "args": args}
            result |= {"version": "1.33", "epoch": 0, "seed": 1, "profile": "", "nodes": 3}
            result |= {"objects": {}, "revision": 7, "object": None, "startup": {}}
            result |= {"forms": {}, "rules": {}, "resolved": {}, "forks": [], "fork": {}}
        if action == "console":
            result |= {"output": f"ran {args['command']}\n", "errors": "", "exit_code": 0}
        self._send([("ctlr", number, "error" not in result, result)])

    def _act(self, what: str, args: dict[str, Any]) -> dict[str, Any]:
        if what == "stream":
            self._send([("body", stream, args["data"].encode(), True) for stream in self._streams])
        elif what == "end":
            self._send([("body", stream, b"", False) for stream in self._streams])
            self._streams.clear()
        elif what == "trace":
            first = self._seq + 1
            self._seq += args["count"]
            pad = b"x" * args.get("pad", 0)
            seqs = range(first, self._seq + 1)
            records = b",".join(b'{"seq":%d,"pad":"%s"}' % (seq, pad) for seq in seqs)
            self._send([("trace", "demo", first, self._seq, records)])
        elif what == "clock":
            self._send([("state", "demo", args)])
        return {
            "streams": len(self._streams),
            "cancelled": len(self._cancelled),
            "switched": len(self._switched),
            "held": sum(self._held.values()),
            "poured": self._poured,
            "last_post": self._last_post,
            "controls": self._controls,
            "roles": {name: role.done for name, role in self.roles.items()},
        }


def _json(value: Any) -> bytes:
    return json.dumps(value, default=bytes.hex).encode()
