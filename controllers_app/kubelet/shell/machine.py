"""The container as its commands see it: files, names, processes, network. One for each process."""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from controllers_app.kubelet import environment, hostdisk, mounts, namespaces, servers
from controllers_app.kubelet.network import Unreachable
from controllers_app.kubelet.shell import builtins, tools
from controllers_app.kubelet.shell.files import Files, Folder, Node
from controllers_app.kubelet.shell.interpreter import Call, Run
from controllers_app.kubelet.shell.streams import Runner, Sink
from controllers_app.kubelet.sockets import Listener

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
        if namespaces.sees_others(cell):
            namespaces.lay_out(cell)
        self._userland = ""  # instead of the image's
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
        return mounts.owner_of(self._cell)[0]

    def random(self) -> int:
        """The next of a row of numbers that is the container's own."""
        self._seed = (self._seed * 1103515245 + 12345) % (1 << 31)
        return self._seed >> 8

    def disks(self) -> list[tuple[str, str, bool]]:
        """What is mounted, where, and whether it is only read."""
        return mounts.disks_of(self._cell)

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
        tool = self._tool(name)
        if tool is None and self.pid == 1 and not (self._userland or self._cell.image.userland):
            return self._serve  # of the image nothing is known: it may well have the program
        return tool.run if tool is not None else None

    def where(self, name: str) -> str | None:
        tool = self._tool(name)
        return None if tool is None else f"{tool.folder}/{tool.name}"

    def _tool(self, name: str) -> tools.Tool | None:
        if self._userland:
            return tools.found(self._cell.directory.tools, self._userland, (), name)
        return self._cell.tool(name)

    async def _serve(self, call: Call) -> int:
        """The image's own server, started by the container's script: it serves from now on."""
        self._cell.serve()
        await call.runner.until(lambda: False)
        return 0

    # -- processes ------------------------------------------------------------------------------

    def processes(self) -> list[tuple[int, str]]:
        return [(one.pid, one.command) for one in namespaces.seen(self._cell)]

    def signalled(self, pid: int, signal: str) -> bool:
        for one in namespaces.seen(self._cell):
            if one.pid == pid and one.cell is not None:
                return one.cell.signalled(one.own, signal)
        return False

    def seen_pid(self) -> int:
        """Its own process's number, as the container sees it."""
        for one in namespaces.seen(self._cell):
            if one.cell is self._cell and one.own == self.pid:
                return one.pid
        return self.pid

    def rooted(self, folder: Folder) -> Machine:
        """The same, with another root: what chroot gives."""
        made = copy.copy(self)
        made.files = Files(folder)
        made.is_busybox = False
        made._userland = hostdisk.TOOLS
        return made

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

    @property
    def dns_address(self) -> str:
        """Whom it asks for names."""
        return self._cell.directory.network.dns_address

    def dns_fault(self) -> str:
        """Why the cluster's DNS answers nobody; empty when it does."""
        return self._cell.directory.network.dns_fault()

    def connect(self, address: str, port: int) -> servers.Bound:
        cell = self._cell
        network = cell.directory.network
        apiserver = cell.directory.apiserver
        if apiserver is not None and network.is_apiserver(address, port):
            if not apiserver.listens:
                raise Unreachable("Connection refused")
            return servers.Bound(servers.Server("kube-apiserver", self._apiserver, tls=True), cell)
        return network.connect(address, port, cell.worker())

    def listen(self, port: int, poke: Callable[[], None]) -> Listener | None:
        """Listen on a port of the container; None: somebody does already."""
        worker = self._cell.worker()
        if worker is None or servers.listening(worker, port) is not None:
            return None
        made = self._cell.ports[port] = Listener(self._cell.directory.kernel, poke)
        return made

    def hang_up(self, port: int) -> None:
        """Listen there no more."""
        listener = self._cell.ports.pop(port, None)
        if listener is not None:
            listener.close()

    async def _apiserver(self, cell: Cell, _port: int, request: HttpRequest) -> HttpAnswer:
        assert cell.directory.apiserver is not None
        headers = {key: text for key, text in request.headers.items() if key != "x-forwarded-for"}
        return await cell.directory.apiserver(replace(request, headers=headers), self.address)

    def trusts(self, path: str) -> bool | None:
        """Whether a file of certificates has the cluster's CA; None: there is no such file."""
        found = self._cell.read(path)
        known = self._cell.directory.lookup("configmaps", "kube-system", "kube-root-ca.crt") or {}
        authority = (known.get("data") or {}).get("ca.crt", "").strip().encode()
        return None if found is None else authority in found

    async def http(self, address: str, port: int, request: HttpRequest) -> HttpAnswer:
        return await self.connect(address, port).answer(port, request)

    async def beside(self, runner: Runner, work: Coroutine[Any, Any, HttpAnswer]) -> HttpAnswer:
        """Wait for an answer so that ctrl-c and `timeout` end the waiting. A process that is behind
        stays so, by no more than it was: it makes up for the questions that it has not asked."""
        answers: list[HttpAnswer] = []
        began = runner.kernel.now

        async def run() -> None:
            answers.append(await work)
            runner.poke()

        task = runner.kernel.spawn(f"{self.lane} http", run(), span=0)
        try:
            await runner.ready(lambda: bool(answers) or task.done)
        finally:
            runner.kernel.cancel(task)
        now = runner.kernel.now
        runner.now = max(runner.now, min(now, runner.now + now - began))
        return answers[0] if answers else HttpAnswer(502, {}, b"")

    def is_there(self, address: str) -> bool:
        """Whether somebody has the address."""
        if address.startswith("127."):
            return True
        directory = self._cell.directory
        if any(one.address == address for one in directory.stations.values()):
            return True
        return directory.network.pod_at(address, 0) is not None
