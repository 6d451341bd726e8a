"""tr and cut.

Models busybox coreutils/{tr,cut}.c in the options one commonly types.
"""

from __future__ import annotations

import re

from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.expansion import LETTERS
from controllers_app.shell.interpreter import Call

LETTERS_MAX = 4096  # that tr is given
RANGES_MAX = 256
_REPEATED = re.compile(r"(.)\1+", re.DOTALL)


class _Table(dict[int, str | int | None]):
    """What becomes of a letter; `others` of one that is not named."""

    def __init__(self, known: dict[int, str | int | None], *others: str | None) -> None:
        super().__init__(known)
        self._others = others

    def __missing__(self, letter: int) -> str | int | None:
        return self._others[0] if self._others else letter


async def tr(call: Call) -> int:
    flags, args = options(call, "dsc")
    if not args:
        raise CommandError("tr: missing operand", 1)
    if max(map(len, args)) > LETTERS_MAX:
        raise CommandError("tr: argument too long", 1)
    table = _table(flags, args)
    squeezed = frozenset(_chars(args[-1])) if "s" in flags else frozenset()
    before = ""
    while data := await call.io.stdin.line():
        await call.work(2 + len(data) // LETTERS * 4)
        text = data.decode("utf-8", "surrogateescape").translate(table)
        if squeezed and text:
            text = _REPEATED.sub(lambda f: f[1] if f[1] in squeezed else f[0], text)
            last = text[-1]
            if before in squeezed and text[0] == before:
                text = text[1:]
            before = last
        call.out(text)
    return 0


def _table(flags: dict[str, str], args: list[str]) -> _Table:
    first = _chars(args[0])
    same: dict[int, str | int | None] = {ord(letter): letter for letter in first}
    if "d" in flags:
        return _Table(same, None) if "c" in flags else _Table(dict.fromkeys(same))
    if len(args) < 2:
        return _Table({})
    second = _chars(args[1]) or " "
    if "c" in flags:
        return _Table(same, second[-1])
    places: dict[int, str | int | None] = {}
    for place, cell in enumerate(first):
        places[ord(cell)] = second[min(place, len(second) - 1)]
    return _Table(places)


def _chars(text: str) -> str:
    names = {
        "[:upper:]": "A-Z",
        "[:lower:]": "a-z",
        "[:digit:]": "0-9",
        "[:space:]": " \t\n\r",
        "[:alpha:]": "A-Za-z",
        "[:alnum:]": "A-Za-z0-9",
    }
    for name, names_of in names.items():
        text = text.replace(name, names_of)
    text = filters.unescaped(text)
    return re.sub(
        r"([a-z])-([a-z])|([A-Z])-([A-Z])|(\d)-(\d)",
        lambda f: "".join(map(chr, range(ord(f[0][0]), ord(f[0][2]) + 1))),
        text,
    )


async def cut(call: Call) -> int:
    flags, paths = options(call, "sn", "dfcb")
    listed = flags.get("f") or flags.get("c") or flags.get("b") or ""
    ranges = _ranges(listed)
    mark = flags.get("d", "\t") or "\t"
    files, code = await filters.inputs(call, paths)
    for _name, data in files:
        async for batch in filters.batches(call, data):
            if "f" in flags:
                rows = [
                    mark.join(_taken(line.split(mark), ranges)) if mark in line else line
                    for line in batch
                ]
            else:
                rows = ["".join(_taken(line, ranges)) for line in batch]
            await filters.put(call, rows, 1 + len(ranges) // 4)
    return code


def _ranges(text: str) -> list[tuple[int, int | None]]:
    """(before the first, the last) of what is wanted, in order, none of it twice."""
    parts = [re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", part) for part in text.split(",")[:RANGES_MAX]]
    if not text or not all(parts):
        raise CommandError("cut: expected a list of bytes, characters, or fields", 1)
    ranges = []
    for part in parts:
        assert part is not None
        low = int(part[1] or 1)
        ranges.append((low - 1, int(part[3]) if part[3] else None if part[2] else low))
    out: list[tuple[int, int | None]] = []
    end: int | None = 0
    for start, last in sorted(ranges, key=lambda columns: columns[0]):
        if end is None:
            break
        if last is None or last > end:
            out.append((max(start, end), last))
            end = last
    return out


def _taken(parts: list[str] | str, ranges: list[tuple[int, int | None]]) -> list[str]:
    out: list[str] = []
    for start, end in ranges:
        if start >= len(parts):
            break
        out += parts[start:end]
    return out
