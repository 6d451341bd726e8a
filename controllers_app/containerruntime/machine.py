"""The container as its commands see it: files, names, processes, network. One for each process."""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from controllers_app.containerruntime import hostdisk, namespaces, rootfs
from controllers_app.containerruntime.containers import Container
from controllers_app.containerruntime.network import Network
from controllers_app.containerruntime.processes import ContainerProcess
from controllers_app.containerruntime.servers.server import ApiServer, Bound, Server
from controllers_app.cri import environment
from controllers_app.shell import builtins, resolver, tools
from controllers_app.shell.filesystem import File, Files, Folder, Node
from controllers_app.shell.interpreter import Call, Run
from controllers_app.shell.machine import BackgroundProcess, Unreachable
from controllers_app.shell.resolver import Config, Resolved
from controllers_app.shell.sockets import Listener
from controllers_app.shell.streams import Runner, Sink


class Machine:
    """One process's view of its container: the shell's `Machine`."""

    def __init__(
        self,
        container: Container,
        process: ContainerProcess,
        stderr: Sink,
        network: Network,
        apiserver: ApiServer,
    ) -> None:
        self._container = container
        self._network = network
        self._apiserver = apiserver
        self._process = process
        self.pid: int = process.pid
        self.stderr = stderr
        self.files: Files = container.files
        if namespaces.sees_others(container):
            namespaces.lay_out(container)
        self._userland = ""  # instead of the image's
        self.is_busybox = container.image.userland == tools.BUSYBOX
        self.hostname = environment.hostname(container.pod)
        self.since = container.since
        self.lane = f"container/{container.id[-12:]}"
        self._seed = int(container.id[-8:] or "1", 16) + process.pid

    @property
    def address(self) -> str:
        return self._container.address

    @property
    def uid(self) -> int:
        return self._container.owner[0]

    def random(self) -> int:
        """The next of a row of numbers that is the container's own."""
        self._seed = (self._seed * 1103515245 + 12345) % (1 << 31)
        return self._seed >> 8

    def disks(self) -> list[tuple[str, str, bool]]:
        """What is mounted, where, and whether it is only read."""
        return rootfs.disks_of(self._container)

    # -- files ----------------------------------------------------------------------------------

    def look(self, path: str, *, follow: bool = True) -> Node | None:
        return self.files.find(path, follow=follow)

    def read(self, path: str) -> bytes:
        return self.files.read(path)

    def write(self, path: str, data: bytes, now: int) -> None:
        self.files.write(path, data, now)

    def emit(self, stream: str, data: bytes) -> None:
        """Write to the container's own output."""
        self._container.emit(stream, data)

    # -- commands -------------------------------------------------------------------------------

    def builtin(self, name: str) -> Run | None:
        return builtins.BUILTINS.get(name)

    def program(self, name: str) -> Run | None:
        own = self._container.server_program()
        if own and name.rpartition("/")[2] == own and self.pid == 1:
            return self._serve
        tool = self._tool(name)
        if (
            tool is None
            and self.pid == 1
            and not (self._userland or self._container.image.userland)
        ):
            return self._plausible  # of the image nothing is known: it may well have the program
        return tool.run if tool is not None else None

    def where(self, name: str) -> str | None:
        tool = self._tool(name)
        return None if tool is None else f"{tool.folder}/{tool.name}"

    def _tool(self, name: str) -> tools.Tool | None:
        if self._userland:
            return tools.find(self._container.environment.tools, self._userland, (), name)
        return self._container.tool(name)

    async def _plausible(self, call: Call) -> int:
        """A program that may be there: where its end is waited for it ends, else it serves."""
        image = self._container.image
        if image.runs_seconds is None:
            return await self._serve(call)
        await call.runner.sleep(image.runs_seconds)
        return image.exit_code

    async def _serve(self, call: Call) -> int:
        """The image's own server, started by the container's script: it serves from now on."""
        self._container.serve()
        await call.runner.until(lambda: False)
        return 0

    # -- processes ------------------------------------------------------------------------------

    def processes(self) -> list[tuple[int, str]]:
        return [(process.pid, process.command) for process in namespaces.seen(self._container)]

    def signalled(self, pid: int, signal: str) -> bool:
        for process in namespaces.seen(self._container):
            if process.pid == pid and process.container is not None:
                return process.container.signalled(process.own, signal)
        return False

    def seen_pid(self) -> int:
        """Its own process's number, as the container sees it."""
        for process in namespaces.seen(self._container):
            if process.container is self._container and process.own == self.pid:
                return process.pid
        return self.pid

    def rooted(self, folder: Folder) -> Machine:
        """The same, with another root: what chroot gives."""
        made = copy.copy(self)
        made.files = Files(folder, self.files.disk)
        made.is_busybox = False
        made._userland = hostdisk.TOOLS
        return made

    def new_pid(self) -> int:
        return self._container.new_pid()

    def entered(self, job: BackgroundProcess) -> None:
        self._container.jobs[job.pid] = job

    def left(self, job: BackgroundProcess) -> None:
        self._container.jobs.pop(job.pid, None)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        return self._process.size or (80, 24)

    # -- network --------------------------------------------------------------------------------

    def resolve(self, name: str) -> Resolved:
        if name == self.hostname:
            return Resolved(name, [self.address], "hosts")
        for alias in self._container.pod["spec"].get("hostAliases") or ():
            if name in (alias.get("hostnames") or ()):
                return Resolved(name, [alias["ip"]], "hosts")
        return self._network.resolve(name, self._config(), self._container.sandbox())

    @property
    def dns_address(self) -> str:
        return self._config().servers[0]

    def _config(self) -> Config:
        found = self.files.find(resolver.PATH)
        text = found.data[: resolver.FILE_MAX] if isinstance(found, File) else b""
        return resolver.parsed(text.decode(errors="replace"))

    def connect(self, address: str, port: int) -> Bound:
        sandbox = self._container.sandbox()
        if self._network.is_apiserver(address, port, sandbox):
            if not self._apiserver.listens:
                raise Unreachable("Connection refused")
            apiserver = Server("kube-apiserver", self._answer_of_apiserver, tls=True)
            return Bound(apiserver, self._container)
        return self._network.connect(address, port, sandbox)

    def listen(self, port: int, poke: Callable[[], None]) -> Listener | None:
        """Listen on a port of the container; None: somebody does already."""
        sandbox = self._container.sandbox()
        if sandbox is None or self._network.listening(sandbox, port) is not None:
            return None
        kernel = self._container.environment.kernel
        made = self._container.ports[port] = Listener(kernel, poke)
        return made

    def hang_up(self, port: int) -> None:
        """Listen there no more."""
        listener = self._container.ports.pop(port, None)
        if listener is not None:
            listener.close()

    async def _answer_of_apiserver(
        self, _container: Container, _port: int, request: HttpRequest
    ) -> HttpAnswer:
        headers = {key: text for key, text in request.headers.items() if key != "x-forwarded-for"}
        return await self._apiserver(
            msgspec.structs.replace(request, headers=headers), self.address
        )

    def trusts(self, path: str) -> bool | None:
        """Whether a file of certificates has the cluster's CA; None: there is no such file."""
        bundle = self._container.read(path)
        known = (
            self._container.environment.lookup("configmaps", "kube-system", "kube-root-ca.crt")
            or {}
        )
        authority = (known.get("data") or {}).get("ca.crt", "").strip().encode()
        return None if bundle is None else authority in bundle

    async def beside(self, runner: Runner, work: Coroutine[Any, Any, HttpAnswer]) -> HttpAnswer:
        """Wait for an answer so that ctrl-c and `timeout` end the waiting. A process that is behind
        stays so, by no more than it was: it makes up for the questions that it has not asked."""
        answers: list[HttpAnswer] = []
        began = runner.kernel.now

        async def run() -> None:
            answers.append(await work)
            runner.poke()

        task = runner.kernel.branch(f"{self.lane} http", run())
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
        return self._network.has_node(address) or self._network.pod_at(address, 0) is not None
