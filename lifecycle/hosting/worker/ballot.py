"""What those who look at a cluster expect of a scheduling cycle that is held: one answer a page.

It is nothing that happens to the cluster: it is neither logged nor recorded, and ends with the
worker. Only counts are told, never who said what.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

PAGES_MAX = 500  # that are remembered; a class has some thirty


class Ballot:
    """The answers about one cycle, the newest that was asked about."""

    def __init__(self) -> None:
        self._span = 0
        self._answers: dict[str, str] = {}  # page -> node

    def cast(self, span: int, page: str, node: str) -> bool:
        """The last answer of a page counts. False when no more pages are remembered."""
        if span != self._span:
            self._span, self._answers = span, {}
        if page not in self._answers and len(self._answers) >= PAGES_MAX:
            return False
        self._answers[page] = node
        return True

    def shown(self) -> dict[str, Any] | None:
        """The cycle by its span, and how many say which node; None before anybody has answered."""
        if not self._answers:
            return None
        counts = Counter(self._answers.values())
        return {"span": self._span, "counts": dict(sorted(counts.items()))}
