"""Reads trace files that nobody has checked: line by line, each judged before the next is read.

Everything that a file can be large in has a bound, and what a record holds is looked at where it
stands: it is not made into objects.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
import orjson

from apiserver_app.machinery.probe import KINDS
from lifecycle.trace import bookmarks

FORMAT, VERSION = "lifecycle-trace", 1
BYTES_MAX = 512 << 20  # unpacked
RECORDS_MAX = 2_000_000
MEMBERS_MAX = 10_000  # of gzip
HEADER_BYTES_MAX, LINE_BYTES_MAX = 64 << 10, 8 << 20
PIECE_BYTES = 64 << 10  # read and unpacked at once
_SMALL_BYTES = 64  # of a field that is looked at
_HEADER_TYPES: dict[str, type] = {
    "cluster": str,
    "epoch": str,
    "kubernetes": str,
    "first": int,
    "last": int,
}
_WORDS = {str: "text", int: "number"}
_GZIP = b"\x1f\x8b"


class TraceError(Exception):
    """The trace cannot be read or kept; the text names the line where there is one."""


class _Record(msgspec.Struct):
    kind: msgspec.Raw = msgspec.Raw(b"null")
    seq: msgspec.Raw = msgspec.Raw(b"null")
    t: msgspec.Raw = msgspec.Raw(b"null")
    span: msgspec.Raw = msgspec.Raw(b"null")


_record = msgspec.json.Decoder(_Record)
# by kind; a field that is not there is None
_fields = {
    kind: msgspec.json.Decoder(
        msgspec.defstruct(kind, [(name, msgspec.Raw, None) for name in names])
    )
    for kind, names in KINDS.items()
}


class Checked:
    """A trace file whose records are checked as they are read. Raises TraceError.

    One that was cut is read up to there; `changes` is then what its header must say instead.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._lines = lines(file)
        self.header = check_header(next(self._lines, (1, b"", True))[1])
        self.changes: dict[str, Any] = {}

    def __iter__(self) -> Iterator[bytes]:
        first, last = self.header["first"], self.header["last"]
        seq, t = first - 1, 0
        for number, line, is_ended in self._lines:
            if not is_ended and seq < last and _is_cut(line):
                break
            seq += 1
            t = _check_line(line, number, seq, t)
            yield line
        if seq < first <= last:
            raise TraceError(f"line 2: the file ends before record {first}")
        if seq > last:
            raise TraceError(f"the file ends at record {seq}, the header promises {last}")
        if seq < last:
            self.changes = _cut(self.header, seq)


def _cut(header: dict[str, Any], seq: int) -> dict[str, Any]:
    """What a header says of a file that was cut behind a record."""
    changes = {"last": seq, "cut": max(header["last"], header.get("cut", 0))}
    if "bookmarks" in header:
        changes["bookmarks"] = [
            bookmark for bookmark in header["bookmarks"] if bookmark["seq"] <= seq
        ]
    return changes


def lines(file: BinaryIO) -> Iterator[tuple[int, bytes, bool]]:
    """Lines of a file that may be compressed, with their numbers; blank ones are left out."""
    number, size, begun = 1, 0, 0
    waiting: list[bytes] = []
    pieces = _pieces(file)
    while piece := _unpacked(pieces, number):
        size += len(piece)
        if size > BYTES_MAX:
            raise TraceError(f"a trace has at most {BYTES_MAX} bytes, unpacked")
        *ended, rest = piece.split(b"\n")
        for part in ended:
            waiting.append(part)
            yield from _line(number, waiting, True)
            waiting, begun, number = [], 0, number + 1
            if number > RECORDS_MAX + 1:
                raise TraceError(f"a trace has at most {RECORDS_MAX} records, each in a line")
        waiting.append(rest)
        begun += len(rest)
        if begun > LINE_BYTES_MAX:
            raise _too_long(number)
    yield from _line(number, waiting, False)


