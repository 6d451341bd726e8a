"""Command-line flags as pflag reads them and usage as etcdctl prints it. Pure.

Models github.com/spf13/pflag (flag.go) and etcd etcdctl/util/help.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec


class Flag(NamedTuple):
    """One flag; kind is bool, string, int, duration or list."""

    name: str
    kind: str
    default: Any
    usage: str
    short: str = ""


class FlagError(Exception):
    """The command line is wrong; pflag's words."""


HELP = Flag("help", "bool", False, "help for {}", "h")


class Parsed(msgspec.Struct):
    """What a command line says: every flag's value, those that were given, and the words."""

    values: dict[str, Any]
    given: set[str]
    words: list[str]


def parse(arguments: Sequence[str], known: Sequence[Flag]) -> Parsed:
    """Flags and words in any order, up to `--`. Raises FlagError."""
    by_name = {flag.name: flag for flag in known}
    by_short = {flag.short: flag for flag in known if flag.short}
    out = Parsed({flag.name: flag.default for flag in known}, set(), [])
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            out.words += rest
            break
        if word.startswith("--"):
            _long(word, by_name, rest, out)
        elif word.startswith("-") and len(word) > 1:
            _shorts(word, by_short, rest, out)
        else:
            out.words.append(word)
    return out


def _long(word: str, by_name: dict[str, Flag], rest: list[str], out: Parsed) -> None:
    name, equals, text = word[2:].partition("=")
    flag = by_name.get(name)
    if not name or name.startswith("-"):
        raise FlagError(f"bad flag syntax: {word}")
    if flag is None:
        raise FlagError(f"unknown flag: --{name}")
    if not equals:
        if flag.kind == "bool":
            text = "true"
        elif rest:
            text = rest.pop(0)
        else:
            raise FlagError(f"flag needs an argument: --{name}")
    _set(flag, text, out, f"--{name}")


def _shorts(word: str, by_short: dict[str, Flag], rest: list[str], out: Parsed) -> None:
    shorts = word[1:]
    while shorts:
        letter, shorts = shorts[0], shorts[1:]
        flag = by_short.get(letter)
        if flag is None:
            raise FlagError(f"unknown shorthand flag: '{letter}' in {word}")
        text = "true"
        if shorts.startswith("="):
            text, shorts = shorts[1:], ""
        elif flag.kind != "bool":
            if not shorts and not rest:
                raise FlagError(f"flag needs an argument: '{letter}' in {word}")
            text, shorts = shorts or rest.pop(0), ""
        _set(flag, text, out, f"-{letter}, --{flag.name}")


def _set(flag: Flag, text: str, out: Parsed, shown: str) -> None:
    why = ""
    if flag.kind == "bool":
        if text.lower() not in _BOOLS:
            why = f'strconv.ParseBool: parsing "{text}": invalid syntax'
        else:
            out.values[flag.name] = _BOOLS[text.lower()]
    elif flag.kind == "int":
        try:
            out.values[flag.name] = number(text)
        except ValueError:
            why = f'strconv.ParseInt: parsing "{text}": invalid syntax'
    else:
        out.values[flag.name] = text
    if why:
        raise FlagError(f'invalid argument "{text}" for "{shown}" flag: {why}')
    out.given.add(flag.name)


_BOOLS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}


def number(text: str, base: int = 10) -> int:
    """Go's ParseInt of 64 bits. Raises ValueError."""
    plain = text.lstrip("+-")
    if not plain.isalnum() or not plain.isascii() or len(text) - len(plain) > 1:
        raise ValueError(text)
    value = int(text, base)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(text)
    return value


def options(flags: Sequence[Flag]) -> list[str]:
    """The lines that describe flags, in columns."""
    rows = []
    for flag in sorted(flags):
        head = f"  -{flag.short}, --{flag.name}" if flag.short else f"      --{flag.name}"
        if flag.kind == "bool":
            head += f"[={str(flag.default).lower()}]"
        elif flag.kind == "string":
            head += f'="{flag.default}"'
        else:
            head += f"=[{flag.default}]" if flag.kind == "list" else f"={flag.default}"
        rows.append((head, flag.usage))
    return columns(rows)


def columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Two columns, the second where Go's tabwriter begins it."""
    width = (max((len(head) for head, _ in rows), default=0) + 1 + 7) // 8 * 8
    return [head + "\t" * -(-(width - len(head)) // 8) + text for head, text in rows]
