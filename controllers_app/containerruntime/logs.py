"""What containers wrote: one bounded log for each instance, read as the kubelet reads CRI logs.

A log that nobody needs is not kept: an image's own lines are known from the catalog and are laid
out when somebody reads. Times are µs of virtual time.

Models kubernetes staging/src/k8s.io/cri-client/pkg/logs/logs.go and pkg/kubelet/logs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT, LogOptions
from apiserver_app.machinery.waiting import Signal

BYTES_MAX = 256 * 1024  # of one instance; what is older is rotated away
ENTRIES_MAX = 4096
ENTRY_BYTES = 160  # that an entry takes besides its data
NODE_BYTES_MAX, SHARE_BYTES = 32 << 20, 16 * 1024  # of a node's logs, and of each beyond that
LINE_BYTES_MAX = 16 * 1024  # a longer line is written in parts
_STREAMS = {"Stdout": STDOUT, "Stderr": STDERR}


class Entry(NamedTuple):
    """One line, or a part of one: then it does not end with a newline."""

    at: int
    stream: str
    data: bytes


class Logs:
    """The room that the logs of a node take."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class Log:
    """What one container instance wrote."""

    __slots__ = ("_bytes", "_logs", "_open", "_signal", "closed", "entries", "readers", "total")

    def __init__(self, kernel: Kernel, logs: Logs) -> None:
        self._logs = logs
        self.entries: deque[Entry] = deque()
        self.closed = False
        self.readers = 0  # that follow
        self.total = 0  # entries ever added
        self._bytes = 0
        self._open: dict[str, bytes] = {}
        self._signal = Signal(kernel)

    def write(self, at: int, stream: str, data: bytes) -> None:
        """Take what a process wrote; lines are kept when they are complete."""
        data = self._open.pop(stream, b"") + data
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._add(Entry(at, stream, self._parts(at, stream, line) + b"\n"))
        rest = self._parts(at, stream, rest)
        if rest:
            self._open[stream] = rest
        self._signal.set()

    def close(self, at: int) -> None:
        """The container has ended; a line without its end is a part."""
        for stream, rest in sorted(self._open.items()):
            self._add(Entry(at, stream, rest))
        self._open.clear()
        self.closed = True
        self._signal.set()

    async def more(self) -> None:
        """Until something was written or the log was closed."""
        self._signal.clear()
        await self._signal.wait()

    def _parts(self, at: int, stream: str, line: bytes) -> bytes:
        """Keep all of a long line but its last part, and give that."""
        while len(line) > LINE_BYTES_MAX:
            self._add(Entry(at, stream, line[:LINE_BYTES_MAX]))
            line = line[LINE_BYTES_MAX:]
        return line

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.total += 1
        self._count(len(entry.data), 1)
        most = BYTES_MAX if self._logs.bytes < NODE_BYTES_MAX else SHARE_BYTES
        while self._bytes > most or len(self.entries) > ENTRIES_MAX:
            self._count(-len(self.entries.popleft().data), -1)

    def drop(self) -> None:
        """Nobody can ask for it any more."""
        self._count(-self._bytes, -len(self.entries))
        self.entries.clear()

    def _count(self, size: int, entries: int) -> None:
        self._bytes += size
        self._logs.bytes += size + ENTRY_BYTES * entries


class Reader:
    """One reading of a log, as `Lines`."""

    def __init__(self, log: Log, options: LogOptions, poke: Callable[[], None]) -> None:
        self._log = log
        self._options = options
        self._poke = poke
        self._left = options.limit_bytes
        self._closed = False
        log.readers += options.follow
        self._next = self._first()

    async def next(self) -> bytes | None:
        """Some whole entries; None at the end, which a followed log has with its container."""
        while not self._closed:
            data = self._take()
            if data:
                return data
            if self._left == 0 or not self._options.follow or self._log.closed:
                self.close()
                break
            self._poke()
            await self._log.more()
        return None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._log.readers -= self._options.follow

    def _first(self) -> int:
        """The number of the first entry to read: `tail` counts lines from the end."""
        log, tail = self._log, self._options.tail_lines
        if tail is None:
            return log.total - len(log.entries)
        wanted, number = tail, log.total
        for entry in reversed(log.entries):
            if entry.data.endswith(b"\n") or number == log.total:
                if wanted == 0:
                    break
                wanted -= 1
            number -= 1
        return number if tail else log.total

    def _take(self) -> bytes:
        log = self._log
        oldest = log.total - len(log.entries)
        skip = max(0, self._next - oldest)
        self._next = log.total
        out = []
        for number, entry in enumerate(log.entries):
            if number >= skip and self._wanted(entry):
                out.append(self._format(entry))
        data = b"".join(out)
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        return data

    def _wanted(self, entry: Entry) -> bool:
        options = self._options
        if options.since is not None and entry.at < options.since:
            return False
        return options.stream == "All" or _STREAMS.get(options.stream) == entry.stream

    def _format(self, entry: Entry) -> bytes:
        if not self._options.timestamps:
            return entry.data
        return nanos(entry.at).encode() + b" " + entry.data


def nanos(at: int) -> str:
    """RFC 3339 with nine digits, as the kubelet writes times before lines."""
    seconds, micros = divmod(at, SECOND)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{micros * 1000:09d}Z"
