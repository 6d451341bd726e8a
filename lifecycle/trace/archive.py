"""Saved traces: DIR/traces/<id>.jsonl.gz, a header line and then one record a line.

The file is plain gzip for every other program. Here it is written in members of MEMBER_RECORDS
records, fewer if they are long, and <id>.index says where each begins, so that reading from any
record decompresses one member. What is imported is checked line by line (`reading`) and written
again in the same shape; what is saved has the same bounds, so that it can be imported.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import orjson

from lifecycle.trace import reading
from lifecycle.trace.reading import FORMAT, LINE_BYTES_MAX, VERSION, TraceError

MEMBER_RECORDS, MEMBER_BYTES = 1000, 4 << 20
PIECE_RECORDS = 500  # asked of the store at once
ANSWER_BYTES = 16 << 20  # of the records given at once, if there is more than one
FILE_BYTES_MAX = 256 << 20
TRACES_MAX, LIBRARY_BYTES_MAX = 200, 4 << 30
SUFFIX, INDEX = ".jsonl.gz", ".index"
ID = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,62}[a-z0-9])?")

ReadRecords = Callable[[int, int], tuple[bytes, int]]


class Saved(msgspec.Struct, frozen=True):
    """One saved trace: its id, header and size."""

    id: str
    header: dict[str, Any]
    size_bytes: int

    def summary(self) -> dict[str, Any]:
        return {"id": self.id, "size_bytes": self.size_bytes, **self.header}


class _Seq(msgspec.Struct):
    seq: int = 0  # the header has none


_seq = msgspec.json.Decoder(_Seq)
_raws = msgspec.json.Decoder(list[msgspec.Raw])


class Archive:
    """The saved traces below one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "traces"

    def all(self) -> list[Saved]:
        """Every saved trace, by id."""
        ids = [file.name[: -len(SUFFIX)] for file in self._folder.glob(f"*{SUFFIX}")]
        return [self.get(trace) for trace in sorted(ids) if ID.fullmatch(trace)]

    def get(self, trace: str) -> Saved:
        """Raises TraceError for an id that there is not."""
        file = self.file(trace)
        with gzip.open(file, "rb") as lines:
            header = orjson.loads(lines.readline(LINE_BYTES_MAX))
        return Saved(trace, header, file.stat().st_size)

    def file(self, trace: str) -> Path:
        file = self._folder / f"{trace}{SUFFIX}"
        if not ID.fullmatch(trace) or not file.is_file():
            raise TraceError(f'there is no trace "{trace}"')
        return file

    def remove(self, trace: str) -> None:
        self.file(trace).unlink()
        (self._folder / f"{trace}{INDEX}").unlink(missing_ok=True)

    def save(self, name: str, header: dict[str, Any], read: ReadRecords) -> Saved:
        """Keep the records header["first"]..header["last"] that `read` gives in pieces."""
        return self._write(name, header, _pieces(read, header["first"], header["last"]))

    def take(self, name: str, upload: BinaryIO, file_name: str = "") -> Saved:
        """Check an uploaded file, gzip or plain JSON lines, and keep it by the name it is given,
        else that in its header, else that of the file. Raises TraceError."""
        self._check_room()
        trace = reading.Checked(upload)
        title = name or str(trace.header.get("name", "")) or file_name
        return self._write(title, trace.header, trace, lambda: trace.changes)

    def mark(self, trace: str, bookmarks: list[dict[str, Any]]) -> None:
        """Put bookmarks into the header instead of those there; the records stay as they are."""
        saved, file = self.get(trace), self.file(trace)
        index_file = self._folder / f"{trace}{INDEX}"
        index = orjson.loads(index_file.read_bytes())
        header = {**saved.header, "bookmarks": bookmarks}
        waiting = self._folder / f".{trace}.part"
        try:
            _copy(file, waiting, header, index)
            index_waiting = self._folder / f".{trace}{INDEX}.part"
            index_waiting.write_bytes(orjson.dumps(_from_end(index, saved.size_bytes)))
            index_waiting.replace(index_file)
            waiting.replace(file)
        except OSError as error:
            raise TraceError(f"the bookmarks cannot be kept: {error.strerror}") from error
        finally:
            waiting.unlink(missing_ok=True)

    def records(self, trace: str, first: int, limit: int) -> tuple[bytes, int]:
        """Records from `first` on as JSON joined by commas, at most `limit`, and the last's seq."""
        file = self.file(trace)
        index = orjson.loads((self._folder / f"{trace}{INDEX}").read_bytes())
        offset = 0  # the header, which has no seq
        for member_first, member_offset in index:
            if member_first > first:
                break
            offset = member_offset
        taken: list[bytes] = []
        end, size = first - 1, 0
        with file.open("rb") as raw:
            raw.seek(*_place(offset))
            with gzip.open(raw, "rb") as lines:
                for line in lines:
                    seq = _seq.decode(line).seq
                    if seq >= first:
                        taken.append(line.rstrip(b"\n"))
                        end, size = seq, size + len(line)
                    if len(taken) >= limit or size >= ANSWER_BYTES:
                        break
        return b",".join(taken), end

    def _write(
        self,
        name: str,
        header: dict[str, Any],
        lines: Iterable[bytes],
        changed: Callable[[], dict[str, Any]] = dict,
    ) -> Saved:
        """All or nothing: a trace that turns out bad half-way leaves no file. `changed` is what
        the header must say instead once the lines are read."""
        self._check_room()
        trace, index_file = self._claimed(name)
        kept = False
        header = {"format": FORMAT, "version": VERSION, "name": name, **header}
        header["name"] = name or trace
        waiting = self._folder / f".{trace}.part"
        try:
            with waiting.open("wb") as file:
                file.write(_member([orjson.dumps(header)]))
                index = write_members(file, int(header["first"]), lines)
                index = _from_end(index, file.tell())
            if changes := changed():
                again = self._folder / f".{trace}.cut.part"
                _copy(waiting, again, header | changes, index)
                again.replace(waiting)
            index_file.write_bytes(orjson.dumps(index))
            waiting.replace(self._folder / f"{trace}{SUFFIX}")
            kept = True
        except OSError as error:
            raise TraceError(f"the trace cannot be kept: {error.strerror}") from error
        finally:
            waiting.unlink(missing_ok=True)
            if not kept:
                index_file.unlink()
        return self.get(trace)

    def _check_room(self) -> None:
        """Whether the library may hold another one. Raises TraceError."""
        files = list(self._folder.glob(f"*{SUFFIX}"))
        why = ""
        if len(files) >= TRACES_MAX:
            why = f"{TRACES_MAX} saved traces"
        elif sum(file.stat().st_size for file in files) >= LIBRARY_BYTES_MAX:
            why = f"{LIBRARY_BYTES_MAX} bytes of saved traces"
        if why:
            raise TraceError(f"there are at most {why}: remove one first")

    def _claimed(self, name: str) -> tuple[str, Path]:
        """An id that nobody else has: who makes its index has it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48].strip("-") or "trace"
        for number in itertools.count(1):
            trace = base if number == 1 else f"{base}-{number}"
            index = self._folder / f"{trace}{INDEX}"
            with contextlib.suppress(FileExistsError):
                index.open("xb").close()
                return trace, index
        raise AssertionError


def write_file(path: Path, header: dict[str, Any], records: Iterable[dict[str, Any]]) -> None:
    """One trace as a file anywhere: all or nothing, the same bytes for the same records."""
    waiting = path.with_name(f".{path.name}.part")
    lines = (orjson.dumps(record) for record in records)
    full = {"format": FORMAT, "version": VERSION, **header}
    try:
        with waiting.open("wb") as file:
            file.write(_member([orjson.dumps(full)]))
            for chunk in _chunks(lines):
                file.write(_member(chunk))
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def _pieces(read: ReadRecords, first: int, last: int) -> Iterator[bytes]:
    while first <= last:
        data, end = read(first, min(last, first + PIECE_RECORDS - 1))
        if not data:
            raise TraceError(f"the records from {first} on are no longer in the store")
        yield from (bytes(raw) for raw in _raws.decode(b"[" + data + b"]"))
        first = end + 1


def _copy(old: Path, new: Path, header: dict[str, Any], index: list[tuple[int, int]]) -> None:
    """The same records behind another header."""
    with old.open("rb") as source, new.open("wb") as target:
        target.write(_member([orjson.dumps(header)]))
        if index:
            source.seek(*_place(index[0][1]))
            shutil.copyfileobj(source, target)


def write_members(file: BinaryIO, seq: int, lines: Iterable[bytes]) -> list[tuple[int, int]]:
    """Where the members begin that hold these records, each with its first record."""
    index: list[tuple[int, int]] = []
    for chunk in _chunks(_bounded(lines)):
        index.append((seq, file.tell()))
        file.write(_member(chunk))
        seq += len(chunk)
        if file.tell() > FILE_BYTES_MAX:
            raise TraceError(f"the file of a trace has at most {FILE_BYTES_MAX} bytes")
    return index


def _from_end(index: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Where the members begin, counted from the file's end: the header before them may grow."""
    return [(first, at if at < 0 else at - size) for first, at in index]


def _place(offset: int) -> tuple[int, int]:
    return offset, os.SEEK_END if offset < 0 else os.SEEK_SET


def _bounded(lines: Iterable[bytes]) -> Iterator[bytes]:
    count = size = 0
    for line in lines:
        count, size = count + 1, size + len(line) + 1
        if count > reading.RECORDS_MAX:
            raise TraceError(f"a trace has at most {reading.RECORDS_MAX} records")
        if size > reading.BYTES_MAX:
            raise TraceError(f"a trace has at most {reading.BYTES_MAX} bytes, unpacked")
        yield line


def _chunks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """What goes into a member each."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if len(chunk) == MEMBER_RECORDS or size >= MEMBER_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _member(lines: list[bytes]) -> bytes:
    """One gzip member, the same bytes for the same lines."""
    return gzip.compress(b"\n".join(lines) + b"\n", mtime=0)
