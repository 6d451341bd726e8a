"""Nodes that are alike: what is worked out for one of a kind holds for all of them.

A cluster of thousands has few kinds, so an attempt costs little more there than in a small one.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from controllers_app.scheduler.nodeinfo import ZONE, NodeInfo

_number, _labels, _zone = map(operator.attrgetter, ("alike", "labels", "zone"))


def kinds_of(nodes: Sequence[NodeInfo], columns: Iterable[Sequence[Any]] = ()) -> list[Any]:
    """Of each node what it has in common with those that are as large, as full and as tainted, and
    have the same images and the same in the columns."""
    numbers, more = map(_number, nodes), [*columns]
    return [*zip(numbers, *more, strict=True)] if more else [*numbers]


def values_of(nodes: Sequence[NodeInfo], label: str) -> list[Any]:
    """Each node's value of the label; None without it."""
    if label == ZONE:  # asked about for each pod of a Service
        return [*map(_zone, nodes)]
    return [*map(operator.methodcaller("get", label), map(_labels, nodes))]
