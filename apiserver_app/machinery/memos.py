"""Answers kept for the same question, in dicts of bounded size."""

from __future__ import annotations

from typing import Any


def make_room(memo: dict[Any, Any], most: int) -> None:
    """Forgets every eighth entry of a memo that is full. To forget all of them would make it
    useless once there are more questions than places: each would have to be worked out again."""
    if len(memo) >= most:
        for key in list(memo)[::8]:
            del memo[key]
