"""Kubelets that do as the command line tells them: what streaming needs of nodes, and no more.

exec: `echo WORDS`, `err WORDS` (on stderr), `exit N`, `cat` (until its input ends), `yes MIB`,
`size` (says each terminal size; ends at its second), `nothere` (no such program), `hang`.
Port 80 answers each write with itself in capitals, port 8080 the first with a page, port 9000
grants another protocol and then does as port 80; others refuse.
Container `gone` does not run. A lively one's log ends by itself a second after it was followed.
"""

from __future__ import annotations

from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery import waiting
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import (
    STDERR,
    STDOUT,
    HttpAnswer,
    HttpRequest,
    LogOptions,
    NodeError,
)

GRANTED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n"
    b"X-Mine: yes\r\n\r\nhi"
)
PAGE = b"HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
LINES = (b"y" * 1023 + b"\n") * 8  # in one piece, as GNU's yes writes them


class FakeLines:
    def __init__(self, kernel: kernels.Kernel, options: LogOptions) -> None:
        self.box: waiting.Mailbox[bytes] = waiting.Mailbox(kernel)
        self.options = options
        self.closed = False

    async def next(self) -> bytes | None:
        return await self.box.get()

    def close(self) -> None:
        self.closed = True


class FakeProcess:
    """Its output is a mailbox; `flood` is how many pieces it would still write."""

    def __init__(self, kernel: kernels.Kernel, command: list[str]) -> None:
        self.box: waiting.Mailbox[tuple[str, bytes]] = waiting.Mailbox(kernel)
        self.exit_code: int | None = None
        self.hung_up = False
        self.written = b""
        self.taken = self.flood = 0
        self._command = command
        self._sizes = 0
        self._begin(command[0], command[1:])

    def _begin(self, program: str, words: list[str]) -> None:
        text = " ".join(words).encode() + b"\n"
        if program == "echo":
            self.box.put((STDOUT, text))
            self.end(0)
        elif program == "err":
            self.box.put((STDERR, text))
            self.end(0)
        elif program == "exit":
            self.end(int(words[0]))
        elif program == "yes":
            self.flood = int(words[0]) * (1 << 20) // len(LINES)

    def end(self, code: int) -> None:
        self.exit_code = code
        self.box.close()

    async def read(self) -> tuple[str, bytes] | None:
        if self.flood:
            self.flood -= 1
            self.taken += 1
            if not self.flood:
                self.end(0)
            return STDOUT, LINES
        return await self.box.get()

    def write(self, data: bytes) -> None:
        self.written += data
        if self._command[0] == "cat":
            self.box.put((STDOUT, data))

    def close_stdin(self) -> None:
        if self._command[0] == "cat":
            self.end(0)

    def resize(self, width: int, height: int) -> None:
        if self._command[0] == "size":
            self.box.put((STDOUT, b"%dx%d\n" % (width, height)))
            self._sizes += 1
            if self._sizes == 2:
                self.end(0)

    def hang_up(self) -> None:
        self.hung_up = True
        self.box.close()


class FakeConnection:
    def __init__(self, kernel: kernels.Kernel, port: int) -> None:
        self.box: waiting.Mailbox[bytes] = waiting.Mailbox(kernel)
        self.closed = False
        self.asked = b""
        self._port = port

    async def read(self) -> bytes | None:
        return await self.box.get()

    def write(self, data: bytes) -> None:
        if self._port == 8080:
            self.box.put(PAGE)
            self.close()
        elif self._port == 9000 and not self.asked:
            self.asked = data
            self.box.put(GRANTED)
        elif not self.closed:
            self.box.put(data.upper())
            if data.endswith(b"bye\n"):
                self.box.close()

    def close(self) -> None:
        self.closed = True
        self.box.close()


class FakeNodes:
    """`Nodes`. What was asked of it stays here for tests to look at."""

    def __init__(self, kernel: kernels.Kernel, *, lively: bool = False) -> None:
        self.kernel = kernel
        self.lively = lively
        self.lines: list[FakeLines] = []
        self.processes: list[FakeProcess] = []
        self.connections: list[FakeConnection] = []
        self.asked: list[HttpRequest] = []

    async def logs(self, pod: Object, options: LogOptions) -> FakeLines:
        if options.container == "gone":
            name = pod["metadata"]["name"]
            words = f'container "gone" in pod "{name}" is waiting to start: ContainerCreating'
            raise NodeError(400, words)
        lines = FakeLines(self.kernel, options)
        lines.box.put(b"one\ntwo\n")
        if not options.follow:
            lines.box.close()
        elif self.lively:
            due = self.kernel.now + kernels.SECOND
            self.kernel.call_at(due, lambda _: lines.box.put(b"three\n"), None)
            self.kernel.call_at(due + 1, lambda _: lines.box.close(), None)
        self.lines.append(lines)
        return lines

    async def exec(
        self, pod: Object, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> FakeProcess:
        if container == "gone":
            raise NodeError(500, 'container not found ("gone")')
        if command[0] == "nothere":
            words = 'exec: "nothere": executable file not found in $PATH: unknown'
            raise NodeError(500, f"error executing command in container: {words}")
        process = FakeProcess(self.kernel, command)
        self.processes.append(process)
        return process

    async def attach(self, pod: Object, container: str, *, stdin: bool, tty: bool) -> FakeProcess:
        return await self.exec(pod, container, ["cat"], stdin=stdin, tty=tty)

    async def dial(self, pod: Object, port: int) -> FakeConnection:
        if port not in (80, 8080, 9000):
            refused = f"dial tcp4 127.0.0.1:{port}: connect: connection refused"
            raise NodeError(500, f"error forwarding port {port} to pod s1, uid : {refused}")
        connection = FakeConnection(self.kernel, port)
        self.connections.append(connection)
        return connection

    async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        if port != 80:
            raise NodeError(503, f"dial tcp 10.0.0.1:{port}: connect: connection refused")
        self.asked.append(request)
        if request.path.startswith("/moved"):
            return HttpAnswer(302, {"location": "/there", "content-type": "text/plain"}, b"")
        headers = {"content-type": "text/html", "x-mine": "yes", "connection": "close"}
        body = f'<a href="/next">{request.method} {request.path}</a>'.encode() + request.body
        return HttpAnswer(201, headers, body)

    async def node(self, name: str, request: HttpRequest) -> HttpAnswer:
        self.asked.append(request)
        return HttpAnswer(200, {"content-type": "text/plain"}, b"ok")
