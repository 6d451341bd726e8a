"""grep and egrep.

Models busybox findutils/grep.c and GNU grep in the options one commonly types.
"""

from __future__ import annotations

from controllers_app.shell import regex
from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import File
from controllers_app.shell.interpreter import Call
from controllers_app.shell.regex import Pattern


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
        paths = [
            path
            for root in paths or ["."]
            for path, node in call.machine.files.walk(call.path(root))
            if isinstance(node, File)
        ]
    await call.work(regex.COMPILE * (1 + len(pattern)))
    matcher = _matcher(call, pattern, flags)
    if not paths and not set(flags) & set("clABC"):
        return await _as_it_comes(call, matcher, flags)
    files, code = await filters.inputs(call, paths)
    some = False
    for name, data in files:
        shown = name if (len(files) > 1 or "H" in flags) and "h" not in flags else ""
        hits = await _file(call, matcher, flags, shown, data)
        some = some or hits > 0
        if some and "q" in flags:
            return 0
        if "c" in flags:
            call.out(f"{name}:{hits}\n" if len(files) > 1 else f"{hits}\n")
        elif "l" in flags and hits:
            call.out(f"{name}\n")
    return 0 if some else max(1, code * 2)


async def _file(call: Call, matcher: Pattern, flags: dict[str, str], name: str, data: bytes) -> int:
    """Show the lines of a file that match; how many there are, or one when that is enough."""
    hits = number = 0
    async for batch in filters.batches(call, data):
        rows = []
        for line in batch:
            number += 1
            await call.work(matcher.cost(len(line)))
            match = matcher.search(line)
            if (match is None) == ("v" not in flags):
                continue
            hits += 1
            if "q" in flags:
                return hits
            before = (f"{name}:" if name else "") + (f"{number}:" if "n" in flags else "")
            rows.append(before + (line[slice(*match.span())] if "o" in flags and match else line))
        if rows and not set(flags) & set("cl"):
            await filters.put(call, rows)
    return hits


async def _as_it_comes(call: Call, matcher: Pattern, flags: dict[str, str]) -> int:
    """Each line of the standard input when it is there."""
    some, number, hits = False, 0, 0
    most = filters.count_of(flags["m"]) if "m" in flags else 0
    while data := await call.io.stdin.line():
        number += 1
        line = data.decode("utf-8", "surrogateescape").removesuffix("\n")
        await call.work(matcher.cost(len(line)))
        match = matcher.search(line)
        if (match is None) == ("v" not in flags):
            continue
        some = True
        if "q" in flags:
            return 0
        before = "(standard input):" if "H" in flags else ""
        before += f"{number}:" if "n" in flags else ""
        shown = line[slice(*match.span())] if "o" in flags and match else line
        call.out(f"{before}{shown}\n")
        hits += 1
        if hits == most:
            break
    return 0 if some else 1


def _matcher(call: Call, pattern: str, flags: dict[str, str]) -> Pattern:
    around = r"\b(?:%s)\b" if "w" in flags else "^(?:%s)$" if "x" in flags else "%s"
    try:
        if "F" in flags:
            return regex.literal(pattern, ignore_case="i" in flags, around=around)
        return regex.posix(pattern, extended="E" in flags, ignore_case="i" in flags, around=around)
    except CommandError as error:
        raise CommandError(f"{call.name}: {error}", error.code) from None
