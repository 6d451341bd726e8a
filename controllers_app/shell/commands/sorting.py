"""sort and uniq.

Models busybox coreutils/{sort,uniq}.c in the options one commonly types.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterator
from operator import itemgetter

from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.interpreter import Call

RUN = 500  # lines that are put in order at once
KEY_BYTES = 120  # that a line's key takes
Keyed = tuple[tuple[float, str], str]
_NUMBER = re.compile(r"\s*-?\d{1,15}(?:\.\d{1,15})?")


async def sort(call: Call) -> int:
    flags, paths = options(call, "nruf", "kt")
    files, code = await filters.inputs(call, paths)
    texts: list[str] = []
    for _, data in files:
        texts += await filters.lines(call, data)
    call.hold(KEY_BYTES * len(texts))
    column = int((re.match(r"\d{1,4}", flags.get("k", "")) or ["0"])[0])

    def key(line: str) -> tuple[float, str]:
        if column:
            words = line.split(flags["t"][:1]) if flags.get("t") else line.split()
            line = words[column - 1] if column <= len(words) else ""
        number = _NUMBER.match(line) if "n" in flags else None
        return (float(number[0]) if number else 0.0), line.lower() if "f" in flags else line

    back = "r" in flags
    runs: list[list[Keyed]] = []
    for at in range(0, len(texts), RUN):
        run = [(key(line), line) for line in texts[at : at + RUN]]
        run.sort(key=itemgetter(0), reverse=back)
        runs.append(run)
        await call.work(len(run))
    merged: Iterator[Keyed] = heapq.merge(*runs, key=itemgetter(0), reverse=back)
    seen: set[str] = set()
    while some := [line for _, line in itertools.islice(merged, RUN)]:
        await call.work(len(some))
        if "u" in flags:
            some = [line for line in dict.fromkeys(some) if line not in seen]
            seen.update(some)
        await filters.put(call, some)
    return code


async def uniq(call: Call) -> int:
    flags, paths = options(call, "cdu")
    files, code = await filters.inputs(call, paths[:1])

    def shown(line: str, count: int) -> list[str]:
        if ("d" in flags and count == 1) or ("u" in flags and count > 1) or not count:
            return []
        return [f"{count:7d} {line}" if "c" in flags else line]

    before, count = "", 0
    async for batch in filters.batches(call, files[0][1] if files else b""):
        rows: list[str] = []
        for line in batch:
            if line != before:
                rows += shown(before, count)
                before, count = line, 0
            count += 1
        await filters.put(call, rows)
    await filters.put(call, shown(before, count))
    return code
