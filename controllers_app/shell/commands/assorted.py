"""Small commands on files and words: digests, diff, cmp, expr, nl, paste, rev, tac, mktemp.

Models busybox coreutils and editors (md5_sha1_sum.c, diff.c, expr.c) in what one commonly types.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools

from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import FileError
from controllers_app.shell.interpreter import Call

DIFF_LINES_MAX = 2000
CORES = 4  # of every node
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


async def digest(call: Call) -> int:
    flags, paths = options(call, "bcst")
    kind = call.name.removesuffix("sum")
    found, code = await filters.inputs(call, paths)
    if "c" in flags:
        return _checked(call, kind, found) or code
    for name, data in found:
        call.out(f"{hashlib.new(kind, data, usedforsecurity=False).hexdigest()}  {name or '-'}\n")
    return code


def _checked(call: Call, kind: str, found: list[tuple[str, bytes]]) -> int:
    wrong = 0
    for _, data in found:
        for line in filters.lines(data):
            wanted, _, path = line.partition("  ")
            try:
                have = call.machine.read(call.path(path))
            except FileError as error:
                call.err(f"can't open '{path}': {error}")
                same = False
            else:
                same = hashlib.new(kind, have, usedforsecurity=False).hexdigest() == wanted
            call.out(f"{path}: {'OK' if same else 'FAILED'}\n")
            wrong += not same
    return int(wrong > 0)


async def rev(call: Call) -> int:
    found, code = await filters.inputs(call, call.args)
    for line in (line for _, data in found for line in filters.lines(data)):
        call.out(f"{line[::-1]}\n")
    return code


async def tac(call: Call) -> int:
    found, code = await filters.inputs(call, call.args)
    for _, data in found:
        call.out("".join(f"{line}\n" for line in reversed(filters.lines(data))))
    return code


async def nl(call: Call) -> int:
    flags, paths = options(call, "", "bwsn")
    all_ = flags.get("b") == "a"
    found, code = await filters.inputs(call, paths)
    number = 0
    for line in (line for _, data in found for line in filters.lines(data)):
        if line or all_:
            number += 1
            call.out(f"{number:6d}\t{line}\n")
        else:
            call.out("       \n")
    return code


async def paste(call: Call) -> int:
    flags, paths = options(call, "s", "d")
    between = filters.unescaped(flags.get("d", "\t")) or "\t"
    found, code = await filters.inputs(call, paths)
    rows = [filters.lines(data) for _, data in found]
    merged = rows if "s" in flags else list(itertools.zip_longest(*rows, fillvalue=""))
    for row in merged:
        call.out(between[:1].join(row) + "\n")
    return code


async def _two(call: Call, paths: list[str]) -> list[tuple[str, bytes]] | None:
    """What is in the two files; nothing when one cannot be read, which was said."""
    if len(paths) != 2:
        raise CommandError(f"{call.name}: missing operand", 2)
    found, code = await filters.inputs(call, paths)
    return None if code else found


async def diff(call: Call) -> int:
    """The unified form, as busybox has it always."""
    flags, paths = options(call, "uqrNaibwBtTs", "UL")
    found = await _two(call, paths)
    if found is None:
        return 2
    (one, before), (other, after) = found
    if before == after:
        return 0
    if "q" in flags:
        call.out(f"Files {one} and {other} differ\n")
        return 1
    old, new = (filters.lines(data)[:DIFF_LINES_MAX] for data in (before, after))
    for line in difflib.unified_diff(old, new, one, other, lineterm=""):
        call.out(line + "\n")
    return 1


async def compare(call: Call) -> int:
    flags, paths = options(call, "ls")
    found = await _two(call, paths)
    if found is None:
        return 2
    (one, left), (other, right) = found
    if left == right:
        return 0
    at = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), -1)
    if "s" not in flags and at >= 0:
        line = left[:at].count(b"\n") + 1
        call.out(f"{one} {other} differ: char {at + 1}, line {line}\n")
    elif "s" not in flags:
        call.err(f"EOF on {one if len(left) < len(right) else other}")
    return 1


async def expr(call: Call) -> int:
    """Numbers and comparisons, from the left, products first."""
    if not call.args:
        raise CommandError("expr: too few arguments", 2)
    words = list(call.args)
    value = _sum(words)
    while words and words[0] in ("=", "==", "!=", "<", "<=", ">", ">="):
        operator = words.pop(0)
        value = str(int(_compares(operator, value, _sum(words))))
    if words:
        raise CommandError("expr: syntax error", 2)
    call.out(f"{value}\n")
    return int(value in ("", "0"))


def _sum(words: list[str]) -> str:
    value = _product(words)
    while words and words[0] in ("+", "-"):
        sign = 1 if words.pop(0) == "+" else -1
        value = str(_whole(value) + sign * _whole(_product(words)))
    return value


def _product(words: list[str]) -> str:
    value = _word(words)
    while words and words[0] in ("*", "/", "%"):
        operator, left, right = words.pop(0), _whole(value), _whole(_word(words))
        if operator != "*" and not right:
            raise CommandError("expr: division by zero", 2)
        if operator == "*":
            value = str(left * right)
        else:
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            value = str(quotient if operator == "/" else left - quotient * right)
    return value


def _word(words: list[str]) -> str:
    if not words:
        raise CommandError("expr: syntax error", 2)
    return words.pop(0)


def _whole(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or len(text) > 19:
        raise CommandError("expr: non-numeric argument", 2)
    return int(text)


def _compares(operator: str, left: str, right: str) -> bool:
    try:
        order = _whole(left) - _whole(right)
    except CommandError:
        order = (left > right) - (left < right)
    return {
        "=": order == 0, "==": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0,
        ">": order > 0, ">=": order >= 0,
    }[operator]  # fmt: skip


async def nproc(call: Call) -> int:
    call.out(f"{CORES}\n")
    return 0


async def mktemp(call: Call) -> int:
    flags, words = options(call, "dqut", "p")
    form = words[0] if words else "tmp.XXXXXX"
    head = form.rstrip("X")
    if len(form) - len(head) < 6:
        raise CommandError(f"mktemp: Invalid argument: {form}", 1)
    letters = "".join(
        _LETTERS[call.machine.random() % len(_LETTERS)] for _ in range(len(form) - len(head))
    )
    folder = flags.get("p") or ("" if words and "t" not in flags else "/tmp")
    path = f"{folder}/{head}{letters}" if folder else f"{head}{letters}"
    if "d" in flags:
        await call.shell.child().call(["mkdir", path], call.io)
    elif "u" not in flags:
        call.machine.write(call.path(path), b"", call.runner.now)
    call.out(f"{path}\n")
    return 0
