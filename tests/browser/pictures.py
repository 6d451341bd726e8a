"""Small pictures of the page, and how far two of them differ.

A picture has a tenth of the width and height of what it shows, and sixteen levels of each colour:
enough to see a panel that is missing, moved or covered, another theme or another language, and too
little to see how a font is drawn. Pictures of one moment stand in one PNG, tile beside tile.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import CDPSession

SCALE = 0.1
LEVELS = bytes(round(one / 17) * 17 for one in range(256))
# A font that is drawn otherwise, as by the next Chromium, makes cells lighter or darker by less
# and moves them by less; a picture as a whole stays as light as it was. Tried with other hinting,
# bolder strokes and wider letters: of 1,000 cells one at most, where no line breaks.
FAR, REACH, TINT = 3 * 17, 1, 2.5
SIGNATURE = b"\x89PNG\r\n\x1a\n"
GAP = 2  # between tiles
HOW = {"optimizeForSpeed": True}


@dataclass(frozen=True)
class Picture:
    """Rows of cells, three bytes each: red, green and blue."""

    width: int
    rows: tuple[bytes, ...]

    @property
    def size(self) -> tuple[int, int]:
        return self.width, len(self.rows)


def take(wire: CDPSession, width: int, height: int) -> Picture:
    """What the window shows now, in small."""
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": SCALE}
    shot = wire.send("Page.captureScreenshot", {"format": "png", "clip": clip, **HOW})
    taken = decode(base64.b64decode(shot["data"]))
    return Picture(taken.width, tuple(row.translate(LEVELS) for row in taken.rows))


def differing(one: Picture, other: Picture) -> int:
    """How many cells of either are nowhere near in the other; all, if there are more or fewer, or
    if one is lighter, or more of a colour, as a whole."""
    cells = max(width * height for width, height in (one.size, other.size))
    if one == other:
        return 0
    if one.size != other.size or _tint(one, other) > TINT:
        return cells
    return _missing(one, other) + _missing(other, one)


def joined(tiles: Sequence[Sequence[Picture]]) -> Picture:
    """Tiles of one size beside and below each other."""
    width, height = tiles[0][0].size
    gap = bytes(3 * GAP)
    rows: list[bytes] = []
    for line in tiles:
        rows += [gap.join(tile.rows[y] for tile in line) for y in range(height)]
        rows += [bytes(len(rows[0]))] * GAP
    columns = len(tiles[0])
    return Picture(columns * width + (columns - 1) * GAP, tuple(rows[:-GAP]))


def parted(sheet: Picture, size: tuple[int, int], columns: int, lines: int) -> list[list[Picture]]:
    """The tiles of a sheet again, as far as it has them."""
    width, height = size
    right, down = width + GAP, height + GAP

    def tile(x: int, y: int) -> Picture:
        rows = sheet.rows[y * down : y * down + height]
        cut = slice(3 * x * right, 3 * (x * right + width))
        return Picture(width, tuple(row[cut] for row in rows))

    return [[tile(x, y) for x in range(columns)] for y in range(lines)]


def read(file: Path) -> Picture:
    return decode(file.read_bytes())


def write(file: Path, picture: Picture) -> None:
    head = struct.pack(">IIBBBBB", picture.width, len(picture.rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in picture.rows), 9)
    chunks = [_chunk(b"IHDR", head), _chunk(b"IDAT", data), _chunk(b"IEND", b"")]
    file.write_bytes(SIGNATURE + b"".join(chunks))


def decode(png: bytes) -> Picture:
    """Of a PNG of eight bits a colour, with or without transparency, that is not interlaced."""
    assert png.startswith(SIGNATURE)
    packed, at = b"", len(SIGNATURE)
    width = height = cell = 0
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", data)
            assert (depth, interlaced) == (8, 0) and colours in (2, 6)
            cell = 3 if colours == 2 else 4
        packed += data if kind == b"IDAT" else b""
        at += length + 12
    raw, line = zlib.decompress(packed), width * cell + 1
    rows, above = [], bytes(width * cell)
    for y in range(height):
        above = _unfiltered(raw[y * line], raw[y * line + 1 : (y + 1) * line], above, cell)
        rows.append(bytes(one for at, one in enumerate(above) if at % cell < 3))
    return Picture(width, tuple(rows))


def _unfiltered(way: int, line: bytes, above: bytes, cell: int) -> bytes:
    """A row as it was before it was filtered, by the five ways of PNG (RFC 2083, section 6)."""
    row = bytearray(cell) + line  # nothing is left of the first
    if way == 1:
        for at in range(cell, len(row)):
            row[at] = (row[at] + row[at - cell]) & 255
    elif way == 2:
        row[cell:] = bytes((one + up) & 255 for one, up in zip(line, above, strict=True))
    elif way:
        corners = bytes(cell) + above
        for at in range(cell, len(row)):
            left, up, corner = row[at - cell], corners[at], corners[at - cell]
            guess = (left + up) // 2 if way == 3 else _nearest(left, up, corner)
            row[at] = (row[at] + guess) & 255
    return bytes(row[cell:])


def _nearest(left: int, up: int, corner: int) -> int:
    by_left, by_up, by_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner


def _missing(one: Picture, other: Picture) -> int:
    return sum(
        not _has(other, x, y, row[3 * x : 3 * x + 3])
        for y, row in enumerate(one.rows)
        if row != other.rows[y]
        for x in range(one.width)
    )


def _has(picture: Picture, x: int, y: int, cell: bytes) -> bool:
    """Whether there is such a cell at that place or beside it."""
    left, right = 3 * max(0, x - REACH), 3 * (x + REACH + 1)
    return any(
        all(abs(a - b) <= FAR for a, b in zip(cell, row[at : at + 3], strict=True))
        for row in picture.rows[max(0, y - REACH) : y + REACH + 1]
        for at in range(left, min(right, len(row)), 3)
    )


def _tint(one: Picture, other: Picture) -> float:
    """How far the mean of the colour that differs most is from the other's."""
    return max(
        abs(
            sum(sum(row[colour::3]) for row in one.rows)
            - sum(sum(row[colour::3]) for row in other.rows)
        )
        for colour in range(3)
    ) / (one.width * len(one.rows))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
