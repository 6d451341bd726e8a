"""Bookmarks: moments of a trace that somebody gave a title.

Those of a saved trace stand in its header and so go where the file goes. Those of the cluster that
runs are in DIR/bookmarks.json until its trace is saved; with another epoch the cluster began anew,
and they are of no moment any more. A fork takes those of before its moment along, and the worker
has them while it is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import orjson

BOOKMARKS_MAX, TITLE_CHARACTERS_MAX = 100, 80
FILE = "bookmarks.json"


class Bookmark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record, its virtual time, and what its owner calls it."""

    seq: int
    t: int
    title: str


def check(value: object, last: int) -> list[dict[str, Any]]:
    """The bookmarks in order of their records. Raises ValueError with what is wrong."""
    try:
        bookmarks = msgspec.convert(value, list[Bookmark])
    except msgspec.ValidationError as error:
        raise ValueError(f'"bookmarks": {error}') from error
    if len(bookmarks) > BOOKMARKS_MAX:
        raise ValueError(f'"bookmarks": at most {BOOKMARKS_MAX}')
    if len({bookmark.seq for bookmark in bookmarks}) < len(bookmarks):
        raise ValueError('"bookmarks": one record has two')
    for bookmark in bookmarks:
        if not 1 <= bookmark.seq <= last or bookmark.t < 0:
            raise ValueError(f'"bookmarks": there is no record {bookmark.seq}')
        if not 1 <= len(bookmark.title) <= TITLE_CHARACTERS_MAX:
            raise ValueError(f'"bookmarks": a title has 1 to {TITLE_CHARACTERS_MAX} characters')
    return [
        msgspec.to_builtins(bookmark)
        for bookmark in sorted(bookmarks, key=lambda bookmark: bookmark.seq)
    ]


def read(data_dir: Path, epoch: int) -> list[dict[str, Any]]:
    """Those of the cluster that runs."""
    try:
        kept = orjson.loads((data_dir / FILE).read_bytes())
    except FileNotFoundError:
        return []
    return list(kept["bookmarks"]) if kept["epoch"] == epoch else []


def write(data_dir: Path, epoch: int, bookmarks: list[dict[str, Any]]) -> None:
    """Instead of those that were there: all or nothing."""
    waiting = data_dir / f".{FILE}.part"
    try:
        waiting.write_bytes(orjson.dumps({"epoch": epoch, "bookmarks": bookmarks}))
        waiting.replace(data_dir / FILE)
    finally:
        waiting.unlink(missing_ok=True)
