"""A real demo in a process of its own, with the stand-in driver, and small clients for it."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import random
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.suite import opened, waiting

PROJECT = Path(__file__).resolve().parents[3]
WAIT_SECONDS = round(waiting.seconds())  # of sockets and programs; `waiting` waits for all else
STAND_IN = "tests.lifecycle.hosting.standin:build_driver"
REAL = "lifecycle.hosting.worker.building:build_driver"
KEPT_PORTS = (20_000, 30_000)  # below those that Linux hands out


class Demo:
    """`manage.py demo` on free ports. Use as a context manager."""

    def __init__(self, data_dir: Path, *arguments: str, driver: str = STAND_IN) -> None:
        """With the stand-in for a cluster, or with the REAL one."""
        self.data_dir = data_dir
        environment = {**os.environ, "LIFECYCLE_DRIVER": driver}
        # with it each start compiles all that it imports, and makes the page's files
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.process = subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), "demo", "--no-browser",
             "--port", "0", "--tls-port", "0", "--data-dir", str(data_dir), *arguments],
            env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.said = ""
        opened.note(opened.DEMOS, self)

    def __enter__(self) -> Demo:
        assert self.process.stdout is not None
        while "stop" not in (line := self.process.stdout.readline()):
            self.said += line
            assert line, self.errors()
        self.said += line
        self.endpoints: dict[str, Any] = json.loads((self.data_dir / "endpoints.json").read_text())
        return self

    def __exit__(self, *_: object) -> None:
        opened.gone(opened.DEMOS, self)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(WAIT_SECONDS)
        finally:
            self.process.kill()
            for pipe in (self.process.stdout, self.process.stderr):
                assert pipe is not None
                pipe.close()

    def errors(self) -> str:
        """What stands on stderr once the process has ended."""
        self.process.wait(WAIT_SECONDS)
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def error_line(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    @property
    def authority(self) -> tuple[str, int]:
        return _authority(self.endpoints["http"])

    @property
    def tls_authority(self) -> tuple[str, int]:
        return _authority(self.endpoints["https"])

    @property
    def credential(self) -> dict[str, str]:
        """The header with which a program drives."""
        return {"Authorization": f"Bearer {self.endpoints['token']}"}

    def feed(self, path: str = "/ws/v1/clusters/demo/trace", **headers: str) -> WebSocket:
        """A WebSocket of somebody who drives."""
        return WebSocket(self.authority, path, **{**self.credential, **headers})

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self.authority, timeout=WAIT_SECONDS)

    def get(self, path: str, **headers: str) -> http.client.HTTPResponse:
        return self.ask("GET", path, b"", **headers)

    def ask(self, method: str, path: str, body: bytes, **headers: str) -> http.client.HTTPResponse:
        """Of the product API as somebody who drives, of all else without a credential."""
        connection = self.connect()
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        ours = self.credential if path.startswith("/viz") else {}
        connection.request(method, path, body, {**ours, **named})
        return connection.getresponse()

    def act(self, what: str, **args: Any) -> dict[str, Any]:
        """Make the stand-in do something."""
        answer = self.ask("POST", f"/standin/{what}", json.dumps(args).encode())
        return dict(json.loads(answer.read()))

    def tls(self, user: str = "", **changes: Any) -> ssl.SSLContext:
        """A client context that trusts the demo's CA, with the certificate of `user`."""
        context = ssl.create_default_context(cafile=self.data_dir / "pki" / "ca.crt")
        if user:
            pki = self.data_dir / "pki"
            context.load_cert_chain(pki / f"{user}.crt", pki / f"{user}.key")
        for name, value in changes.items():
            setattr(context, name, value)
        return context

    def https_get(self, context: ssl.SSLContext, path: str) -> dict[str, Any]:
        return dict(json.loads(self._https(context, path).read()))

    def https_stream(self, path: str) -> http.client.HTTPResponse:
        return self._https(self.tls(), path)

    def _https(self, context: ssl.SSLContext, path: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection(
            *self.tls_authority, timeout=WAIT_SECONDS, context=context
        )
        connection.request("GET", path)
        return connection.getresponse()


class WebSocket:
    """A client just good enough to read frames, and to send short ones."""

    def __init__(
        self,
        authority: tuple[str, int],
        path: str,
        context: ssl.SSLContext | None = None,
        /,
        **headers: str,
    ) -> None:
        self.socket = socket.create_connection(authority, WAIT_SECONDS)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname=authority[0])
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {authority[0]}:{authority[1]}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
            "",
            "",
        ]
        self.socket.sendall("\r\n".join(lines).encode())
        self._file = self.socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers: dict[str, str] = {}
        while line := self._file.readline().decode().strip():
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()

    def body(self) -> bytes:
        """Of a refusal."""
        return self._file.read(int(self.headers["content-length"]))

    def read(self, count: int) -> bytes:
        """So many bytes, whatever they mean."""
        return self._file.read(count)

    def send(self, payload: bytes, opcode: int = 2) -> None:
        """A masked frame; the mask is zero."""
        self.socket.sendall(self.framed(payload, opcode))

    @staticmethod
    def framed(payload: bytes, opcode: int = 2) -> bytes:
        size = len(payload)
        head = bytes((0x80 | opcode, 0x80 | (size if size < 126 else 126)))
        if size >= 126:
            head += struct.pack(">H", size)
        return head + bytes(4) + payload

    def send_together(self, *payloads: bytes) -> None:
        """Short frames in one piece."""
        heads = (bytes((0x82, 0x80 | len(payload))) for payload in payloads)
        self.socket.sendall(
            b"".join(h + bytes(4) + p for h, p in zip(heads, payloads, strict=True))
        )

    def record(self) -> bytes:
        """What the next TLS record brings."""
        return self.socket.recv(65536)

    def frame(self) -> tuple[int, bytes]:
        """(opcode, payload) of the next frame."""
        first, second = self._file.read(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self._file.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._file.read(8))
        return first & 0xF, self._file.read(size)

    def json(self) -> dict[str, Any]:
        """The next text frame."""
        while (frame := self.frame())[0] != 1:
            assert frame[0] in (9, 10), f"closed: {frame}"
        return dict(json.loads(frame[1]))

    def close_code(self) -> int:
        """Read up to the closing frame."""
        while (frame := self.frame())[0] != 8:
            pass
        code: int = struct.unpack(">H", frame[1][:2])[0]
        return code

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def kept_ports() -> tuple[str, ...]:
    """Options for two ports that a demo gets again when it is started again: of those that the
    system hands out to anybody, some other process may have got one meanwhile."""
    ports: list[int] = []
    while len(ports) < 2:
        port = random.randrange(*KEPT_PORTS)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
    return ("--port", str(ports[0]), "--tls-port", str(ports[1]))


def wait_for_end(pid: int) -> bool:
    """Whether a process that is not our child ended in time."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], WAIT_SECONDS)[0])
    finally:
        os.close(descriptor)


class Peak:
    """The most memory that a process had resident since this was made, beyond what it had then."""

    def __init__(self, pid: int) -> None:
        self._proc = Path(f"/proc/{pid}")
        (self._proc / "clear_refs").write_text("5")  # begins anew with what is resident now
        self._before = self._most()

    def growth(self) -> int:
        """In bytes."""
        return self._most() - self._before

    def _most(self) -> int:
        lines = (self._proc / "status").read_text().splitlines()
        (line,) = (one for one in lines if one.startswith("VmHWM:"))
        return int(line.split()[1]) << 10


def _authority(url: str) -> tuple[str, int]:
    host, port = url.split("//")[1].split(":")
    return host, int(port)
