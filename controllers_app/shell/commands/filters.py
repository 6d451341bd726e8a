"""Commands on texts: echo, printf, cat, head, grep, sed, sort and their kin.

Models busybox coreutils and POSIX.1-2017, Utilities, in the options one commonly types.
"""

from __future__ import annotations

import re

from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import FileError
from controllers_app.shell.interpreter import Call

LINES_MAX = 100_000
PATTERN_MAX = 200
YES_BYTES = 4096  # that `yes` writes at once
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\"}


async def inputs(call: Call, paths: list[str]) -> tuple[list[tuple[str, bytes]], int]:
    """(name, data) of each file, of the standard input when there are none; and the exit code."""
    if not paths:
        return [("", await call.io.stdin.all())], 0
    out, code = [], 0
    for path in paths:
        if path == "-":
            out.append(("(standard input)", await call.io.stdin.all()))
            continue
        try:
            out.append((path, call.machine.read(call.path(path))))
        except FileError as error:
            busy = call.machine.is_busybox and "directory" in str(error)
            call.err(f"can't open '{path}': {error}" if busy else f"{path}: {error}")
            code = 1
    return out, code


def lines(data: bytes) -> list[str]:
    found = data.decode("utf-8", "surrogateescape").split("\n")
    if found[-1] == "":
        found.pop()
    return found[:LINES_MAX]


async def echo(call: Call) -> int:
    args, end, escapes = list(call.args), "\n", False
    while args and re.fullmatch(r"-[neE]+", args[0]):
        word = args.pop(0)
        end = "" if "n" in word else end
        escapes = escapes or "e" in word
    text = " ".join(args)
    call.out((unescaped(text) if escapes else text) + end)
    return 0


def unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        said = found[1]
        if said[0] == "0" or said.isdigit():
            return chr(int(said, 8) & 255)
        if said[0] == "x":
            return chr(int(said[1:], 16))
        return ESCAPES.get(said, "\033" if said == "e" else "\\" + said)

    return re.sub(r"\\(0?[0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", one, text)


async def printf(call: Call) -> int:
    if not call.args:
        raise CommandError("printf: usage: printf FORMAT [ARGUMENT...]", 1)
    form, *args = call.args
    pieces = re.split(r"(%%|%[-+ 0#]*\d{0,3}(?:\.\d{0,3})?[a-zA-Z])", unescaped(form))
    has = any(one.startswith("%") and one != "%%" for one in pieces)
    while True:
        for piece in pieces:
            if piece == "%%":
                call.out("%")
            elif piece.startswith("%") and len(piece) > 1:
                call.out(_formatted(piece, args.pop(0) if args else ""))
            else:
                call.out(piece)
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
        return 0
    found, code = await inputs(call, paths)
    number = 0
    for _name, data in found:
        if "n" not in flags:
            call.io.out(data)
            continue
        for line in lines(data):
            number += 1
            call.out(f"{number:6d}\t{line}\n")
    return code


async def head(call: Call) -> int:
    """head and tail."""
    args = [f"-n{one[1:]}" if re.fullmatch(r"-\d+", one) else one for one in call.args]
    flags, paths = options(call, "fFqv", "nc", args)
    first = call.name == "head"
    if first and not paths and "c" not in flags and flags.get("n", "10")[:1] != "-":
        for _ in range(_count(flags.get("n", "10"))):
            line = await call.io.stdin.line()
            if not line:
                break
            call.io.out(line)
        return 0
    found, code = await inputs(call, paths)
    for place, (name, data) in enumerate(found):
        if len(found) > 1:
            call.out(("\n" if place else "") + f"==> {name} <==\n")
        if "c" in flags:
            count = _count(flags["c"])
            call.io.out(data[:count] if first else data[max(0, len(data) - count) :])
            continue
        said = flags.get("n", "10")
        parts = data.splitlines(keepends=True)
        count = _count(said.lstrip("+-"))
        if said.startswith("+") and not first:
            call.io.out(b"".join(parts[max(0, count - 1) :]))
        elif first:
            call.io.out(b"".join(parts[: len(parts) - count] if said[0] == "-" else parts[:count]))
        else:
            call.io.out(b"".join(parts[len(parts) - count if count < len(parts) else 0 :]))
    if not first and ("f" in flags or "F" in flags):
        await _followed(call, paths)
    return code


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
            call.io.out(data[size:])
        size = len(data)


def _count(text: str) -> int:
    if not text.isdigit():
        raise CommandError(f"invalid number '{text[:40]}'", 1)
    return int(text[:9])


async def wc(call: Call) -> int:
    flags, paths = options(call, "lwcm")
    found, code = await inputs(call, paths)
    total = [0, 0, 0]
    for name, data in found:
        counts = [data.count(b"\n"), len(data.split()), len(data)]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        _counted(call, flags, counts, name)
    if len(found) > 1:
        _counted(call, flags, total, "total")
    return code


