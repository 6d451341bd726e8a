"""Where etcdctl runs: the shell of the etcd pod, and the console of the product.

In the console nothing waits: what would wait for something to happen ends there, and says so.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from controllers_app.shell.filesystem import FileError
from controllers_app.shell.interpreter import Call
from controllers_app.shell.streams import Taken
from controllers_app.shell.tools import Tool
from lifecycle.etcdctl import session

if TYPE_CHECKING:
    from apiserver_app.etcd.server import Server

_IN_THE_POD = "kubectl -n kube-system exec etcd-node-1 -- etcdctl ... has"
OUTPUT_BYTES_MAX = 1 << 20  # of one command in the console
PKI = "/etc/kubernetes/pki/etcd"
_CERTIFIED = {
    "ETCDCTL_CACERT": f"{PKI}/ca.crt",
    "ETCDCTL_CERT": f"{PKI}/server.crt",
    "ETCDCTL_KEY": f"{PKI}/server.key",
}


def tools(server: Server) -> tuple[Tool, ...]:
    """The command for images whose catalog entry names the set `etcd`."""

    async def etcdctl(call: Call) -> int:
        from lifecycle.etcdctl import program

        return await program.run(server, ShellProcess(call), call.args)

    async def etcdutl(call: Call) -> int:
        from lifecycle.etcdctl import snapshots

        return await snapshots.etcdutl(server, ShellProcess(call), call.args)

    where = (("etcd",), "/usr/local/bin")
    return (Tool("etcdctl", etcdctl, *where), Tool("etcdutl", etcdutl, *where))


class ShellProcess:
    """One command in a container's shell."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.env: Mapping[str, str] = call.shell.environment()

    def out(self, data: bytes) -> None:
        self._call.io.out(data)

    def err(self, data: bytes) -> None:
        self._call.io.err(data)

    async def line(self) -> bytes:
        return await self._call.io.stdin.line()

    async def all(self) -> bytes:
        return await self._call.io.stdin.all()

    def has_line(self) -> bool:
        return self._call.io.stdin.is_ready()

    async def until(self, ready: Callable[[], bool]) -> None:
        await self._call.runner.until(ready)

    async def sleep(self, seconds: float) -> None:
        await self._call.runner.sleep(seconds)

    async def until_deadline(self, seconds: float) -> None:
        await self.sleep(seconds)

    def poke(self) -> None:
        self._call.runner.poke()

    def has_file(self, path: str) -> bool:
        return self._call.machine.look(self._call.path(path)) is not None

    def read_file(self, path: str) -> bytes | None:
        try:
            return self._call.machine.read(self._call.path(path))
        except FileError:
            return None

    def write_file(self, path: str, data: bytes) -> None:
        try:
            self._call.machine.write(self._call.path(path), data, self._call.runner.now)
        except FileError as error:
            why = str(error)
            why = f"could not open {path}.part (open {path}.part: {why[:1].lower()}{why[1:]})"
            raise session.Exit(session.INTERRUPTED, why) from error

    async def run(self, words: list[str], env: Mapping[str, str]) -> int:
        child = self._call.shell.child()
        child.variables |= env
        child.exported |= set(env)
        return await child.call(words, self._call.io)

    def is_server(self, host: str) -> bool:
        return host in ("127.0.0.1", "localhost", "[::1]", self._call.machine.address)


class Ended(Exception):
    """The command would wait, and the console does not."""


class Full(Exception):
    """The command writes more than the console takes."""


class ConsoleProcess:
    """One command whose output is taken whole."""

    def __init__(self, env: Mapping[str, str], stdin: bytes) -> None:
        self.env: Mapping[str, str] = {**_CERTIFIED, **env}
        self.output, self.errors = bytearray(), bytearray()
        self._stdin = Taken(stdin)

    def out(self, data: bytes) -> None:
        room = OUTPUT_BYTES_MAX - len(self.output)
        self.output += data[:room]
        if len(data) > room:
            raise Full

    def err(self, data: bytes) -> None:
        self.errors += data

    async def line(self) -> bytes:
        return await self._stdin.line()

    async def all(self) -> bytes:
        return await self._stdin.all()

    def has_line(self) -> bool:
        return True

    async def until(self, ready: Callable[[], bool]) -> None:
        if not ready():
            raise Ended

    async def sleep(self, seconds: float) -> None:
        raise Ended

    async def until_deadline(self, seconds: float) -> None:
        """What does not come, does not come later."""

    def poke(self) -> None:
        """Nothing waits here."""

    def has_file(self, path: str) -> bool:
        return path.startswith(f"{PKI}/")

    def read_file(self, path: str) -> bytes | None:
        return None

    def write_file(self, path: str, data: bytes) -> None:
        raise session.Exit(session.BAD_FEATURE, f"the console has no files: {_IN_THE_POD}")

    async def run(self, words: list[str], env: Mapping[str, str]) -> int:
        raise session.Exit(session.BAD_FEATURE, f"the console runs no {words[0]}: {_IN_THE_POD}")

    def is_server(self, host: str) -> bool:
        return host in ("127.0.0.1", "localhost", "[::1]", "10.0.0.11")


def console(server: Server, line: str, stdin: str = "") -> dict[str, Any]:
    """Run one line of the console: what it wrote, and its exit code."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        return _answer(b"", f"sh: syntax error: {error}\n".encode(), 2)
    env: dict[str, str] = {}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    if not words:
        return _answer(b"", b"", 0)
    if words[0].rpartition("/")[2] != "etcdctl":
        return _answer(b"", f"sh: {words[0]}: not found\n".encode(), 127)
    from lifecycle.etcdctl import program

    process = ConsoleProcess(env, stdin.encode())
    code = 0
    try:
        code = at_once(program.run(server, process, words[1:]))
    except Ended:
        process.err(b"(the console does not wait for what comes next: watch in the etcd pod)\n")
    except Full:
        process.err(b"(more than 1 MiB: ask with --keys-only or --limit)\n")
    return _answer(bytes(process.output), bytes(process.errors), code)


def at_once(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as done:
        return int(done.value)
    finally:
        work.close()
    raise AssertionError("a console command does not wait")


def _answer(output: bytes, errors: bytes, code: int) -> dict[str, Any]:
    return {
        "output": output.decode("utf-8", "replace"),
        "errors": errors.decode("utf-8", "replace"),
        "exit_code": code,
    }
