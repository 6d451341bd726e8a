"""Saved traces: DIR/traces/<id>.jsonl.gz, a header line and then one record a line.

The file is plain gzip for every other program. Here it is written in members of MEMBER_RECORDS
records, and <id>.index says where each begins, so that reading from any record decompresses one
member. What is imported is checked line by line and written again in the same shape.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import orjson

from apiserver_app.machinery.probe import KINDS

FORMAT, VERSION = "lifecycle-trace", 1
MEMBER_RECORDS = 1000
PIECE_RECORDS = 500  # asked of the store at once
LINE_BYTES_MAX = 8 << 20
SUFFIX, INDEX = ".jsonl.gz", ".index"
ID = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,62}[a-z0-9])?")
_HEADER_TYPES: dict[str, type] = {
    "cluster": str, "epoch": str, "kubernetes": str, "first": int, "last": int,
}  # fmt: skip

ReadRecords = Callable[[int, int], tuple[bytes, int]]


class TraceError(Exception):
    """The trace cannot be read or kept; the text names the line where there is one."""


@dataclass(frozen=True, slots=True)
class Saved:
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

    def take(self, name: str, upload: BinaryIO) -> Saved:
        """Check an uploaded file, gzip or plain JSON lines, and keep it. Raises TraceError."""
        lines = _lines(upload)
        header = check_header(next(lines, b""))
        return self._write(name or str(header.get("name", "")), header, check(header, lines))

    def records(self, trace: str, first: int, limit: int) -> tuple[bytes, int]:
        """Records from `first` on as JSON joined by commas, at most `limit`, and the last's seq."""
        file = self.file(trace)
        index = orjson.loads((self._folder / f"{trace}{INDEX}").read_bytes())
        offset = 0
        for member_first, member_offset in index:
            if member_first > first:
                break
            offset = member_offset
        found: list[bytes] = []
        end = first - 1
        with file.open("rb") as raw:
            raw.seek(offset)
            with gzip.open(raw, "rb") as lines:
                for line in lines:
                    seq = _seq.decode(line).seq
                    if seq >= first:
                        found.append(line.rstrip(b"\n"))
                        end = seq
                    if len(found) >= limit:
                        break
        return b",".join(found), end

    def _write(self, name: str, header: dict[str, Any], lines: Iterable[bytes]) -> Saved:
        """All or nothing: a trace that turns out bad half-way leaves no file."""
        self._folder.mkdir(parents=True, exist_ok=True)
        trace = self._free_id(name)
        header = {"format": FORMAT, "version": VERSION, "name": name or trace, **header}
        header["name"] = name or trace
        waiting = self._folder / f".{trace}.part"
        index: list[tuple[int, int]] = []
        try:
            with waiting.open("wb") as file:
                file.write(_member([json.dumps(header, separators=(",", ":")).encode()]))
                seq, rest = int(header["first"]), iter(lines)
                while chunk := list(itertools.islice(rest, MEMBER_RECORDS)):
                    index.append((seq, file.tell()))
                    file.write(_member(chunk))
                    seq += len(chunk)
            (self._folder / f"{trace}{INDEX}").write_bytes(orjson.dumps(index))
            waiting.replace(self._folder / f"{trace}{SUFFIX}")
        finally:
            waiting.unlink(missing_ok=True)
        return self.get(trace)

    def _free_id(self, name: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48].strip("-") or "trace"
        for number in itertools.count(1):
            trace = base if number == 1 else f"{base}-{number}"
            if not (self._folder / f"{trace}{SUFFIX}").exists():
                return trace
        raise AssertionError


