"""Compiling many expressions in steps, so that others have their turn in between.

What compiles is called again from its beginning after each pause; what it has compiled before is
at hand then, in the same order. From where it compiles something else it is done anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from types import TracebackType
from typing import Any, TypeVar

from apiserver_app.cel.errors import CompileError

CHARACTERS = 10_000  # of expressions, that are compiled in a step
EACH = 500  # that an expression counts besides its own

T = TypeVar("T")
_under_way: Steps | None = None


class Unfinished(BaseException):
    """Enough is compiled for this step."""


class Steps:
    """What one piece of work has compiled so far."""

    def __init__(self) -> None:
        self._done: list[tuple[Hashable, Any]] = []
        self._next = self._left = 0

    def __enter__(self) -> None:
        global _under_way
        self._next, self._left = 0, CHARACTERS
        _under_way = self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _under_way
        _under_way = None

    def take(self, expression: str, among: Hashable, compile_one: Callable[[], T]) -> T:
        what = (expression, among)
        if self._next < len(self._done) and self._done[self._next][0] != what:
            del self._done[self._next :]
        if self._next == len(self._done):
            if self._left <= 0:
                raise Unfinished
            self._left -= len(expression) + EACH
            try:
                self._done.append((what, compile_one()))
            except CompileError as error:
                self._done.append((what, error))
        _, done = self._done[self._next]
        self._next += 1
        if isinstance(done, CompileError):
            raise done
        result: T = done
        return result


def take(expression: str, among: Hashable, compile_one: Callable[[], T]) -> T:
    """The result of compiling an expression, among such variables. Raises Unfinished when enough
    is compiled for a step."""
    if _under_way is None:
        return compile_one()
    return _under_way.take(expression, among, compile_one)


async def in_steps(pause: Callable[[], Awaitable[None]], work: Callable[[], T]) -> T:
    """The result of `work`, which compiles, has no effects, and does not suspend."""
    steps = Steps()
    while True:
        try:
            with steps:
                return work()
        except Unfinished:
            await pause()