def check_header(line: bytes) -> dict[str, Any]:
    """The header of a trace file. Raises TraceError with what is wrong."""
    if len(line) > HEADER_BYTES_MAX:
        raise TraceError(f"line 1: a header has at most {HEADER_BYTES_MAX} bytes")
    try:
        header = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise TraceError(f"line 1: no JSON: {error}") from error
    if not isinstance(header, dict):
        raise TraceError("line 1: no JSON object")
    if header.get("format") != FORMAT:
        raise TraceError(f'line 1: this is no trace: "format" is not "{FORMAT}"')
    if header.get("version") != VERSION:
        raise TraceError(f"line 1: format version {header.get('version')!r} is not known here")
    for field, kind in _HEADER_TYPES.items():
        if type(header.get(field)) is not kind:
            raise TraceError(f'line 1: "{field}" must be a {_WORDS[kind]}')
    for field, value in header.items():
        if isinstance(value, (dict, list)) and field != "bookmarks":
            raise TraceError(f'line 1: "{field}" must be a text or a number')
    if not 1 <= header["first"] <= header["last"] + 1:
        raise TraceError('line 1: "first" and "last" do not fit')
    if "bookmarks" in header:
        try:
            header["bookmarks"] = bookmarks.check(header["bookmarks"], header["last"])
        except ValueError as error:
            raise TraceError(f"line 1: {error}") from error
    if type(header.get("cut", 0)) is not int:
        raise TraceError('line 1: "cut" must be a number')
    return header


def _check_line(line: bytes, number: int, seq: int, t: int) -> int:
    """The time of a record that must be the one of that number. Raises TraceError."""
    record = _decoded(_record, line, number)
    head = _small(record.seq)
    if head != seq:
        raise TraceError(f'line {number}: "seq" is {head!r}, not {seq}')
    return _check_record(record, line, number, seq, t)


def _check_record(record: _Record, line: bytes, number: int, seq: int, t: int) -> int:
    kind = _small(record.kind)
    if not isinstance(kind, str) or kind not in KINDS:
        raise TraceError(f"line {number}: unknown kind of record {kind!r}")
    fields = _decoded(_fields[kind], line, number)
    for field in KINDS[kind]:
        if getattr(fields, field) is None:
            raise TraceError(f'line {number}: a {kind} record needs "{field}"')
    now, span = _small(record.t), _small(record.span)
    if type(now) is not int or now < t:
        raise TraceError(f'line {number}: "t" must be a number that does not go back')
    if type(span) is not int or not 0 <= span <= seq:
        raise TraceError(f'line {number}: "span" must be the seq of an earlier record, or 0')
    return now


def _decoded(decoder: msgspec.json.Decoder[Any], line: bytes, number: int) -> Any:
    try:
        line.decode()
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        raise TraceError(f"line {number}: no JSON object") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"line {number}: no JSON: {error}") from error
    except RecursionError as error:
        raise TraceError(f"line {number}: nested too deeply") from error


def _small(raw: msgspec.Raw) -> Any:
    """The value of a short field, None for a long one."""
    return orjson.loads(bytes(raw)) if len(raw) <= _SMALL_BYTES else None


def _is_cut(line: bytes) -> bool:
    """Whether a line without an end stops in the middle of a record, else sound."""
    try:
        _record.decode(line)
    except (msgspec.ValidationError, RecursionError):
        return False
    except msgspec.DecodeError:
        return True
    return False


def _line(number: int, parts: list[bytes], is_ended: bool) -> Iterator[tuple[int, bytes, bool]]:
    line = b"".join(parts).strip()
    if len(line) > LINE_BYTES_MAX:
        raise _too_long(number)
    if line:
        yield number, line, is_ended


def _too_long(number: int) -> TraceError:
    return TraceError(f"line {number}: longer than {LINE_BYTES_MAX} bytes")


def _unpacked(pieces: Iterator[bytes], number: int) -> bytes:
    """The next bytes, none at the end. Raises TraceError."""
    try:
        return next((piece for piece in pieces if piece), b"")
    except zlib.error as error:
        raise TraceError(f"line {number}: the file is damaged: {error}") from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The file's bytes, unpacked when they are gzip; of one that was cut those before."""
    data = file.read(PIECE_BYTES)
    if not data.startswith(_GZIP):
        while data:
            yield data
            data = file.read(PIECE_BYTES)
        return
    members = 0
    while data:
        members += 1
        if members > MEMBERS_MAX:
            raise TraceError(f"a trace has at most {MEMBERS_MAX} members of gzip")
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            data = data or file.read(PIECE_BYTES)
            piece = unpacker.decompress(data, PIECE_BYTES)
            if not data and not piece and not unpacker.eof:
                return
            data = unpacker.unconsumed_tail
            yield piece
        data = unpacker.unused_data or file.read(PIECE_BYTES)
