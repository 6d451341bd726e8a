"""How commands come to an end otherwise than by an exit code of their own."""

from __future__ import annotations

KILLED = 128  # and the signal's number: what a command that was killed ends with
NUMBERS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13,
    "ALRM": 14, "TERM": 15, "CONT": 18, "STOP": 19,
}  # fmt: skip
_NAMES = {str(number): name for name, number in NUMBERS.items()}


class CommandError(Exception):
    """The command cannot be run; the text is for standard error."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


class Exit(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Return(Exit):
    pass


class Break(Exception):
    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__(levels)
        self.levels, self.again = levels, again


class Interrupted(Exception):
    """Ctrl-C: the command that runs ends."""


class OutputFull(Exception):
    """Nobody takes so much: the command ends as by SIGPIPE."""


class TimedOut(Exception):
    """The time that `timeout` gives is over."""


def signal_name(text: str) -> str:
    """TERM for TERM, SIGTERM, term and 15; empty when there is no such signal."""
    name = text.upper().removeprefix("SIG")
    name = _NAMES.get(name, name)
    return name if name in NUMBERS or name == "0" else ""
