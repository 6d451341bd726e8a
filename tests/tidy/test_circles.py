"""No module imports another that needs it in turn: not for a type, and not inside of a function."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator
from pathlib import Path

import pytest

from tests.tidy import sources

# at run time: what a script names in a comment for its type is not loaded
SCRIPT_IMPORT = re.compile(r"^(?:import|export)[^;]*? from '(\.[^']+)';", re.M | re.S)


def test_imports_go_one_way() -> None:
    assert _circles(_graph()) == []


def test_the_scripts_imports_go_one_way() -> None:
    graph = _script_graph()
    assert len(graph) > 100
    assert _circles(graph) == []


def test_the_rooms_of_the_page_are_floors() -> None:
    rooms = _rooms(_script_graph(), lambda script: str(Path(script).parent))
    assert len(rooms) > 15
    assert _circles(rooms) == []


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_packages_are_floors(depth: int) -> None:
    rooms = _rooms(_graph(), lambda module: ".".join(module.split(".")[:depth]))
    assert len(rooms) > 25
    assert _circles(rooms) == []


def _rooms(graph: dict[str, list[str]], room_of: Callable[[str], str]) -> dict[str, list[str]]:
    """Room -> the other rooms that its modules import from."""
    rooms: dict[str, set[str]] = {}
    for module, needed in graph.items():
        rooms.setdefault(room_of(module), set()).update(room_of(one) for one in needed)
    return {room: sorted(needed - {room}) for room, needed in rooms.items()}


def _circles(graph: dict[str, list[str]]) -> list[str]:
    """Groups of modules of which each needs all others. Models Tarjan's algorithm."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    out: list[tuple[str, ...]] = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        stack.append(module)
        for needed in graph[module]:
            if needed not in numbers:
                visit(needed)
                lowest[module] = min(lowest[module], lowest[needed])
            elif needed in stack:
                lowest[module] = min(lowest[module], numbers[needed])
        if lowest[module] == numbers[module]:
            place = stack.index(module)
            circle, stack[place:] = stack[place:], []
            if len(circle) > 1:
                out.append(tuple(sorted(circle)))

    for module in graph:
        if module not in numbers:
            visit(module)
    return [" <-> ".join(circle) for circle in out]


def _script_graph() -> dict[str, list[str]]:
    """Script of the page -> the scripts that it loads."""
    pages = [path for path in sources.scripts() if path.is_relative_to(sources.ROOT / "static")]
    return {
        sources.name(path): sorted(
            os.path.normpath(os.path.join(os.path.dirname(sources.name(path)), needed))
            for needed in SCRIPT_IMPORT.findall(path.read_text())
        )
        for path in pages
        if path.suffix == ".js"
    }


def _graph() -> dict[str, list[str]]:
    """Module -> the modules that it imports, wherever in the file."""
    modules = {_dotted(sources.name(path)): path for path in sources.product()}
    return {
        module: sorted({*_needed(list(sources.imported(path)), modules)} - {module})
        for module, path in modules.items()
    }


def _needed(names: list[str], modules: Container[str]) -> Iterator[str]:
    for name in names:
        if name in modules:
            yield name
        elif (module := name.rpartition(".")[0]) in modules:
            yield module


def _dotted(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
