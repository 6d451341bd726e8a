"""A terminal: what is typed is echoed and edited, lines are handed on, ctrl-c interrupts.

Models the line discipline of Linux (drivers/tty/n_tty.c) with the history keys of ash.
"""

from __future__ import annotations

from collections import deque

from controllers_app.shell import jobs
from controllers_app.shell.exits import Break, Exit, Interrupted, OutputFull
from controllers_app.shell.interpreter import LETTER, Shell
from controllers_app.shell.streams import Io, Runner, Sink
from controllers_app.shell.syntax import ShellSyntaxError, parse

TYPED_MAX = 64 * 1024  # what is typed ahead; more is thrown away
HISTORY_MAX = 100


class Input:
    """Standard input that comes from a client: a terminal's lines, or bytes as they are."""

    def __init__(self, runner: Runner, echo: Sink | None) -> None:
        self._runner = runner
        self._echo = echo  # None: no terminal
        self._line = ""
        self._escape = ""
        self._ready: deque[bytes] = deque()
        self._size = 0
        self._at = 0  # how much of the first that is ready is read
        self._history: list[str] = []
        self._place = 0
        self.closed = False
        self.prompt = ""  # that stands before what is typed, while a shell waits for a command

    # -- the client's side ----------------------------------------------------------------------

    def put(self, data: bytes) -> None:
        if (
            self.closed
            or not data
            or self._size + len(data) > (TYPED_MAX if self._echo else TYPED_MAX * 256)
        ):
            return
        if self._echo is None:
            self._take(data)
        else:
            for letter in data.decode("utf-8", "replace"):
                self._typed(letter)
        self._runner.poke()

    def close(self) -> None:
        if self._line:
            self._take(self._line.encode())
            self._line = ""
        self.closed = True
        self._runner.poke()

    def redraw(self) -> None:
        """The terminal has another size: the line is shown anew."""
        if self.prompt:
            self._show(f"\r{self.prompt}{self._line}")

    def _take(self, data: bytes) -> None:
        self._ready.append(data)
        self._size += len(data)

    def _typed(self, letter: str) -> None:
        if self._escape or letter == "\033":
            self._escaped(letter)
        elif letter in "\r\n":
            self._show("\r\n")
            if self._line.strip() and self._line not in self._history[-1:]:
                self._history = [*self._history[-HISTORY_MAX:], self._line]
            self._place = len(self._history)
            self._take(f"{self._line}\n".encode())
            self._line = ""
        elif letter in "\x7f\x08":
            if self._line:
                self._line = self._line[:-1]
                self._show("\b \b")
        elif letter == "\x03":
            self._show("^C\r\n")
            self._line = ""
            self._runner.interrupt()
        elif letter == "\x04":
            if self._line:
                self._take(self._line.encode())
                self._line = ""
            else:
                self._take(b"")
        elif letter in "\x15\x17":
            kept = "" if letter == "\x15" else self._line.rstrip().rpartition(" ")[0]
            self._replace(f"{kept} " if kept else "")
        elif letter >= " ":
            self._line += letter
            self._show(letter)

    def _escaped(self, letter: str) -> None:
        """An arrow key: up and down go through what was typed before."""
        self._escape += letter
        if len(self._escape) < 3 and (len(self._escape) == 1 or self._escape[1] in "[O"):
            return
        key, self._escape = self._escape, ""
        step = {"A": -1, "B": 1}.get(key[-1], 0)
        place = self._place + step
        if step and 0 <= place <= len(self._history):
            self._place = place
            self._replace(self._history[place] if place < len(self._history) else "")

    def _replace(self, line: str) -> None:
        self._show("\b \b" * len(self._line) + line)
        self._line = line

    def _show(self, text: str) -> None:
        if self._echo is not None:
            self._echo(text.encode())

    # -- the command's side ---------------------------------------------------------------------

    async def line(self) -> bytes:
        await self._runner.until(lambda: bool(self._ready) or self.closed)
        if not self._ready:
            return b""
        if self._echo is not None:
            data = self._ready.popleft()
            self._size -= len(data)
            return data
        parts: list[bytes] = []
        while True:
            data = self._ready[0]
            end = data.find(b"\n", self._at) + 1
            parts.append(data[self._at : end or None])
            self._size -= len(parts[-1])
            self._at = end
            if not end or end == len(data):
                self._ready.popleft()
                self._at = 0
            if end:
                return b"".join(parts)
            await self._runner.until(lambda: bool(self._ready) or self.closed)
            if not self._ready:
                return b"".join(parts)

    async def all(self, end: bytes = b"") -> bytes:
        if self._echo is None:
            await self._runner.until(lambda: self.closed or self._ended(end))
            data = b"".join(self._ready)[self._at :]
            self._ready.clear()
            self._size = self._at = 0
            return data
        parts: list[bytes] = []
        while data := await self.line():
            parts.append(data)
        return b"".join(parts)

    def is_ready(self) -> bool:
        whole = self._echo is not None or any(b"\n" in data for data in self._ready)
        return self.closed or (bool(self._ready) and whole)

    def _ended(self, end: bytes) -> bool:
        """Whether what came so far is whole blocks of a tape that has its end."""
        if not end or self._size % 512:
            return False
        tail = b""
        for data in reversed(self._ready):
            tail = data + tail
            if len(tail) >= len(end):
                break
        return tail.endswith(end)


def prompt(shell: Shell) -> str:
    if shell.name == "bash":
        home = shell.variables.get("HOME", "")
        where = "~" if shell.cwd == home else shell.cwd
        return f"root@{shell.machine.hostname}:{where}# "
    if shell.machine.is_busybox:
        return f"{'~' if shell.cwd == shell.variables.get('HOME') else shell.cwd} # "
    return "# "


async def interact(shell: Shell, io: Io) -> int:
    """A shell that is given line by line, until its input ends or it says exit. On a terminal it
    prompts."""
    while True:
        try:
            source = await _command(shell, io)
            if not source:
                if shell.tty:
                    io.out(b"exit\n" if shell.name == "bash" else b"\n")
                return await shell.end(shell.code, io)
            await shell.run_text(source, io)
        except Interrupted:
            shell.code = 130
        except OutputFull:
            shell.code = 141
        except Break:
            shell.code = 0
        except Exit as error:
            return await shell.end(error.code, io)


async def _command(shell: Shell, io: Io) -> str:
    """The next whole command; at the end of the input the part that was typed."""
    source, shown = "", prompt(shell)
    typed = io.stdin if isinstance(io.stdin, Input) and shell.tty else None
    for job in list(shell.jobs) if shell.tty else ():
        if job.code is not None:
            io.err((jobs.line(shell, job) + "\n").encode())
            shell.jobs.remove(job)
    while True:
        if shell.tty:
            io.out(shown.encode())
        if typed is not None:
            typed.prompt = shown
        try:
            line = await io.stdin.line()
        finally:
            if typed is not None:
                typed.prompt = ""
        source += line.decode("utf-8", "surrogateescape")
        await shell.runner.work(len(source) * LETTER)
        if not line or not _goes_on(source):
            return source
        shown = "> "


def _goes_on(source: str) -> bool:
    """Whether the command needs another line."""
    try:
        parse(source)
    except ShellSyntaxError as error:
        message = str(error)
        return "unexpected end of file" in message or "unterminated" in message
    return source.endswith("\\\n")
