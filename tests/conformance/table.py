"""The table of clients and commands that the conformance tests print behind them."""

from __future__ import annotations

import pytest

_cells: dict[str, dict[str, dict[str, str]]] = {}


def note(which: str, command: str, client: str, what: str) -> None:
    """ok, NO, or - for a command that the client does not have."""
    _cells.setdefault(which, {}).setdefault(command, {})[client] = what


def show(config: pytest.Config, which: str) -> None:
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(render(which), end="")  # noqa: T201 -- the table is what a person runs this for


def render(which: str) -> str:
    """Commands down, clients across."""
    found = _cells.get(which, {})
    clients = sorted({client for row in found.values() for client in row}, key=_by_version)
    rows = [["command", *clients]]
    for command, cells in found.items():
        rows.append([command, *(cells.get(client, "?") for client in clients)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n\n" + "\n".join(lines) + "\n"


def _by_version(client: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else -1, part) for part in client.split(".")]