def _counted(call: Call, flags: dict[str, str], counts: list[int], name: str) -> None:
    wanted = [n for n, letter in zip(counts, "lwc", strict=True) if not flags or letter in flags]
    if len(wanted) == 1:
        call.out(f"{wanted[0]} {name}".rstrip() + "\n")
    else:
        call.out(" ".join(f"{one:8d}" for one in wanted) + (f" {name}" if name else "") + "\n")


async def grep(call: Call) -> int:
    flags, args = options(call, "ivncqlEFohwrsHx", "eAmBC")
    if call.name == "egrep":
        flags["E"] = ""
    if "e" in flags:
        args.insert(0, flags["e"])
    if not args:
        raise CommandError(f"{call.name}: no pattern", 2)
    pattern, *paths = args
    if "r" in flags:
        from controllers_app.shell.filesystem import File

        paths = [
            path for one in paths or ["."] for path, node in call.machine.files.walk(call.path(one))
            if isinstance(node, File)
        ]  # fmt: skip
    matcher = _matcher(pattern, flags)
    if not paths and not set(flags) & set("clABC"):
        return await _grep_as_it_comes(call, matcher, flags)
    found, code = await inputs(call, paths)
    some = False
    for name, data in found:
        hits = 0
        for number, line in enumerate(lines(data), 1):
            match = matcher.search(line[:8192])
            if (match is None) == ("v" not in flags):
                continue
            hits += 1
            some = True
            if "q" in flags:
                return 0
            if "c" in flags or "l" in flags:
                continue
            before = f"{name}:" if (len(found) > 1 or "H" in flags) and "h" not in flags else ""
            before += f"{number}:" if "n" in flags else ""
            texts = [match[0]] if "o" in flags and match is not None else [line]
            for text in texts:
                call.out(f"{before}{text}\n")
        if "c" in flags:
            call.out(f"{name}:{hits}\n" if len(found) > 1 else f"{hits}\n")
        elif "l" in flags and hits:
            call.out(f"{name}\n")
    return 0 if some else max(1, code * 2)


async def _grep_as_it_comes(call: Call, matcher: re.Pattern[str], flags: dict[str, str]) -> int:
    """Each line of the standard input when it is there."""
    some, number, hits = False, 0, 0
    most = _count(flags["m"]) if "m" in flags else 0
    while data := await call.io.stdin.line():
        await call.runner.step()
        number += 1
        line = data.decode("utf-8", "surrogateescape").removesuffix("\n")
        match = matcher.search(line[:8192])
        if (match is None) == ("v" not in flags):
            continue
        some = True
        if "q" in flags:
            return 0
        before = "(standard input):" if "H" in flags else ""
        before += f"{number}:" if "n" in flags else ""
        call.out(f"{before}{match[0] if 'o' in flags and match is not None else line}\n")
        hits += 1
        if hits == most:
            break
    return 0 if some else 1


def _matcher(pattern: str, flags: dict[str, str]) -> re.Pattern[str]:
    text = re.escape(pattern) if "F" in flags else regex(pattern, extended="E" in flags)
    text = rf"\b(?:{text})\b" if "w" in flags else rf"^(?:{text})$" if "x" in flags else text
    return compiled(text, re.IGNORECASE if "i" in flags else 0)


def compiled(text: str, flags: int = 0) -> re.Pattern[str]:
    """A bounded regular expression: nothing that takes exponential time is accepted."""
    if len(text) > PATTERN_MAX or re.search(r"[*+}]\)*[*+{]|\)[*+{].*\)[*+{]", text):
        raise CommandError("regular expression too complex", 2)
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError, RecursionError):
        raise CommandError("bad regex", 2) from None


def regex(pattern: str, *, extended: bool) -> str:
    """A POSIX regular expression as Python writes it."""
    names = {"digit": "0-9", "alpha": "a-zA-Z", "alnum": "a-zA-Z0-9", "space": r"\s",
             "upper": "A-Z", "lower": "a-z", "punct": r"!-/:-@\[-`{-~"}  # fmt: skip
    pattern = re.sub(r"\[:(\w+):\]", lambda found: names.get(found[1], ""), pattern)
    if extended:
        return pattern
    out, at, inside = "", 0, False
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\" and at + 1 < len(pattern):
            at += 1
            out += pattern[at] if pattern[at] in "(){}|+?" else "\\" + pattern[at]
        elif inside:
            inside = letter != "]"
            out += letter
        elif letter in "(){}|+?":
            out += "\\" + letter
        else:
            inside = letter == "["
            out += letter
        at += 1
    return out


async def sort(call: Call) -> int:
    flags, paths = options(call, "nruf", "kt")
    found, code = await inputs(call, paths)
    texts = [line for _, data in found for line in lines(data)]
    column = int((re.match(r"\d{1,4}", flags.get("k", "")) or ["0"])[0])

    def key(line: str) -> tuple[float, str]:
        if column:
            words = line.split(flags["t"][:1]) if flags.get("t") else line.split()
            line = words[column - 1] if column <= len(words) else ""
        number = re.match(r"\s*-?\d{1,15}(?:\.\d+)?", line) if "n" in flags else None
        return (float(number[0]) if number else 0.0), line.lower() if "f" in flags else line

    texts.sort(key=key, reverse="r" in flags)
    if "u" in flags:
        texts = list(dict.fromkeys(texts))
    call.out("".join(f"{line}\n" for line in texts))
    return code


