"""The commands of etcdctl as data: their words, flags, help and an example each.

Those that are refused by name say why; nothing of etcdctl is silently ignored.

Models etcd etcdctl/ctlv3/ctl.go and the `New...Command` functions of ctlv3/command.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lifecycle import catalog
from lifecycle.etcdctl.flags import Flag


class Command(NamedTuple):
    """One command; `program` finds its function by `name`."""

    name: str  # "lease grant"
    use: str
    about: str
    example: str


_ZERO = {"bool": False, "int": 0, "string": ""}


def _flags(data: dict[str, dict[str, Any]]) -> tuple[Flag, ...]:
    return tuple(
        Flag(
            name,
            flag["kind"],
            flag["default"] if "default" in flag else _ZERO[flag["kind"]],
            flag["usage"],
            flag.get("short", ""),
        )
        for name, flag in data.items()
    )


_DATA = catalog.etcdctl()
GLOBAL = _flags(_DATA["flags"])
COMMANDS = tuple(
    Command(name, command["use"], command["about"], command["example"])
    for name, command in _DATA["commands"].items()
)
FLAGS = {
    name: _flags(command["flags"])
    for name, command in _DATA["commands"].items()
    if "flags" in command
}
# what etcd has and this one has not, with the reason
REFUSED: dict[str, str] = _DATA["refused"]
