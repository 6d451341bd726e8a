"""Clients at the processes of containers: those that exec started, and those that attach.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand and containerd's
internal/cri/server/{container_exec,container_attach}.go.
"""

from __future__ import annotations

from controllers_app.containerruntime.containers import Container
from controllers_app.containerruntime.processes import ContainerProcess, Output


class Exec:
    """A command that exec started, as `Process`."""

    def __init__(self, running: ContainerProcess) -> None:
        self._running = running

    async def read(self) -> tuple[str, bytes] | None:
        taken = await self._running.output.take()
        if taken is not None:
            self._running.runner.poke()
        return taken

    def write(self, data: bytes) -> None:
        if self._running.input is not None:
            self._running.input.put(data)

    def close_stdin(self) -> None:
        if self._running.input is not None:
            self._running.input.close()

    def resize(self, width: int, height: int) -> None:
        self._running.resize(width, height)

    def hang_up(self) -> None:
        if self._running.tty:
            self._running.kill("HUP")
        else:
            self._running.leave()

    @property
    def exit_code(self) -> int | None:
        return self._running.exit_code


class Attached:
    """A client at the main process, as `Process`. The process continues when the client leaves."""

    def __init__(self, container: Container, *, stdin: bool) -> None:
        self._cell = container
        self._stdin = stdin
        self._output = Output(container.environment.kernel)
        container.listeners.append(self._output)
        if container.log.closed:
            self._output.close()
        container.catch_up()

    async def read(self) -> tuple[str, bytes] | None:
        taken = await self._output.take()
        self._cell.catch_up()
        return taken

    def write(self, data: bytes) -> None:
        main = self._cell.main
        if self._stdin and main is not None and main.input is not None:
            main.input.put(data)

    def close_stdin(self) -> None:
        main = self._cell.main
        if self._stdin and main is not None and main.input is not None:
            main.input.close()

    def resize(self, width: int, height: int) -> None:
        if self._cell.main is not None:
            self._cell.main.resize(width, height)

    def hang_up(self) -> None:
        if self._output in self._cell.listeners:
            self._cell.listeners.remove(self._output)
        self._output.close()
        self._cell.catch_up()
        if self._stdin and self._cell.spec.get("stdinOnce"):
            self.close_stdin()

    @property
    def exit_code(self) -> int | None:
        return self._cell.exit_code
