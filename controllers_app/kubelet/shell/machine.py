"""The container as its commands see it: files, names, processes, network. One for each process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiserver_app.machinery.nodeapi import HttpAnswer, HttpRequest
from controllers_app.kubelet import environment, servers
from controllers_app.kubelet.shell import builtins, tools
from controllers_app.kubelet.shell.files import Files, Node
from controllers_app.kubelet.shell.interpreter import Call, Run
from controllers_app.kubelet.shell.streams import Sink

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell
    from controllers_app.kubelet.processes import Running
    from controllers_app.kubelet.shell.jobs import Job


class Machine:
    """One process's view of its container."""

    def __init__(self, process: Running, stderr: Sink) -> None:
        cell: Cell = process.cell
        self._cell = cell
        self._process = process
        self.pid: int = process.pid
        self.stderr = stderr
        self.files: Files = cell.files
        self.is_busybox = cell.image.userland == tools.BUSYBOX
        self.hostname = environment.hostname(cell.pod)
        self.since = cell.since
        self.lane = f"container/{cell.container_id[-12:]}"
        self._seed = int(cell.container_id[-8:] or "1", 16) + process.pid

    @property
    def address(self) -> str:
        return self._cell.address

    @property
    def uid(self) -> int:
        contexts = (
            self._cell.spec.get("securityContext"),
            self._cell.pod["spec"].get("securityContext"),
        )
        for context in contexts:
            if context and context.get("runAsUser") is not None:
                return int(context["runAsUser"])
        return 0

    def random(self) -> int:
        """The next of a row of numbers that is the container's own."""
        self._seed = (self._seed * 1103515245 + 12345) % (1 << 31)
        return self._seed >> 8

    # -- files ----------------------------------------------------------------------------------

    def look(self, path: str, *, follow: bool = True) -> Node | None:
        return self.files.find(path, follow=follow)

    def read(self, path: str) -> bytes:
        return self.files.read(path)

    def write(self, path: str, data: bytes, now: int) -> None:
        self.files.write(path, data, now)

    def emit(self, stream: str, data: bytes) -> None:
        """Write to the container's own output."""
        self._cell.emit(stream, data)

    # -- commands -------------------------------------------------------------------------------

    def builtin(self, name: str) -> Run | None:
        return builtins.BUILTINS.get(name)

    def program(self, name: str) -> Run | None:
        own = self._cell.server_program()
        if own and name.rpartition("/")[2] == own and self.pid == 1:
            return self._serve
        tool = self._cell.tool(name)
        return tool.run if tool is not None else None

    def where(self, name: str) -> str | None:
        tool = self._cell.tool(name)
        return None if tool is None else f"{tool.folder}/{tool.name}"

    async def _serve(self, call: Call) -> int:
        """The image's own server, started by the container's script: it serves from now on."""
        self._cell.serve()
        await call.runner.until(lambda: False)
        return 0

    # -- processes ------------------------------------------------------------------------------

    def processes(self) -> list[tuple[int, str]]:
        return self._cell.processes()

    def signalled(self, pid: int, signal: str) -> bool:
        return self._cell.signalled(pid, signal)

    def new_pid(self) -> int:
        return self._cell.new_pid()

    def entered(self, job: Job) -> None:
        self._cell.jobs[job.pid] = job

    def left(self, job: Job) -> None:
        self._cell.jobs.pop(job.pid, None)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        return self._process.size or (80, 24)

    # -- network --------------------------------------------------------------------------------

    def resolve(self, name: str) -> tuple[str, list[str]]:
        if name == self.hostname:
            return name, [self.address]
        for one in self._cell.pod["spec"].get("hostAliases") or ():
            if name in (one.get("hostnames") or ()):
                return name, [one["ip"]]
        namespace = self._cell.pod["metadata"]["namespace"]
        return self._cell.directory.network.resolve(name, namespace)

    def connect(self, address: str, port: int) -> servers.Bound:
        return self._cell.directory.network.connect(address, port, self._cell.worker())

    async def http(self, address: str, port: int, request: HttpRequest) -> HttpAnswer:
        return await self.connect(address, port).answer(port, request)

    def is_there(self, address: str) -> bool:
        """Whether somebody has the address."""
        if address.startswith("127."):
            return True
        directory = self._cell.directory
        if any(one.address == address for one in directory.stations.values()):
            return True
        return directory.network.pod_at(address, 0) is not None
