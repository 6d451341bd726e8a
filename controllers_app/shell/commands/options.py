"""Options of commands, as getopt reads them. Pure."""

from __future__ import annotations

from controllers_app.shell.exits import CommandError
from controllers_app.shell.interpreter import Call


def options(
    call: Call, accepted: str, valued: str = "", args: list[str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """({letter: value}, the other words). An option that is not known ends the command."""

    parsed: dict[str, str] = {}
    rest: list[str] = []
    words = list(call.args if args is None else args)
    while words:
        word = words.pop(0)
        if word == "--":
            return parsed, rest + words
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            parsed[name] = value
            continue
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in valued:
                parsed[letter] = word[place:] or (words.pop(0) if words else "")
                break
            if letter not in accepted:
                problem = (
                    "unrecognized option: " if call.machine.is_busybox else "invalid option -- "
                )
                mark = "" if call.machine.is_busybox else "'"
                raise CommandError(f"{call.name}: {problem}{mark}{letter}{mark}", 1)
            parsed[letter] = ""
    return parsed, rest
