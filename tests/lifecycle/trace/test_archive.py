"""Saved traces: what is kept is what was told, and what is imported is checked line by line."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lifecycle.trace import archive, reading
from lifecycle.trace.archive import Archive
from lifecycle.trace.reading import TraceError

HEADER = {"cluster": "demo", "epoch": "2025-01-01T00:00:00.000000Z", "kubernetes": "1.33"}


def record(seq: int, **changes: Any) -> dict[str, Any]:
    return {
        "seq": seq,
        "t": seq * 10,
        "kind": "clock",
        "span": 0,
        "mode": "run",
        "speed": 1,
        **changes,
    }


def header(first: int, last: int) -> dict[str, Any]:
    return {**HEADER, "first": first, "last": last}


def read(first: int, last: int) -> tuple[bytes, int]:
    """A store that gives at most 700 records at once."""
    last = min(last, first + 699)
    return b",".join(json.dumps(record(seq)).encode() for seq in range(first, last + 1)), last


def upload(*lines: Any, packed: bool = True) -> io.BytesIO:
    data = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
    return io.BytesIO(gzip.compress(data) if packed else data)


def full(first: int, last: int) -> dict[str, Any]:
    return {"format": "lifecycle-trace", "version": 1, **header(first, last)}


def test_saved_file_is_plain_gzip_with_a_header_and_all_records(tmp_path: Path) -> None:
    saved = Archive(tmp_path).save("My class!", header(1, 2500), read)
    assert saved.id == "my-class"
    lines = gzip.decompress(Archive(tmp_path).file("my-class").read_bytes()).splitlines()
    assert json.loads(lines[0]) == {
        "format": "lifecycle-trace",
        "version": 1,
        "name": "My class!",
        **header(1, 2500),
    }
    assert [json.loads(line)["seq"] for line in lines[1:]] == list(range(1, 2501))


def test_equal_traces_are_equal_files(tmp_path: Path) -> None:
    first = Archive(tmp_path / "a").save("x", header(1, 1500), read)
    again = Archive(tmp_path / "b").save("x", header(1, 1500), read)
    files = [Archive(tmp_path / "a").file(first.id), Archive(tmp_path / "b").file(again.id)]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(("first", "limit"), [(1, 3), (999, 4), (1001, 1), (2400, 500), (2501, 9)])
def test_records_are_found_from_any_seq(tmp_path: Path, first: int, limit: int) -> None:
    kept = Archive(tmp_path)
    kept.save("x", header(1, 2500), read)
    records, last = kept.records("x", first, limit)
    wanted = list(range(first, min(first + limit, 2501)))
    assert [one["seq"] for one in json.loads(b"[" + records + b"]")] == wanted
    assert last == (wanted[-1] if wanted else first - 1)


def test_names_that_are_taken_get_a_number(tmp_path: Path) -> None:
    kept = Archive(tmp_path)
    ids = [kept.save(name, header(1, 1), read).id for name in ("a", "a", "A", "..", "")]
    assert ids == ["a", "a-2", "a-3", "trace", "trace-2"]
    assert [saved.id for saved in kept.all()] == sorted(ids)
    kept.remove("a-2")
    with pytest.raises(TraceError, match='there is no trace "a-2"'):
        kept.get("a-2")


@pytest.mark.parametrize("trace", ["../pki/ca", "", ".", "A", "a/b", "a\0"])
def test_an_id_cannot_lead_elsewhere(tmp_path: Path, trace: str) -> None:
    with pytest.raises(TraceError):
        Archive(tmp_path).file(trace)


@pytest.mark.parametrize("packed", [True, False])
def test_a_good_file_is_imported_and_can_be_read(tmp_path: Path, packed: bool) -> None:
    lines = [full(5, 1504), *(record(seq) for seq in range(5, 1505))]
    saved = Archive(tmp_path).take("", upload(*lines, packed=packed))
    assert (saved.id, saved.header["first"], saved.header["last"]) == ("trace", 5, 1504)
    records, _ = Archive(tmp_path).records(saved.id, 1500, 10)
    assert [one["seq"] for one in json.loads(b"[" + records + b"]")] == list(range(1500, 1505))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "line 1: no JSON"),
        (["text"], "line 1: no JSON object"),
        ([{"format": "other"}], "line 1: this is no trace"),
        ([{**full(1, 1), "version": 9}], "line 1: format version 9 is not known"),
        ([{**full(1, 1), "epoch": 5}], 'line 1: "epoch" must be a text'),
        ([{**full(1, 1), "last": "1"}], 'line 1: "last" must be a number'),
        ([full(1, 2), record(1), record(3)], 'line 3: "seq" is 3, not 2'),
        ([full(1, 2)], "line 2: the file ends before record 1"),
        ([{**full(1, 1), "cut": "2"}], 'line 1: "cut" must be a number'),
        ([full(1, 1), record(1), record(2)], "ends at record 2, the header promises 1"),
        ([full(1, 1), record(1, kind="magic")], "line 2: unknown kind of record 'magic'"),
        ([full(1, 1), record(1, kind=[])], r"line 2: unknown kind of record \[\]"),
        ([full(1, 1), {"seq": 1, "t": 1, "kind": "clock", "span": 0}], 'clock record needs "mode"'),
        ([full(1, 2), record(1), record(2, t=3)], 'line 3: "t" must be a number'),
        ([full(1, 1), record(1, span=2)], 'line 2: "span" must be the seq of an earlier record'),
    ],
)
def test_a_bad_file_is_refused_by_line_and_leaves_nothing(
    tmp_path: Path, lines: list[Any], why: str
) -> None:
    with pytest.raises(TraceError, match=why):
        Archive(tmp_path).take("x", upload(*lines))
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == []


def test_a_damaged_file_is_refused_by_line(tmp_path: Path) -> None:
    data = bytearray(upload(full(1, 900), *(record(seq) for seq in range(1, 901))).getvalue())
    data[10] = 0xFF  # the first block's head
    with pytest.raises(TraceError, match="line 1: the file is damaged"):
        Archive(tmp_path).take("x", io.BytesIO(data))


@pytest.mark.parametrize("packed", [True, False])
def test_a_file_that_was_cut_anywhere_is_kept_up_to_there(tmp_path: Path, packed: bool) -> None:
    marks = [{"seq": seq, "t": seq * 10, "title": "here"} for seq in (2, 4)]
    lines = [{**full(1, 4), "bookmarks": marks}, *(record(seq) for seq in range(1, 5))]
    data = upload(*lines, packed=packed).getvalue()
    kept = Archive(tmp_path)
    lasts = set()
    for size in range(len(data)):
        try:
            saved = kept.take("x", io.BytesIO(data[:size]))
        except TraceError as error:
            assert str(error).startswith(("line 1: ", "line 2: the file ends before"))
            continue
        records, last = kept.records(saved.id, 1, 100)
        assert len(json.loads(b"[" + records + b"]")) == last == saved.header["last"]
        assert saved.header.get("cut", last) == 4
        left = [one["seq"] for one in saved.header["bookmarks"]]
        assert left == [seq for seq in (2, 4) if seq <= last]
        with kept.file(saved.id).open("rb") as file:
            assert not kept.take("again", file).header.keys() ^ saved.header.keys()
        for trace in (saved.id, "again"):
            kept.remove(trace)
        lasts.add(last)
    assert lasts == set(range(1, 5))


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES_MAX", 500)
    with pytest.raises(TraceError, match="line 2: longer than 500 bytes"):
        Archive(tmp_path).take("x", upload(full(1, 1), record(1, mode="x" * 600)))


def test_records_the_store_lost_are_told(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="the records from 1 on are no longer in the store"):
        Archive(tmp_path).save("x", header(1, 5), lambda first, last: (b"", first - 1))


@pytest.mark.parametrize(
    ("bound", "value", "why"),
    [
        ("BYTES_MAX", 2000, "a trace has at most 2000 bytes, unpacked"),
        ("RECORDS_MAX", 30, "a trace has at most 30 records"),
        ("HEADER_BYTES_MAX", 50, "line 1: a header has at most 50 bytes"),
    ],
)
def test_what_is_imported_has_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, why: str
) -> None:
    monkeypatch.setattr(reading, bound, value)
    with pytest.raises(TraceError, match=why):
        Archive(tmp_path).take("x", upload(full(1, 50), *(record(seq) for seq in range(1, 51))))
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == []


@pytest.mark.parametrize(
    ("bound", "value", "why"),
    [
        ("FILE_BYTES_MAX", 500, "the file of a trace has at most 500 bytes"),
        ("TRACES_MAX", 1, "there are at most 1 saved traces: remove one first"),
        ("LIBRARY_BYTES_MAX", 1, "there are at most 1 bytes of saved traces: remove one first"),
    ],
)
def test_what_is_kept_has_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, why: str
) -> None:
    Archive(tmp_path).save("first", header(1, 1), read)
    monkeypatch.setattr(archive, bound, value)
    with pytest.raises(TraceError, match=why):
        Archive(tmp_path).save("second", header(1, 2000), read)
    assert [saved.id for saved in Archive(tmp_path).all()] == ["first"]
    assert len(list((tmp_path / "traces").iterdir())) == 2


def test_members_and_answers_of_long_records_stay_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MEMBER_BYTES", 1000)
    monkeypatch.setattr(archive, "ANSWER_BYTES", 500)
    kept = Archive(tmp_path)
    kept.take("x", upload(full(1, 90), *(record(seq, mode="x" * 300) for seq in range(1, 91))))
    index = json.loads((tmp_path / "traces" / "x.index").read_bytes())
    assert len(index) > 20
    records, last = kept.records("x", 50, 40)
    assert [one["seq"] for one in json.loads(b"[" + records + b"]")] == [50, 51] and last == 51


@pytest.mark.parametrize("cut", [2, 3, 7, 64])
def test_a_file_is_read_alike_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    monkeypatch.setattr(reading, "PIECE_BYTES", cut)
    lines = [full(1, 40), *(record(seq) for seq in range(1, 41))]
    parts = [upload(*lines[:20]).getvalue(), upload(*lines[20:]).getvalue()]
    for name, data in (("a", b"".join(parts)), ("b", upload(*lines, packed=False).getvalue())):
        assert Archive(tmp_path).take(name, io.BytesIO(data)).header["last"] == 40


def test_a_trace_that_the_disk_does_not_hold_is_refused_in_words_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: Any) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(archive, "write_members", full_disk)
    with pytest.raises(TraceError, match=r"^the trace cannot be kept: No space left on device$"):
        Archive(tmp_path).save("full", header(1, 10), read)
    assert list((tmp_path / "traces").iterdir()) == []


# -- bookmarks ----------------------------------------------------------------------------------


def bookmark(seq: int, title: str = "here") -> dict[str, Any]:
    return {"seq": seq, "t": seq * 10, "title": title}


def test_bookmarks_are_in_the_file_and_every_record_is_found_as_before(tmp_path: Path) -> None:
    kept = Archive(tmp_path)
    kept.save("x", header(1, 2500), read)
    for marks in ([bookmark(7, "节点")], [bookmark(n, "long " * 16) for n in range(1, 101)], []):
        kept.mark("x", marks)
        assert kept.get("x").header["bookmarks"] == marks
        lines = gzip.decompress(kept.file("x").read_bytes()).splitlines()
        assert json.loads(lines[0])["bookmarks"] == marks
        assert [json.loads(line)["seq"] for line in lines[1:]] == list(range(1, 2501))
        records, last = kept.records("x", 1999, 3)
        assert [one["seq"] for one in json.loads(b"[" + records + b"]")] == [1999, 2000, 2001]
        assert last == 2001
    assert len(list((tmp_path / "traces").iterdir())) == 2


def test_bookmarks_survive_the_way_through_a_file(tmp_path: Path) -> None:
    kept = Archive(tmp_path)
    kept.save("x", {**header(1, 30), "bookmarks": [bookmark(3), bookmark(9, "then")]}, read)
    with kept.file("x").open("rb") as file:
        again = kept.take("y", file)
    assert again.header["bookmarks"] == [bookmark(3), bookmark(9, "then")]


def test_a_library_with_places_counted_from_the_start_takes_bookmarks(tmp_path: Path) -> None:
    kept = Archive(tmp_path)
    size = kept.save("x", header(1, 2500), read).size_bytes
    index = tmp_path / "traces" / "x.index"
    places = [(first, at + size) for first, at in json.loads(index.read_bytes())]
    index.write_text(json.dumps(places))
    for _ in range(2):
        kept.mark("x", [bookmark(4)])
        assert json.loads(kept.records("x", 2400, 1)[0])["seq"] == 2400


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ("none", "Expected `array`"),
        ([{"seq": 1, "t": 1}], "missing required field `title`"),
        ([bookmark(1), bookmark(1)], "one record has two"),
        ([bookmark(31)], "there is no record 31"),
        ([bookmark(1, "")], "a title has 1 to 80 characters"),
        ([bookmark(n) for n in range(1, 102)], "at most 100"),
    ],
)
def test_bad_bookmarks_are_refused_with_the_line(tmp_path: Path, marks: Any, why: str) -> None:
    lines = [{**full(1, 30 + 100 * (len(marks) > 100)), "bookmarks": marks}, record(1)]
    with pytest.raises(TraceError, match=f"line 1: .*{why}"):
        Archive(tmp_path).take("x", upload(*lines))
