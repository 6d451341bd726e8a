"""A task of the kernel, and how it is cancelled."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any


class Cancelled(BaseException):
    """Thrown into a cancelled task, which cleans up and lets it propagate."""


class Task:
    """A coroutine and its state. `span` is the trace record to which its hops belong; `looked`
    counts what it looks up in caches, while somebody wants to know: by resource and how, the times
    and how many objects were found."""

    __slots__ = (
        "awaited",
        "background",
        "coro",
        "done",
        "epoch",
        "error",
        "label",
        "lane",
        "looked",
        "name",
        "on_done",
        "span",
        "throw",
    )

    def __init__(
        self,
        name: str,
        coro: Coroutine[Any, Any, Any],
        lane: int,
        background: bool,
        span: int,
        label: bytes,
    ) -> None:
        self.name = name
        self.label = label
        self.coro = coro
        self.lane = lane
        self.background = background
        self.span = span
        self.epoch = 0  # grows at each suspension, so that a stale wake-up is ignored
        self.awaited = False  # its error is raised where it is awaited
        self.done = False
        self.error: BaseException | None = None
        self.throw: BaseException | None = None
        self.looked: dict[tuple[str, str], list[int]] | None = None
        self.on_done: list[Callable[[Task], object]] = []
