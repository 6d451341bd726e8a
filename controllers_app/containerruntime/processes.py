"""Processes of containers: the main one, and those that exec starts.

Each is a task of the kernel that runs a command of the shell's; its output goes to its reader, a
main process's to the container's log and to attached clients.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand and containerd's
internal/cri/server/{container_execsync,container_attach}.go.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from apiserver_app.machinery.kernel import QUARANTINED, Kernel
from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT
from apiserver_app.machinery.task import Cancelled, Task
from apiserver_app.machinery.waiting import Signal
from controllers_app.containerruntime.environment import Environment
from controllers_app.containerruntime.logs import Log
from controllers_app.shell.cgroup import Cgroup
from controllers_app.shell.exits import (
    KILLED,
    NUMBERS,
    CommandError,
    Exit,
    Interrupted,
    OutputFull,
    TimedOut,
)
from controllers_app.shell.interpreter import Shell
from controllers_app.shell.machine import Machine
from controllers_app.shell.streams import Io, Runner, Sink, Source, Taken
from controllers_app.shell.terminal import Input

UNREAD_MAX = 256 * 1024


class Output:
    """What a reader has not taken yet."""

    def __init__(self, kernel: Kernel) -> None:
        self._signal = Signal(kernel)
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


class Owner(Protocol):
    """What a process asks of its container."""

    environment: Environment
    cgroup: Cgroup
    id: str
    since: int
    log: Log
    listeners: list[Output]

    def emit(self, stream: str, data: bytes, at: int | None = None) -> None: ...

    def variables(self) -> dict[str, str]: ...

    def workdir(self) -> str: ...

    def label(self, argv: list[str] | None = None) -> bytes: ...

    async def fetch_tokens(self) -> None: ...

    def machine(self, process: ContainerProcess, stderr: Sink) -> Machine:
        """What the process sees of the container."""
        ...

    def left(self, running: ContainerProcess) -> None:
        """The process has ended."""
        ...

    def abandoned(self, running: ContainerProcess) -> None:
        """The client of the process is gone."""
        ...


class ContainerProcess:
    """One process and how it was started. `stdin`: its input comes from a client."""

    container: Owner
    pid: int

    def __init__(
        self, container: Owner, pid: int, argv: list[str], *, stdin: bool, tty: bool
    ) -> None:
        kernel = container.environment.kernel
        self.container, self.pid, self.argv, self.tty = container, pid, argv, tty
        main = pid == 1
        began = container.since if main else kernel.now
        self.runner = Runner(kernel, began, container.cgroup, is_watched=self._is_watched)
        self.output = Output(kernel)
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
        outputs = container.listeners if main else [self.output]
        self.runner.full = lambda: any(output.size > UNREAD_MAX for output in outputs)

    def _sink(self, stream: str) -> Sink:
        def put(data: bytes) -> None:
            if self.tty:
                data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            if self.pid == 1:
                self.container.emit(stream, data, self.runner.now)
            elif self.is_left:
                raise OutputFull
            else:
                self.output.put(stream, data)

        return put

    def _is_watched(self) -> bool:
        if self.pid != 1:
            return not self.is_left
        return bool(self.container.log.readers or self.container.listeners)

    def start(self) -> None:
        name = f"container/{self.container.id[-12:]} {self.argv[0]}"
        kernel = self.container.environment.kernel
        self.container.cgroup.enter()
        label = self.container.label(None if self.pid == 1 else self.argv)
        self.task = kernel.spawn(name, self._run(), background=False, span=0, label=label)
        self.task.on_done.append(self._part)

    def _part(self, _task: Task) -> None:
        """It has ended: drops all that refers to it, so that its memory is free at once."""
        self.runner.exit()
        self.shell = None
        del self.io, self.source

    async def _run(self) -> None:
        code = 0
        try:
            code = await self.run_command()
        except Exit as error:
            code = error.code
        except CommandError as error:
            self.io.err(f"{error}\n".encode("utf-8", "surrogateescape"))
            code = error.code
        except Interrupted:
            code = 130
        except OutputFull:
            code = 141
        except TimedOut:
            code = KILLED + NUMBERS["TERM"]
        except RecursionError:
            code = KILLED + NUMBERS["SEGV"]
        except Cancelled:
            code = KILLED + NUMBERS.get(self._killed, 9)
        finally:
            self.exit_code = code
            self.output.close()
            self.container.left(self)
            self.ended.set()

    async def run_command(self) -> int:
        container = self.container
        if container.environment.kernel.is_quarantined():
            raise CommandError(f"{self.argv[0]}: {QUARANTINED}", 126)
        await container.fetch_tokens()
        machine = container.machine(self, self.io.err)
        env = dict(container.variables())
        if self.tty:
            env["TERM"] = "xterm"
        shell = Shell.started(machine, self.runner, env, container.workdir())
        shell.tty = self.tty
        self.shell = shell
        return await shell.call(self.argv, self.io)

    def heeds_term(self) -> bool:
        """Whether a trap is set for the signal to end."""
        return self.shell is not None and "TERM" in self.shell.all_traps

    def signal(self, name: str) -> None:
        """A trap takes it, or it ends the process; the first one of a container continues."""
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
        self.container.abandoned(self)

    def kill(self, signal: str = "KILL") -> None:
        self._killed = self._killed or signal
        if self.shell is not None:
            self.shell.end_jobs()
        if self.task is not None:
            self.container.environment.kernel.cancel(self.task)
