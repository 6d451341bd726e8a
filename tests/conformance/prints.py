"""What a real cluster prints, with holes for times and for what is random.

`{age}` an age in a table, `{time}` a moment, `{id}` five random characters, `{uid}`, `{ip}`,
`{n}` a number, `{*}` anything on the line. Runs of spaces may be of any length.
"""

from __future__ import annotations

import difflib
import re

_HOLES = {
    "age": r"(?:<invalid>|[0-9]+[smhdy][0-9smhdy]*)",
    "time": r"(?:[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} \+0000|"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z)",
    "id": r"[bcdfghjklmnpqrstvwxz2456789]{5}",
    "uid": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "ip": r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+",
    "n": r"[0-9]+",
    "*": r".*",
}
_HOLE = re.compile(r"\{(age|time|id|uid|ip|n|\*)\}")


def fits(text: str, wanted: str) -> bool:
    """Whether `text` is what `wanted` says, line by line; the failure shows both."""
    have = [line.rstrip() for line in text.strip("\n").splitlines()]
    want = [line.rstrip() for line in wanted.strip("\n").splitlines()]
    same = len(have) == len(want) and all(map(_line_fits, have, want))
    assert same, "\n".join(difflib.ndiff(want, have))
    return True


def has(text: str, wanted: str) -> bool:
    """Whether each line of `wanted` fits some line of `text`, in that order."""
    lines = iter(text.splitlines())
    for line in wanted.strip("\n").splitlines():
        assert any(_line_fits(one.rstrip(), line.rstrip()) for one in lines), (
            f"not there, or not in its place: {line!r} in\n{text}"
        )
    return True


def _line_fits(line: str, wanted: str) -> bool:
    pattern, at = "", 0
    for hole in _HOLE.finditer(wanted):
        pattern += _literal(wanted[at : hole.start()]) + _HOLES[hole[1]]
        at = hole.end()
    return re.fullmatch(pattern + _literal(wanted[at:]), line) is not None


def _literal(text: str) -> str:
    return " +".join(re.escape(part) for part in re.split(r" +", text))
