"""No module imports another that needs it in turn: not for a type, and not inside of a function."""

from __future__ import annotations

from collections.abc import Container, Iterator

from tests.tidy import sources


def test_imports_go_one_way() -> None:
    assert [" <-> ".join(circle) for circle in _circles()] == []


def _circles() -> list[tuple[str, ...]]:
    """Groups of modules of which each needs all others. Models Tarjan's algorithm."""
    graph = _graph()
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
    return out


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
