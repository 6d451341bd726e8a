"""One run of etcdctl: where it reads and writes, what was asked, and how it ends.

A Process is what the program runs in: a container's shell, or the console of the product.

Models etcd etcdctl/ctlv3/command/{global,util}.go and pkg/cobrautl/error.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from apiserver_app.etcd.members import Member
from apiserver_app.etcd.server import Server
from lifecycle.etcdctl.flags import FlagError, Parsed, number
from lifecycle.etcdctl.printers import Printer
from lifecycle.etcdctl.tables import Answer

DIAL_SECONDS = 5.0  # --command-timeout
ERROR, BAD_CONNECTION, INVALID_INPUT, BAD_FEATURE, INTERRUPTED, BAD_ARGS = 1, 2, 3, 4, 5, 128


class Process(Protocol):
    """What etcdctl runs in."""

    env: Mapping[str, str]

    def out(self, data: bytes) -> None: ...

    def err(self, data: bytes) -> None: ...

    async def line(self) -> bytes:
        """The next line of the input with its end; empty at the input's end."""
        ...

    async def all(self) -> bytes: ...

    def has_line(self) -> bool:
        """Whether `line` would not wait."""
        ...

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until it is; `poke` says that it may be."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def until_deadline(self, seconds: float) -> None:
        """For an answer that does not come."""
        ...

    def poke(self) -> None: ...

    def has_file(self, path: str) -> bool: ...

    def read_file(self, path: str) -> bytes | None:
        """None when there is none."""
        ...

    def write_file(self, path: str, data: bytes) -> None:
        """Raises Exit when that cannot be."""
        ...

    async def run(self, words: list[str], env: Mapping[str, str]) -> int:
        """Run another command with these variables; its exit code."""
        ...

    def is_server(self, host: str) -> bool:
        """Whether the cluster's etcd is reached at that address."""
        ...


class Exit(Exception):
    """The program ends with this code; the text goes to standard error, if there is one."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(text)
        self.code = code


class Session(msgspec.Struct):
    """One command with its flags and words."""

    server: Server
    process: Process
    parsed: Parsed
    line: str

    @property
    def words(self) -> list[str]:
        return self.parsed.words

    def flag(self, name: str) -> Any:
        return self.parsed.values[name]

    def number(self, text: str, base: int = 10) -> int:
        """Go's ParseInt; its error is raised as ValueError."""
        try:
            return number(text, base)
        except ValueError:
            raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    def lease_of(self, text: str) -> int:
        try:
            return self.number(text, 16)
        except ValueError as error:
            raise Exit(BAD_ARGS, f"bad lease ID arg ({error}), expecting ID in Hex") from error

    # -- answers --------------------------------------------------------------------------------

    def header(self, *, revision: bool = True) -> dict[str, int]:
        server = self.server
        head = {"cluster_id": server.cluster_id, "member_id": server.members.own.id}
        if revision:
            head["revision"] = server.store.revision
        return {**head, "raft_term": server.members.term}

    def show(self, name: str, answer: Answer) -> None:
        form = self.flag("write-out")
        only = bool(self.parsed.values.get("print-value-only"))
        printer = Printer(form, self.process.out, is_hex=self.flag("hex"), value_only=only)
        if not printer.show(name, answer):
            raise Exit(BAD_FEATURE, f"{form} not supported as output format")

    def say(self, text: str) -> None:
        self.process.out(text.encode("utf-8", "surrogateescape") + b"\n")

    def warn(self, text: str) -> None:
        self.process.err(text.encode("utf-8", "surrogateescape") + b"\n")

    # -- connecting -----------------------------------------------------------------------------

    def endpoints(self) -> list[str]:
        listed: str = self.flag("endpoints")
        return [endpoint for endpoint in listed.split(",") if endpoint]

    async def connect(self) -> None:
        """Raises Exit when the server cannot be reached with these flags."""
        for name in ("cacert", "cert", "key"):
            path = self.flag(name)
            if path and not self.process.has_file(path):
                raise Exit(ERROR, f"open {path}: no such file or directory")
        runs = self.server.life.runs
        known = [runs and self._is_here(endpoint) for endpoint in self.endpoints()]
        if not known or not any(known) or not (self.flag("cert") and self.flag("key")):
            await self.process.until_deadline(DIAL_SECONDS)
            raise Exit(ERROR, "context deadline exceeded")

    def _is_here(self, endpoint: str) -> bool:
        scheme, slashes, rest = endpoint.partition("://")
        host, _, port = (rest if slashes else endpoint).rstrip("/").rpartition(":")
        if scheme == "http" or port != "2379":
            return False
        return self.process.is_server(host) or self.server.members.at(host) is not None

    def member_at(self, endpoint: str) -> Member:
        """Which member is reached there."""
        host = endpoint.rpartition("://")[2].rstrip("/").rpartition(":")[0]
        return self.server.members.at(host) or self.server.members.own


def from_environment(parsed: Parsed, env: Mapping[str, str]) -> None:
    """Flags that were not given come from ETCDCTL_ variables. Raises FlagError."""
    for name, value in parsed.values.items():
        text = env.get("ETCDCTL_" + name.upper().replace("-", "_"))
        if text is None or name in parsed.given:
            continue
        if isinstance(value, bool):
            if text.lower() not in ("true", "false", "1", "0"):
                raise FlagError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
            parsed.values[name] = text.lower() in ("true", "1")
        elif isinstance(value, str):
            parsed.values[name] = text
