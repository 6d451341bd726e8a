"""Uploaded traces cost what their bounds say, however small the file is.

The edge's resident memory is measured while it reads files made to swell.
"""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifecycle.trace import reading
from tests.lifecycle.hosting.running import Demo, Peak
from tests.lifecycle.trace.test_archive import full, record

# a line as objects is some times as much as its text
GROWTH_MAX = 8 * reading.LINE_BYTES_MAX
MIB = 1 << 20


def packed(pieces: Iterable[bytes]) -> bytes:
    made = zlib.compressobj(1, wbits=31)
    return b"".join(made.compress(piece) for piece in pieces) + made.flush()


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def long_lines(count: int, size: int) -> Iterator[bytes]:
    """Good records, each with a text that compresses well."""
    yield line(full(1, count))
    text = "x" * size
    for seq in range(1, count + 1):
        yield line(record(seq, mode=text))


def lists(size: int) -> Iterator[bytes]:
    """A record that is small as text and large as objects."""
    yield line(full(1, 1))
    yield line(record(1))[:-2] + b', "more": [' + b"[],{}," * (size // 6) + b"1]}\n"


def empty_lines(count: int) -> Iterator[bytes]:
    yield line(full(1, 1))
    yield from itertools.repeat(b"\n" * MIB, count // MIB)


# how many GETs are answered at least while a file that takes long is read
READS_MEANWHILE = {"long lines": 20, "empty lines": 5}
# what is uploaded, and why it is refused; nothing is wrong with a record that holds many lists
BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "long lines": (lambda: packed(long_lines(180, 3 * MIB)), "at most 536870912 bytes, unpacked"),
    "one line": (
        lambda: packed([line(full(1, 1)), *[b"x" * MIB] * 100]),
        "line 2: longer than 8388608",
    ),
    "lists": (lambda: packed(lists(7 * MIB)), ""),
    "a header": (
        lambda: packed([line({**full(1, 1), "more": "x" * 7 * MIB})]),
        "line 1: a header has at",
    ),
    "nested": (
        lambda: packed([line(full(1, 1)), line(record(1))[:-2] + b', "x": ' + b"[" * 1_000_000]),
        "line 2: nested too deeply",
    ),
    "empty lines": (lambda: packed(empty_lines(50 * MIB)), "a trace has at most 2000000 records"),
    "members": (
        lambda: gzip.compress(line(full(1, 1))) + gzip.compress(b"") * 200_000,
        "at most 10000 members of gzip",
    ),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("demo") / "data") as running:
        yield running


class Reader(threading.Thread):
    """Asks for something small so many times, and counts the answers until it is over."""

    def __init__(self, demo: Demo, reads: int) -> None:
        super().__init__()
        self.demo, self.reads, self.over = demo, reads, threading.Event()
        self.answered = 0

    def run(self) -> None:
        while self.answered < self.reads and not self.over.is_set():
            self.demo.get("/version").read()
            self.answered += 1


WHOLE = pytest.mark.long("empty lines are read as long; test_archive refuses too many bytes")
NAMES = [pytest.param(name, marks=WHOLE if name == "long lines" else ()) for name in BOMBS]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_made_to_swell_is_refused_within_its_bounds(demo: Demo, name: str) -> None:
    made, refused = BOMBS[name]
    data = made()
    upload(demo, packed(long_lines(3, 10)))  # whatever is loaded for the first one
    reads = READS_MEANWHILE.get(name, 0)
    peak, reader = Peak(demo.endpoints["pid"]), Reader(demo, reads)
    reader.start()
    try:
        status, answer = upload(demo, data)
    finally:
        reader.over.set()
        reader.join()
    assert status == (400 if refused else 201) and refused in answer.get("detail", "")
    assert peak.growth() < GROWTH_MAX
    assert reader.answered == reads


def upload(demo: Demo, data: bytes) -> tuple[int, dict[str, Any]]:
    answer = demo.ask("POST", "/viz/v1/traces/import", data)
    return answer.status, json.loads(answer.read())


def test_many_uploads_at_once_are_told_to_come_back(demo: Demo, tmp_path: Path) -> None:
    """Each may lie on the disk with all of its bytes, so only some may come at a time."""
    connections = [demo.connect() for _ in range(8)]
    for connection in connections:
        connection.putrequest("POST", "/viz/v1/traces/import")
        connection.putheader("Content-Length", str(MIB))
        connection.putheader("Authorization", demo.credential["Authorization"])
        connection.endheaders()
        connection.send(b"x" * 10)
    late = connections[-1].getresponse()
    assert late.status == 429 and late.headers["Retry-After"]
    assert "uploads" in json.loads(late.read())["message"]
    for connection in connections:
        connection.close()