def write_file(path: Path, header: dict[str, Any], records: Iterable[dict[str, Any]]) -> None:
    """One trace as a file anywhere: all or nothing, the same bytes for the same records."""
    waiting = path.with_name(f".{path.name}.part")
    lines = (orjson.dumps(record) for record in records)
    full = {"format": FORMAT, "version": VERSION, **header}
    try:
        with waiting.open("wb") as file:
            file.write(_member([orjson.dumps(full)]))
            while chunk := list(itertools.islice(lines, MEMBER_RECORDS)):
                file.write(_member(chunk))
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def open_checked(file: BinaryIO) -> tuple[dict[str, Any], Iterator[bytes]]:
    """The header and the lines behind it, each checked as it is read. Raises TraceError."""
    lines = _lines(file)
    header = check_header(next(lines, b""))
    return header, check(header, lines)


def check_header(line: bytes) -> dict[str, Any]:
    """The header of a trace file. Raises TraceError with what is wrong."""
    header = _object(line, 1)
    if header.get("format") != FORMAT:
        raise TraceError(f'line 1: this is no trace: "format" is not "{FORMAT}"')
    if header.get("version") != VERSION:
        raise TraceError(f"line 1: format version {header.get('version')!r} is not known here")
    for field, kind in _HEADER_TYPES.items():
        if type(header.get(field)) is not kind:
            raise TraceError(f'line 1: "{field}" must be a {_WORDS[kind]}')
    if not 1 <= header["first"] <= header["last"] + 1:
        raise TraceError('line 1: "first" and "last" do not fit')
    return header


def check(header: dict[str, Any], lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of the records, each checked. Raises TraceError at the first bad one."""
    seq, t = header["first"] - 1, 0
    for number, line in enumerate(lines, 2):
        record = _object(line, number)
        seq += 1
        if record.get("seq") != seq:
            raise TraceError(f'line {number}: "seq" is {record.get("seq")!r}, not {seq}')
        t = _check_record(record, number, t)
        yield line
    if seq != header["last"]:
        raise TraceError(f"the file ends at record {seq}, the header promises {header['last']}")


def _check_record(record: dict[str, Any], number: int, t: int) -> int:
    kind = record.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise TraceError(f"line {number}: unknown kind of record {kind!r}")
    for field in KINDS[kind]:
        if field not in record:
            raise TraceError(f'line {number}: a {kind} record needs "{field}"')
    now, span = record.get("t"), record.get("span")
    if type(now) is not int or now < t:
        raise TraceError(f'line {number}: "t" must be a number that does not go back')
    if type(span) is not int or not 0 <= span <= record["seq"]:
        raise TraceError(f'line {number}: "span" must be the seq of an earlier record, or 0')
    return now


_WORDS = {str: "text", int: "number"}


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise TraceError(f"line {number}: no JSON: {error}") from error
    if not isinstance(value, dict):
        raise TraceError(f"line {number}: no JSON object")
    return value


def _lines(upload: BinaryIO) -> Iterator[bytes]:
    """Lines of a file that may be compressed."""
    magic = upload.read(2)
    upload.seek(0)
    file: Any = gzip.GzipFile(fileobj=upload) if magic == b"\x1f\x8b" else upload
    number = 0
    while True:
        number += 1
        try:
            line = file.readline(LINE_BYTES_MAX)
        except (OSError, EOFError, zlib.error) as error:
            raise TraceError(f"line {number}: the file is damaged: {error}") from error
        if len(line) >= LINE_BYTES_MAX:
            raise TraceError(f"line {number}: longer than {LINE_BYTES_MAX} bytes")
        if not line:
            return
        if line.strip():
            yield line.strip()


def _pieces(read: ReadRecords, first: int, last: int) -> Iterator[bytes]:
    while first <= last:
        data, end = read(first, min(last, first + PIECE_RECORDS - 1))
        if not data:
            raise TraceError(f"the records from {first} on are no longer in the store")
        yield from (bytes(raw) for raw in _raws.decode(b"[" + data + b"]"))
        first = end + 1


def _member(lines: list[bytes]) -> bytes:
    """One gzip member, the same bytes for the same lines."""
    return gzip.compress(b"\n".join(lines) + b"\n", mtime=0)