async def uniq(call: Call) -> int:
    flags, paths = options(call, "cdu")
    found, code = await inputs(call, paths[:1])
    groups: list[list[str]] = []
    for line in lines(found[0][1]) if found else ():
        if groups and groups[-1][0] == line:
            groups[-1].append(line)
        else:
            groups.append([line])
    for group in groups:
        if ("d" in flags and len(group) == 1) or ("u" in flags and len(group) > 1):
            continue
        call.out((f"{len(group):7d} " if "c" in flags else "") + f"{group[0]}\n")
    return code


async def seq(call: Call) -> int:
    words = [one for one in call.args if re.fullmatch(r"-?\d{1,9}", one)]
    if len(words) != len(call.args) or not 1 <= len(words) <= 3:
        call.err(f"invalid number '{' '.join(call.args)[:40]}'" if call.args else "missing operand")
        return 1
    first, step, last = {1: (1, 1, int(words[-1]))}.get(
        len(words), (int(words[0]), 1, int(words[-1]))
    )
    if len(words) == 3:
        step = int(words[1])
    if step:
        for number in range(first, last + (1 if step > 0 else -1), step)[:LINES_MAX]:
            call.out(f"{number}\n")
    return 0


async def tr(call: Call) -> int:
    flags, args = options(call, "dsc")
    if not args:
        raise CommandError("tr: missing operand", 1)
    text = (await call.io.stdin.all()).decode("utf-8", "surrogateescape")
    first = _letters(args[0])
    if "d" in flags:
        text = "".join(one for one in text if (one in first) == ("c" in flags))
    elif len(args) > 1:
        second = _letters(args[1]) or " "
        table = {one: second[min(place, len(second) - 1)] for place, one in enumerate(first)}
        if "c" in flags:
            text = "".join(one if one in first else second[-1] for one in text)
        else:
            text = "".join(table.get(one, one) for one in text)
    if "s" in flags:
        squeezed = _letters(args[-1])
        text = re.sub(
            r"(.)\1+", lambda f: f[1] if f[1] in squeezed else f[0], text, flags=re.DOTALL
        )
    call.out(text)
    return 0


def _letters(text: str) -> str:
    names = {"[:upper:]": "A-Z", "[:lower:]": "a-z", "[:digit:]": "0-9", "[:space:]": " \t\n\r"}
    for name, letters in names.items():
        text = text.replace(name, letters)
    text = unescaped(text)
    return re.sub(
        r"([a-z])-([a-z])|([A-Z])-([A-Z])|(\d)-(\d)",
        lambda f: "".join(map(chr, range(ord(f[0][0]), ord(f[0][2]) + 1))), text,
    )  # fmt: skip


async def cut(call: Call) -> int:
    flags, paths = options(call, "sn", "dfcb")
    said = flags.get("f") or flags.get("c") or flags.get("b") or ""
    wanted = [re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", one) for one in said.split(",")]
    if not said or not all(wanted):
        raise CommandError("cut: expected a list of bytes, characters, or fields", 1)
    mark = flags.get("d", "\t") or "\t"
    found, code = await inputs(call, paths)

    def taken(parts: list[str]) -> list[str]:
        out = []
        for place, part in enumerate(parts, 1):
            for one in wanted:
                assert one is not None
                low = int(one[1] or 1)
                high = int(one[3]) if one[3] else (len(parts) if one[2] else low)
                if low <= place <= high:
                    out.append(part)
                    break
        return out

    for _name, data in found:
        for line in lines(data):
            if "f" in flags:
                call.out((mark.join(taken(line.split(mark))) if mark in line else line) + "\n")
            else:
                call.out("".join(taken(list(line))) + "\n")
    return code


async def tee(call: Call) -> int:
    flags, paths = options(call, "ai")
    append = "a" in flags
    for path in () if append else paths:
        call.machine.files.write(call.path(path), b"", call.runner.now)
    while data := await call.io.stdin.line():
        for path in paths:
            call.machine.files.write(call.path(path), data, call.runner.now, append=True)
        call.io.out(data)
    return 0


async def yes(call: Call) -> int:
    line = (" ".join(call.args) or "y") + "\n"
    block = line * max(1, YES_BYTES // len(line))
    while True:
        await call.runner.step()
        call.out(block)


async def base64_(call: Call) -> int:
    import base64
    import binascii

    flags, paths = options(call, "di", "w")
    found, code = await inputs(call, paths)
    for _name, data in found:
        if "d" in flags:
            try:
                call.io.out(base64.b64decode(data))
            except binascii.Error:
                call.err("truncated input")
                return 1
            continue
        text = base64.b64encode(data).decode()
        width = 76 if flags.get("w") != "0" else len(text) or 1
        for start in range(0, len(text), width):
            call.out(text[start : start + width] + "\n")
    return code
