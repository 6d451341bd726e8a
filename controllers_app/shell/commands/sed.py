"""sed, in its commands s, d, p and q with their addresses.

Models busybox editors/sed.c.
"""

from __future__ import annotations

import re

import msgspec

from controllers_app.shell import regex
from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.interpreter import Call
from controllers_app.shell.regex import Pattern

LINE_MAX = 65536  # letters of a line that s makes
STEPS_A_TURN = 50
MATCHES_A_TURN = 20
_BETWEEN = re.compile(r"[\s;]*")
_ADDRESS = re.compile(r"(?:(\d{1,9})(?:,(\d{1,9}|\$))?|(\$)|/((?:[^/\\\n]|\\.)*)/)?\s*", re.DOTALL)
_FLAGS = re.compile(r"[gpiI0-9]*")
_END = re.compile(r"[ \t]*(?:[;\n}]|$)")
_MARK = re.compile(r"&|\\(.)", re.DOTALL)


class Step(msgspec.Struct, frozen=True):
    """A command with its address."""

    command: str
    first: int = 0
    last: int | None = 0  # None: to the end
    only_last: bool = False
    wanted: Pattern | None = None  # in a line that it is for
    pattern: Pattern | None = None  # of s, and what follows
    replacement: tuple[str | int, ...] = ()
    place: int = 1
    all: bool = False
    shows: bool = False

    def is_for(self, line: str, number: int, *, last: bool) -> bool:
        if self.only_last:
            return last
        if self.wanted is not None:
            return self.wanted.search(line) is not None
        return not self.first or (
            self.first <= number and (self.last is None or number <= self.last)
        )


async def sed(call: Call) -> int:
    flags, args = options(call, "nrEi", "e")
    script = flags.get("e") or (args.pop(0) if args else "")
    await call.work(len(script) * regex.COMPILE)
    steps = _steps(script, extended="r" in flags or "E" in flags)
    files, code = await filters.inputs(call, args)
    for path, data in files:
        kept: list[str] = []
        number, total = 0, data.count(b"\n") + (not data.endswith(b"\n"))
        async for batch in filters.batches(call, data):
            rows: list[str] = []
            for line in batch:
                number += 1
                goes_on = await _edited(
                    call, steps, line, number, rows, last=number == total, quiet="n" in flags
                )
                if not goes_on:
                    break
            if "i" in flags and path:
                call.hold(sum(map(len, rows)) + filters.LINE_BYTES * len(rows))
                kept += rows
            else:
                await filters.put(call, rows)
            if number < total and not goes_on:
                break
        if "i" in flags and path:
            made = "".join(f"{line}\n" for line in kept).encode("utf-8", "surrogateescape")
            call.machine.files.write(call.path(path), made, call.runner.now)
    return code


# -- the script -----------------------------------------------------------------------------------


def _steps(script: str, *, extended: bool) -> list[Step]:
    out: list[Step] = []
    at = _between(script, 0)
    while at < len(script):
        step, end = _step(script, at, extended=extended)
        out.append(step)
        stop = _END.match(script, end)
        if stop is None:
            raise _unknown(script, at)
        at = _between(script, stop.end())
    return out


def _between(script: str, at: int) -> int:
    match = _BETWEEN.match(script, at)
    return at if match is None else match.end()


def _unknown(script: str, at: int) -> CommandError:
    return CommandError(f"sed: unsupported command {script[at : at + 20]}", 1)


def _step(script: str, at: int, *, extended: bool) -> tuple[Step, int]:
    """(one command, where it ends)"""
    match = _ADDRESS.match(script, at)
    command = script[match.end() : match.end() + 1] if match is not None else ""
    if match is None or not command or command not in "sdpq":
        raise _unknown(script, at)
    first, last, only_last, text = match.groups()
    wanted = None
    if text is not None:
        wanted = _compiled(text.replace("\\/", "/"), extended=extended)
    address = Step(
        command,
        int(first or 0),
        None if last == "$" else int(last or first or 0),
        only_last is not None,
        wanted,
    )
    end = match.end() + 1
    if command != "s":
        return address, end
    mark = script[end : end + 1]
    old, end = _part(script, end + 1, mark)
    new, end = _part(script, end, mark)
    flags = _FLAGS.match(script, end)
    assert flags is not None
    digits = "".join(letter for letter in flags[0] if letter.isdigit())[:6]
    pattern = _compiled(old, extended=extended, ignore_case="i" in flags[0].lower())
    return Step(
        command,
        address.first,
        address.last,
        address.only_last,
        wanted,
        pattern,
        _parts(new, pattern),
        int(digits or 1),
        "g" in flags[0],
        "p" in flags[0],
    ), flags.end()


def _part(script: str, at: int, mark: str) -> tuple[str, int]:
    """(the text up to the next mark, where that ends)"""
    start = at
    while at < len(script) and script[at] != mark:
        at += 2 if script[at] == "\\" else 1
    if not mark or at >= len(script):
        raise CommandError("sed: bad option in substitution expression", 1)
    return script[start:at].replace("\\" + mark, mark), at + 1


def _compiled(text: str, *, extended: bool, ignore_case: bool = False) -> Pattern:
    try:
        return regex.posix(text, extended=extended, ignore_case=ignore_case)
    except CommandError as error:
        raise CommandError(f"sed: {error}", 1) from None


def _parts(replacement: str, pattern: Pattern) -> tuple[str | int, ...]:
    """Texts, and the numbers of groups between them."""
    out: list[str | int] = []
    at = 0
    for mark in _MARK.finditer(replacement):
        out.append(replacement[at : mark.start()])
        at = mark.end()
        letter = mark[1]
        if letter is None:
            out.append(0)
        elif letter.isdigit():
            if int(letter) <= pattern.groups:
                out.append(int(letter))
        else:
            out.append(filters.ESCAPES.get(letter, letter))
    out.append(replacement[at:])
    return tuple(out)


# -- lines ----------------------------------------------------------------------------------------


async def _edited(
    call: Call,
    steps: list[Step],
    line: str,
    number: int,
    rows: list[str],
    *,
    last: bool,
    quiet: bool,
) -> bool:
    """Do to a line what the script says; False when no other line is read."""
    for place, step in enumerate(steps):
        if place % STEPS_A_TURN == 0:
            await call.work(min(STEPS_A_TURN, len(steps)))
        if step.wanted is not None:
            await call.work(step.wanted.cost(len(line)))
        if not step.is_for(line, number, last=last):
            continue
        if step.command == "d":
            return True
        if step.command == "q":
            if not quiet:
                rows.append(line)
            return False
        if step.pattern is not None:
            new = await _substituted(call, step, step.pattern, line)
            changed, line = new is not None, line if new is None else new[:LINE_MAX]
        if step.command == "p" or (step.shows and changed):
            rows.append(line)
    if not quiet:
        rows.append(line)
    return True


async def _substituted(call: Call, step: Step, pattern: Pattern, line: str) -> str | None:
    """The line with its matches replaced; None when there are none."""
    out: list[str] = []
    at, count, size = 0, 0, 0
    await call.work(pattern.cost(len(line)))
    for match in pattern.finditer(line):
        start, end = match.span()
        count += 1
        if count < step.place:
            continue
        piece = line[at:start] + "".join(
            part if isinstance(part, str) else line[slice(*match.span(part))]
            for part in step.replacement
        )
        out.append(piece)
        size += len(piece)
        at = end
        if not step.all or size > LINE_MAX:
            break
        if count % MATCHES_A_TURN == 0:
            await call.work(MATCHES_A_TURN * pattern.cost(len(line) - end))
    if not out:
        return None
    return "".join(out) + line[at:]
