"""What the tests of this process have open now: clusters, demos, windows on them.

Whoever opens one says so here, so that a test that fails can leave what was there. Nothing is kept
alive by it.
"""

from __future__ import annotations

import weakref
from typing import Any

LAST = 3  # of each kind: what a test failed with was opened lately

_OPENED: dict[str, list[weakref.ref[Any]]] = {}
CLUSTERS, DEMOS, WINDOWS = "clusters", "demos", "windows"


def note(kind: str, what: Any) -> None:
    _OPENED.setdefault(kind, []).append(weakref.ref(what))


def gone(kind: str, what: Any) -> None:
    _OPENED[kind] = [ref for ref in _OPENED.get(kind, ()) if ref() not in (what, None)]


def last(kind: str) -> list[Any]:
    """Those of a kind that were opened last and are there still, in their order."""
    alive = [ref for ref in _OPENED.get(kind, ()) if ref() is not None]
    _OPENED[kind] = alive
    return [found for ref in alive[-LAST:] if (found := ref()) is not None]
