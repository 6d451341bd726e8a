"""sed, in its commands s, d, p and q with their addresses.

Models busybox editors/sed.c.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.interpreter import Call


async def sed(call: Call) -> int:
    flags, args = options(call, "nrEi", "e")
    script = flags.get("e") or (args.pop(0) if args else "")
    said = re.split(r"[;\n](?![^/]*/[gip]*$)", script)
    steps = [_sed_step(one.strip(), flags) for one in said if one.strip()]
    found, code = await filters.inputs(call, args)
    for path, data in found:
        out: list[str] = []
        rows = filters.lines(data)
        for number, line in enumerate(rows, 1):
            out.extend(_edited(line, number, number == len(rows), steps, flags))
        result = "".join(f"{one}\n" for one in out)
        if "i" in flags and path:
            encoded = result.encode("utf-8", "surrogateescape")
            call.machine.files.write(call.path(path), encoded, call.runner.now)
        else:
            call.out(result)
    return code


_Step = tuple[str, str, re.Pattern[str] | None, str, str]


def _sed_step(text: str, flags: dict[str, str]) -> _Step:
    """(address, command, pattern, replacement, flags) of s, d, p and q."""
    extended = "r" in flags or "E" in flags
    found = re.match(r"(\d+|\$|\d+,(?:\d+|\$)|/(?:[^/\\]|\\.)*/)?\s*([sdpq])(.*)", text, re.DOTALL)
    if found is None:
        raise CommandError(f"sed: unsupported command {text[:20]}", 1)
    address, command, rest = found[1] or "", found[2], found[3]
    if command != "s":
        return address, command, None, "", ""
    mark = rest[:1]
    parts = re.split(rf"(?<!\\){re.escape(mark)}", rest[1:]) if mark else []
    if len(parts) != 3:
        raise CommandError("sed: bad option in substitution expression", 1)
    pattern = filters.compiled(
        filters.regex(parts[0].replace("\\" + mark, mark), extended=extended),
        re.IGNORECASE if "i" in parts[2].lower() else 0,
    )
    return address, command, pattern, parts[1].replace("\\" + mark, mark), parts[2]


def _edited(
    line: str, number: int, last: bool, steps: list[_Step], flags: dict[str, str]
) -> Iterator[str]:
    for address, command, pattern, replacement, said in steps:
        if not _addressed(address, line, number, last):
            continue
        if command == "d":
            return
        if command == "p":
            yield line
        elif command == "s" and pattern is not None:
            put = functools.partial(_replaced, replacement)
            new = pattern.sub(put, line, 0 if "g" in said else 1)
            changed, line = new != line, new[:65536]
            if changed and "p" in said:
                yield line
    if "n" not in flags:
        yield line


def _replaced(replacement: str, found: re.Match[str]) -> str:
    def one(escape: re.Match[str]) -> str:
        text = escape[0]
        if text == "&":
            return found[0]
        if text[1].isdigit():
            group = int(text[1])
            return (found[group] or "") if group <= (found.re.groups) else ""
        return filters.ESCAPES.get(text[1], text[1])

    return re.sub(r"&|\\.", one, replacement)


def _addressed(address: str, line: str, number: int, last: bool) -> bool:
    if not address:
        return True
    if address == "$":
        return last
    if address.startswith("/"):
        return (
            filters.compiled(filters.regex(address[1:-1], extended=False)).search(line[:8192])
            is not None
        )
    first, comma, end = address.partition(",")
    if not comma:
        return number == int(first[:9])
    return int(first[:9]) <= number and (end == "$" or number <= int(end[:9]))
