"""Commands on texts: echo, printf, cat, head, wc, seq, tee, yes, base64.

Models busybox coreutils and POSIX.1-2017, Utilities, in the options one commonly types.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import re
from collections.abc import AsyncIterator, Iterable

from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.expansion import LETTERS
from controllers_app.shell.filesystem import File, FileError
from controllers_app.shell.interpreter import COPIED, Call

LINES = 200  # that are written at once
BATCH = 8 * 1024  # bytes of lines that are taken at once
LINE_BYTES = 64  # that a line takes besides its letters
ROW = 57  # bytes that are a line of base64
YES_BYTES = 4096  # that `yes` writes at once
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\"}


async def inputs(call: Call, paths: list[str]) -> tuple[list[tuple[str, bytes]], int]:
    """(name, data) of each file, of the standard input when there are none; and the exit code."""
    if not paths:
        return [("", await whole(call))], 0
    out, code = [], 0
    for path in paths:
        if path == "-":
            out.append(("(standard input)", await whole(call)))
            continue
        try:
            out.append((path, call.machine.read(call.path(path))))
        except FileError as error:
            busy = call.machine.is_busybox and "directory" in str(error)
            call.err(f"can't open '{path}': {error}" if busy else f"{path}: {error}")
            code = 1
    return out, code


async def whole(call: Call) -> bytes:
    """All of the standard input."""
    data = await call.io.stdin.all()
    call.hold(len(data))
    await call.work(len(data) // LETTERS)
    return data


async def batches(call: Call, data: bytes) -> AsyncIterator[list[str]]:
    """The lines of a text, some at a time."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + BATCH) + 1 or len(data)
        await call.work(1 + (end - at) // LETTERS)
        yield data[at:end].decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
        at = end


async def lines(call: Call, data: bytes) -> list[str]:
    """All lines of a text at once."""
    out: list[str] = []
    async for batch in batches(call, data):
        call.hold(sum(map(len, batch)) + LINE_BYTES * len(batch))
        out += batch
        await call.work(1 + len(batch) // 2)
    return out


async def put(call: Call, rows: Iterable[str], cost: int = 1) -> None:
    """Write lines, some at a time. `cost`: the operations that each of them took."""
    waiting = iter(rows)
    while some := list(itertools.islice(waiting, LINES)):
        text = "\n".join(some) + "\n"
        call.out(text)
        await call.work(len(text) // LETTERS + len(some) * cost)


async def echo(call: Call) -> int:
    args, end, escapes = list(call.args), "\n", False
    while args and re.fullmatch(r"-[neE]+", args[0]):
        word = args.pop(0)
        end = "" if "n" in word else end
        escapes = escapes or "e" in word
    text = " ".join(args)
    await call.work(len(text) // (2 if escapes else LETTERS))
    call.out((unescaped(text) if escapes else text) + end)
    return 0


def unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        escape = match[1]
        if escape[0] == "0" or escape.isdigit():
            return chr(int(escape, 8) & 255)
        if escape[0] == "x":
            return chr(int(escape[1:], 16))
        return ESCAPES.get(escape, "\033" if escape == "e" else "\\" + escape)

    return re.sub(r"\\(0?[0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", character, text)


async def printf(call: Call) -> int:
    if not call.args:
        raise CommandError("printf: usage: printf FORMAT [ARGUMENT...]", 1)
    form, *args = call.args
    pieces = re.split(r"(%%|%[-+ 0#]*\d{0,3}(?:\.\d{0,3})?[a-zA-Z])", unescaped(form))
    has = any(piece != "%%" for piece in pieces[1::2])
    await call.work(len(form) // 2)
    while True:
        for number, piece in enumerate(pieces):
            if number % LINES == 0:
                await call.work(2 * min(len(pieces), LINES))
            if number % 2 == 0:
                call.out(piece)
            elif piece == "%%":
                call.out("%")
            else:
                call.out(_formatted(piece, args.pop(0) if args else ""))
        if not (args and has):
            return 0


def _formatted(piece: str, text: str) -> str:
    kind = piece[-1]
    try:
        if kind in "diuxXo":
            value = (
                int(text[:24] or "0", 0) if text[:1] not in ("'", '"') else ord(text[1:2] or "\0")
            )
            return (piece[:-1] + ("d" if kind in "iu" else kind)) % value
        if kind in "fgeE":
            return piece % float(text[:40] or 0)
    except (ValueError, OverflowError):
        return "0"
    if kind == "b":
        return (piece[:-1] + "s") % unescaped(text)
    if kind == "c":
        return text[:1]
    return piece % text if kind == "s" else piece


async def cat(call: Call) -> int:
    flags, paths = options(call, "nAuvets")
    if not paths or paths == ["-"]:
        while typed := await call.io.stdin.line():
            call.io.out(typed)
            await call.work(2 + len(typed) // LETTERS)
        return 0
    files, code = await inputs(call, paths)
    number = 0
    for _name, data in files:
        if "n" not in flags:
            await call.write(data)
            continue
        async for batch in batches(call, data):
            await put(call, (f"{at:6d}\t{line}" for at, line in enumerate(batch, number + 1)))
            number += len(batch)
    return code


async def head(call: Call) -> int:
    """head and tail."""
    args = [
        f"-n{argument[1:]}" if re.fullmatch(r"-\d+", argument) else argument
        for argument in call.args
    ]
    flags, paths = options(call, "fFqv", "nc", args)
    first = call.name == "head"
    if first and not paths and "c" not in flags and flags.get("n", "10")[:1] != "-":
        for _ in range(count_of(flags.get("n", "10"))):
            line = await call.io.stdin.line()
            if not line:
                break
            call.io.out(line)
            await call.work(2 + len(line) // LETTERS)
        return 0
    files, code = await inputs(call, paths)
    for place, (name, data) in enumerate(files):
        if len(files) > 1:
            call.out(("\n" if place else "") + f"==> {name} <==\n")
        if "c" in flags:
            count = count_of(flags["c"])
            await call.write(data[:count] if first else data[max(0, len(data) - count) :])
            continue
        lines = flags.get("n", "10")
        count = count_of(lines.lstrip("+-"))
        if lines.startswith("+") and not first:
            start, end = await _after(call, data, count - 1), len(data)
        elif first:
            start, end = (
                0,
                await _before(call, data, count)
                if lines[0] == "-"
                else await _after(call, data, count),
            )
        else:
            start, end = await _before(call, data, count), len(data)
        await call.write(data[start:end])
    if not first and ("f" in flags or "F" in flags):
        await _followed(call, paths)
    return code


async def _after(call: Call, data: bytes, count: int) -> int:
    """Where so many lines end."""
    at = 0
    while count > 0 and at < len(data):
        at = data.find(b"\n", at) + 1 or len(data)
        count -= 1
        if count % LINES == 0:
            await call.work(LINES // 4)
    return at


async def _before(call: Call, data: bytes, count: int) -> int:
    """Where so many lines begin that are the last."""
    at = len(data)
    while count > 0 and at > 0:
        at = data.rfind(b"\n", 0, at - 1) + 1
        count -= 1
        if count % LINES == 0:
            await call.work(LINES // 4)
    return at


async def _followed(call: Call, paths: list[str]) -> None:
    if paths == ["/dev/null"] or not paths:
        while True:
            await call.runner.sleep(3600.0)
    path = call.path(paths[0])
    size = len(call.machine.read(path))
    while True:
        await call.runner.sleep(1.0)
        data = call.machine.read(path)
        if len(data) > size:
            await call.write(data[size:])
        size = len(data)


def count_of(text: str) -> int:
    if not text.isdigit():
        raise CommandError(f"invalid number '{text[:40]}'", 1)
    return int(text[:9])


async def wc(call: Call) -> int:
    flags, paths = options(call, "lwcm")
    files, code = await inputs(call, paths)
    total = [0, 0, 0]
    for name, data in files:
        counts = [data.count(b"\n"), 0, len(data)]
        async for batch in batches(call, data):
            counts[1] += sum(len(line.split()) for line in batch)
            await call.work(1 + len(batch))
        total = [a + b for a, b in zip(total, counts, strict=True)]
        _counted(call, flags, counts, name)
    if len(files) > 1:
        _counted(call, flags, total, "total")
    return code


def _counted(call: Call, flags: dict[str, str], counts: list[int], name: str) -> None:
    wanted = [n for n, letter in zip(counts, "lwc", strict=True) if not flags or letter in flags]
    if len(wanted) == 1:
        call.out(f"{wanted[0]} {name}".rstrip() + "\n")
    else:
        call.out(
            " ".join(f"{column:8d}" for column in wanted) + (f" {name}" if name else "") + "\n"
        )


async def seq(call: Call) -> int:
    words = [argument for argument in call.args if re.fullmatch(r"-?\d{1,9}", argument)]
    if len(words) != len(call.args) or not 1 <= len(words) <= 3:
        call.err(f"invalid number '{' '.join(call.args)[:40]}'" if call.args else "missing operand")
        return 1
    first, step, last = {1: (1, 1, int(words[-1]))}.get(
        len(words), (int(words[0]), 1, int(words[-1]))
    )
    if len(words) == 3:
        step = int(words[1])
    if step:
        await put(call, map(str, range(first, last + (1 if step > 0 else -1), step)))
    return 0


async def tee(call: Call) -> int:
    flags, paths = options(call, "ai")
    for path in () if "a" in flags else paths:
        call.machine.files.write(call.path(path), b"", call.runner.now)
    source, waiting = call.io.stdin, b""
    while data := await source.line():
        waiting += data
        await call.work(2 + len(data) // LETTERS)
        if len(waiting) >= BATCH or not source.is_ready():
            await _appended(call, paths, waiting)
            call.io.out(waiting)
            waiting = b""
    await _appended(call, paths, waiting)
    call.io.out(waiting)
    return 0


async def _appended(call: Call, paths: list[str], data: bytes) -> None:
    for path in paths if data else ():
        file = call.machine.look(call.path(path))
        await call.work(1 + (len(file.data) // COPIED if isinstance(file, File) else 0))
        call.machine.files.write(call.path(path), data, call.runner.now, append=True)


async def yes(call: Call) -> int:
    line = (" ".join(call.args) or "y") + "\n"
    block = (line * max(1, YES_BYTES // len(line))).encode("utf-8", "surrogateescape")
    while True:
        await call.write(block)


async def base64_(call: Call) -> int:
    flags, paths = options(call, "di", "w")
    files, code = await inputs(call, paths)
    for _name, data in files:
        if "d" in flags:
            await call.work(len(data) // LETTERS)
            try:
                decoded = base64.b64decode(data)
            except binascii.Error:
                call.err("truncated input")
                return 1
            await call.write(decoded)
        elif flags.get("w") == "0":
            await call.write(base64.b64encode(data) + b"\n")
        else:
            rows = (data[at : at + ROW] for at in range(0, len(data), ROW))
            await put(call, (base64.b64encode(row).decode() for row in rows))
    return code
