"""Small commands on files and words: digests, diff, cmp, expr, nl, paste, rev, tac, mktemp.

Models busybox coreutils and editors (md5_sha1_sum.c, diff.c, expr.c) in what one commonly types.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator

from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import FileError
from controllers_app.shell.interpreter import Call

CHANGES_MAX = 400  # that are looked for; beyond them all is changed
CONTEXT = 3  # lines around a change
DIGESTED = 1 << 17  # bytes that are digested at once
CORES = 4  # of every node
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


async def digest(call: Call) -> int:
    flags, paths = options(call, "bcst")
    kind = call.name.removesuffix("sum")
    files, code = await filters.inputs(call, paths)
    if "c" in flags:
        return await _checked(call, kind, files) or code
    for name, data in files:
        call.out(f"{await _digest(call, kind, data)}  {name or '-'}\n")
    return code


async def _digest(call: Call, kind: str, data: bytes) -> str:
    made = hashlib.new(kind, usedforsecurity=False)
    for at in range(0, len(data), DIGESTED):
        made.update(data[at : at + DIGESTED])
        await call.work(DIGESTED // 200)
    return made.hexdigest()


async def _checked(call: Call, kind: str, sums: list[tuple[str, bytes]]) -> int:
    wrong = 0
    for _, data in sums:
        for line in await filters.lines(call, data):
            wanted, _, path = line.partition("  ")
            try:
                have = call.machine.read(call.path(path))
            except FileError as error:
                call.err(f"can't open '{path}': {error}")
                same = False
            else:
                same = await _digest(call, kind, have) == wanted
            call.out(f"{path}: {'OK' if same else 'FAILED'}\n")
            wrong += not same
    return int(wrong > 0)


async def rev(call: Call) -> int:
    files, code = await filters.inputs(call, call.args)
    for _, data in files:
        async for batch in filters.batches(call, data):
            await filters.put(call, (line[::-1] for line in batch))
    return code


async def tac(call: Call) -> int:
    files, code = await filters.inputs(call, call.args)
    for _, data in files:
        await filters.put(call, reversed(await filters.lines(call, data)))
    return code


async def nl(call: Call) -> int:
    flags, paths = options(call, "", "bwsn")
    all_ = flags.get("b") == "a"
    files, code = await filters.inputs(call, paths)
    number = 0
    for _, data in files:
        async for batch in filters.batches(call, data):
            rows = []
            for line in batch:
                number += bool(line) or all_
                rows.append(f"{number:6d}\t{line}" if line or all_ else "       ")
            await filters.put(call, rows)
    return code


async def paste(call: Call) -> int:
    flags, paths = options(call, "s", "d")
    between = filters.unescaped(flags.get("d", "\t")) or "\t"
    files, code = await filters.inputs(call, paths)
    rows = [await filters.lines(call, data) for _, data in files]
    if "s" in flags:
        for row in rows:
            await call.write((between[:1].join(row) + "\n").encode("utf-8", "surrogateescape"))
        return code
    merged = itertools.zip_longest(*rows, fillvalue="")
    await filters.put(call, (between[:1].join(row) for row in merged), 1 + len(rows))
    return code


async def _two(call: Call, paths: list[str]) -> list[tuple[str, bytes]] | None:
    """What is in the two files; nothing when one cannot be read, which was said."""
    if len(paths) != 2:
        raise CommandError(f"{call.name}: missing operand", 2)
    files, code = await filters.inputs(call, paths)
    return None if code else files


async def diff(call: Call) -> int:
    """The unified form, as busybox has it always."""
    flags, paths = options(call, "uqrNaibwBtTs", "UL")
    pair = await _two(call, paths)
    if pair is None:
        return 2
    (left, before), (other, after) = pair
    if before == after:
        return 0
    if "q" in flags:
        call.out(f"Files {left} and {other} differ\n")
        return 1
    old, new = [await filters.lines(call, data) for data in (before, after)]
    call.out(f"--- {left}\n+++ {other}\n")
    for hunk in _hunks(await _common(call, old, new), len(old), len(new)):
        await filters.put(call, _shown(hunk, old, new))
    return 1


async def _common(call: Call, old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """The places of lines that both have, in order: all in a shortest way from one to the other, if
    that is not too long. By E. Myers, An O(ND) Difference Algorithm and Its Variations (1986)."""
    start, end = 0, 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    await call.work((start + end) // 4)
    reach, trail = {1: 0}, []
    middle: list[tuple[int, int]] = []
    for changes in range(min(len(a) + len(b), CHANGES_MAX) + 1):
        trail.append(dict(reach))
        await call.work(1 + changes)
        for k in range(-changes, changes + 1, 2):
            down = k == -changes or (k != changes and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            begins = x
            while x < len(a) and 0 <= x - k < len(b) and a[x] == b[x - k]:
                x += 1
            if x - begins > filters.LINES:
                await call.work((x - begins) // 4)
            reach[k] = x
            if x >= len(a) and x - k >= len(b):
                middle = _traced(trail, len(a), len(b))
                break
        if middle or (reach.get(len(a) - len(b)) or -1) >= len(a):
            break
    return [
        *((at, at) for at in range(start)),
        *((start + x, start + y) for x, y in middle),
        *((len(old) - at, len(new) - at) for at in range(end, 0, -1)),
    ]


def _traced(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """The lines that the way to x, y goes through unchanged."""
    out: list[tuple[int, int]] = []
    for changes in range(len(trail) - 1, -1, -1):
        reach, k = trail[changes], x - y
        down = k == -changes or (k != changes and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        origin = reach[before] if changes else 0
        while x > origin + (not down) * bool(changes) and x > 0 and y > 0:
            x, y = x - 1, y - 1
            out.append((x, y))
        x, y = origin, origin - before
    return out[::-1]


Hunk = list[tuple[str, int, int]]  # a mark and the places in both


def _hunks(common: list[tuple[int, int]], old: int, new: int) -> Iterator[Hunk]:
    """Changes with three lines around them."""
    hunk: Hunk = []
    same = x = y = 0
    for left, right in [*common, (old, new)]:
        changes = [("-", at, y) for at in range(x, left)]
        changes += [("+", left, at) for at in range(y, right)]
        if changes and not hunk:
            hunk = [(" ", x - at, y - at) for at in range(min(CONTEXT, same), 0, -1)]
        hunk += changes
        same = 0 if changes else same
        x, y = left + 1, right + 1
        same += 1
        if hunk:
            hunk.append((" ", left, right))
            if same > 2 * CONTEXT or left == old:
                yield hunk[: len(hunk) - max(same - CONTEXT, 1 if left == old else 0)]
                hunk = []


def _shown(hunk: Hunk, old: list[str], new: list[str]) -> Iterator[str]:
    before = [x for mark, x, _ in hunk if mark != "+"]
    after = [y for mark, _, y in hunk if mark != "-"]
    yield f"@@ -{_range(before, hunk[0][1])} +{_range(after, hunk[0][2])} @@"
    for mark, x, y in hunk:
        yield mark + (new[y] if mark == "+" else old[x])


def _range(places: list[int], at: int) -> str:
    if len(places) == 1:
        return str(places[0] + 1)
    return f"{places[0] + 1 if places else at},{len(places)}"


async def compare(call: Call) -> int:
    flags, paths = options(call, "ls")
    pair = await _two(call, paths)
    if pair is None:
        return 2
    (first, left), (second, right) = pair
    if left == right:
        return 0
    at = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), -1)
    if "s" not in flags and at >= 0:
        line = left[:at].count(b"\n") + 1
        call.out(f"{first} {second} differ: char {at + 1}, line {line}\n")
    elif "s" not in flags:
        call.err(f"EOF on {first if len(left) < len(right) else second}")
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
        "=": order == 0,
        "==": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


async def nproc(call: Call) -> int:
    call.out(f"{CORES}\n")
    return 0


async def mktemp(call: Call) -> int:
    flags, words = options(call, "dqut", "p")
    form = words[0] if words else "tmp.XXXXXX"
    head = form.rstrip("X")
    if len(form) - len(head) < 6:
        raise CommandError(f"mktemp: Invalid argument: {form}", 1)
    suffix = "".join(
        _LETTERS[call.machine.random() % len(_LETTERS)] for _ in range(len(form) - len(head))
    )
    folder = flags.get("p") or ("" if words and "t" not in flags else "/tmp")
    path = f"{folder}/{head}{suffix}" if folder else f"{head}{suffix}"
    if "d" in flags:
        await call.shell.child().call(["mkdir", path], call.io)
    elif "u" not in flags:
        call.machine.write(call.path(path), b"", call.runner.now)
    call.out(f"{path}\n")
    return 0
