"""What a shell and its commands may ask of the container that they run in, and of its network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, Self

from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from controllers_app.shell.filesystem import Files, Folder, Node
from controllers_app.shell.resolver import Resolved
from controllers_app.shell.sockets import Listener, Socket
from controllers_app.shell.streams import Runner, Sink

Mount = tuple[str, str, bool]  # what is mounted, where, and whether it is read-only
Program = Callable[[Any], Awaitable[int]]  # takes the interpreter's Call


class Unreachable(Exception):
    """No connection. `timed_out`: nobody even refused it."""

    def __init__(self, text: str, *, timed_out: bool = False) -> None:
        super().__init__(text)
        self.timed_out = timed_out


class BackgroundProcess(Protocol):
    """A process that a shell runs in the background."""

    pid: int
    text: str  # as it was typed

    def kill(self, signal: str = "TERM") -> None: ...


class Endpoint(Protocol):
    """A server that listens on a port."""

    @property
    def tls(self) -> bool: ...

    @property
    def open(self) -> Callable[[], Socket] | None:
        """A connection whose bytes a program reads and writes; None: the server has none."""
        ...

    @property
    def talk(self) -> Callable[[bytes], bytes] | None:
        """What it answers to bytes that are no HTTP; None: it speaks HTTP only."""
        ...

    async def answer(self, port: int, request: HttpRequest) -> HttpAnswer: ...


class Machine(Protocol):
    """The container as one of its processes sees it."""

    files: Files
    hostname: str
    is_busybox: bool
    lane: str  # begins the names of the tasks that commands spawn
    since: int  # when the container started
    stderr: Sink  # of the process

    @property
    def address(self) -> str: ...

    @property
    def uid(self) -> int: ...

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        ...

    def random(self) -> int:
        """The next number of the container's own sequence."""
        ...

    def rooted(self, folder: Folder) -> Self:
        """The same with another root, as chroot gives it."""
        ...

    # -- files ----------------------------------------------------------------------------------

    def look(self, path: str, *, follow: bool = True) -> Node | None: ...

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes, now: int) -> None: ...

    def emit(self, stream: str, data: bytes) -> None:
        """Write to the container's own output."""
        ...

    def disks(self) -> list[Mount]: ...

    # -- commands and processes -----------------------------------------------------------------

    def builtin(self, name: str) -> Program | None: ...

    def program(self, name: str) -> Program | None: ...

    def where(self, name: str) -> str | None:
        """The path of a program."""
        ...

    def processes(self) -> list[tuple[int, str]]:
        """(pid, command line) of every process it sees."""
        ...

    def signalled(self, pid: int, signal: str) -> bool:
        """Send a signal; whether there is such a process."""
        ...

    def seen_pid(self) -> int: ...

    def new_pid(self) -> int: ...

    def entered(self, job: BackgroundProcess) -> None:
        """A job runs in the background."""
        ...

    def left(self, job: BackgroundProcess) -> None:
        """A job has ended."""
        ...

    # -- network --------------------------------------------------------------------------------

    @property
    def dns_address(self) -> str:
        """Whom it asks for names first."""
        ...

    def resolve(self, name: str) -> Resolved:
        """What becomes of a name, by /etc/hosts and /etc/resolv.conf."""
        ...

    def connect(self, address: str, port: int) -> Endpoint:
        """Raises Unreachable."""
        ...

    def listen(self, port: int, poke: Callable[[], None]) -> Listener | None:
        """Listen on a port of the container; None when the port is in use."""
        ...

    def hang_up(self, port: int) -> None:
        """Stop listening."""
        ...

    def trusts(self, path: str) -> bool | None:
        """Whether a file of certificates has the cluster's CA; None: there is no such file."""
        ...

    def is_there(self, address: str) -> bool:
        """Whether a pod or a node has the address."""
        ...

    async def beside(self, runner: Runner, work: Coroutine[Any, Any, HttpAnswer]) -> HttpAnswer:
        """Wait for an answer so that ctrl-c and `timeout` end the wait."""
        ...
