"""Processes of containers: the main one, and those that exec starts.

Each is a task of the kernel that runs a command of the shell's; its output goes to its reader, a
main process's to the container's log and to whoever is attached.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand and containerd's
internal/cri/server/{container_execsync,container_attach}.go.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from apiserver_app.machinery.kernel import Cancelled, Signal, Task
from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT
from controllers_app.kubelet import mounts
from controllers_app.kubelet.shell.ends import (
    KILLED,
    NUMBERS,
    Exit,
    Interrupted,
    OutputFull,
    TimedOut,
)
from controllers_app.kubelet.shell.interpreter import Shell
from controllers_app.kubelet.shell.machine import Machine
from controllers_app.kubelet.shell.streams import Io, Runner, Sink, Source, Taken
from controllers_app.kubelet.shell.terminal import Input
from controllers_app.kubelet.shell.wording import Failed

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell

UNREAD_MAX = 256 * 1024


class Output:
    """What a reader has not taken yet."""

    def __init__(self, cell: Cell) -> None:
        self._signal = Signal(cell.directory.kernel)
        self._parts: deque[tuple[str, bytes]] = deque()
        self.size = 0
        self.closed = False

    def put(self, stream: str, data: bytes) -> None:
        if data and not self.closed:
            self._parts.append((stream, data))
            self.size += len(data)
            self._signal.set()

    def close(self) -> None:
        self.closed = True
        self._signal.set()

    async def take(self) -> tuple[str, bytes] | None:
        while not self._parts:
            if self.closed:
                return None
            self._signal.clear()
            await self._signal.wait()
        stream, data = self._parts.popleft()
        self.size -= len(data)
        return stream, data


class Running:
    """One process and how it was started. `stdin`: its input comes from a client."""

    cell: Cell
    pid: int

    def __init__(self, cell: Cell, pid: int, argv: list[str], *, stdin: bool, tty: bool) -> None:
        kernel = cell.directory.kernel
        self.cell, self.pid, self.argv, self.tty = cell, pid, argv, tty
        main = pid == 1
        began = cell.since if main else kernel.now
        self.runner = Runner(kernel, began, is_watched=self._is_watched)
        self.output = Output(cell)
        self.input: Input | None = None
        self.exit_code: int | None = None
        self.ended = Signal(kernel)
        self.shell: Shell | None = None
        self.size: tuple[int, int] | None = None  # of the client's terminal: columns and rows
        self.is_left = False  # by the client that started it
        self._killed = ""
        self.task: Task | None = None
        out, err = self._sink(STDOUT), self._sink(STDOUT if tty else STDERR)
        self.source: Source = Taken()
        if stdin:
            self.input = self.source = Input(self.runner, out if tty else None)
        self.io = Io(self.source, out, err)
        if not main:
            self.runner.full = lambda: self.output.size > UNREAD_MAX

    def _sink(self, stream: str) -> Sink:
        def put(data: bytes) -> None:
            if self.tty:
                data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            if self.pid == 1:
                self.cell.emit(stream, data, self.runner.now)
            elif self.is_left:
                raise OutputFull
            else:
                self.output.put(stream, data)

        return put

    def _is_watched(self) -> bool:
        if self.pid != 1:
            return not self.is_left
        return bool(self.cell.log.readers or self.cell.listeners)

    def start(self) -> None:
        name = f"container/{self.cell.container_id[-12:]} {self.argv[0]}"
        kernel = self.cell.directory.kernel
        self.task = kernel.spawn(name, self._run(), background=False, span=0)

    async def _run(self) -> None:
        code = 0
        try:
            code = await self._command()
        except Exit as error:
            code = error.code
        except Failed as error:
            self.io.err(f"{error}\n".encode("utf-8", "surrogateescape"))
            code = error.code
        except Interrupted:
            code = 130
        except OutputFull:
            code = 141
        except TimedOut:
            code = KILLED + NUMBERS["TERM"]
        except Cancelled:
            code = KILLED + NUMBERS.get(self._killed, 9)
        finally:
            self.exit_code = code
            self.output.close()
            self.cell.left(self)
            self.ended.set()

    async def _command(self) -> int:
        cell = self.cell
        await mounts.tokens_of(cell)
        machine = Machine(self, self.io.err)
        env = dict(cell.variables())
        if self.tty:
            env["TERM"] = "xterm"
        shell = Shell.started(machine, self.runner, env, cell.workdir())
        shell.tty = self.tty
        self.shell = shell
        return await shell.call(self.argv, self.io)

    def heeds_term(self) -> bool:
        """Whether a trap is set for the signal to end."""
        return self.shell is not None and "TERM" in self.shell.all_traps

    def signal(self, name: str) -> None:
        """A trap takes it, or it ends the process; the first one of a container goes on."""
        if self.shell is not None and name in self.shell.all_traps:
            self.runner.signals.append(name)
            self.runner.poke()
        elif self.pid != 1:
            self.kill(name)

    def resize(self, width: int, height: int) -> None:
        before, self.size = self.size, (width, height)
        if self.tty and before not in (None, self.size) and self.input is not None:
            self.input.redraw()

    def leave(self) -> None:
        """Its client is gone: the input ends, and who writes on finds out that nobody reads."""
        self.is_left = True
        if self.input is not None:
            self.input.close()
        self.output.close()
        self.cell.abandoned(self)

    def kill(self, signal: str = "KILL") -> None:
        self._killed = self._killed or signal
        if self.shell is not None:
            self.shell.end_jobs()
        if self.task is not None:
            self.cell.directory.kernel.cancel(self.task)


class Exec:
    """A command that exec started, as `Process`."""

    def __init__(self, running: Running) -> None:
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
    """A client at the main process, as `Process`. The process goes on when the client leaves."""

    def __init__(self, cell: Cell, *, stdin: bool) -> None:
        self._cell = cell
        self._stdin = stdin
        self._output = Output(cell)
        cell.listeners.append(self._output)
        if cell.log.closed:
            self._output.close()
        cell.catch_up()

    async def read(self) -> tuple[str, bytes] | None:
        return await self._output.take()

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
        if self._stdin and self._cell.spec.get("stdinOnce"):
            self.close_stdin()

    @property
    def exit_code(self) -> int | None:
        return self._cell.exit_code
