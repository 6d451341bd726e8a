"""Deleted keys, and the revision of their delete: a key that is created again follows on it.

Most are never created again (events, pods), and each would take some 200 bytes for good. So the
newest are kept; of an older one only a trace in a Bloom filter, which for few keys wrongly says
that they were there. The log knows.
"""

from __future__ import annotations

from collections.abc import Callable

KEPT_MAX = 4096
FILTER_BITS = 1 << 20


class Tombstones:
    """`find`: the revision of a committed delete that is the key's newest row, else 0."""

    def __init__(self, find: Callable[[str], int]) -> None:
        self._find = find
        self._kept: dict[str, int] = {}  # the oldest first
        self._older = bytearray(FILTER_BITS // 8)

    def add(self, key: str, revision: int, committed: int) -> None:
        """Keeps a delete. The older half of what is too many leaves, as far as it is committed."""
        kept = self._kept
        kept[key] = revision
        if len(kept) > KEPT_MAX and next(iter(kept.values())) <= committed:
            oldest = list(kept.items())[: len(kept) // 2]
            for old in [name for name, at in oldest if at <= committed]:
                del kept[old]
                for bit in _bits(old):
                    self._older[bit >> 3] |= 1 << (bit & 7)

    def take(self, key: str) -> int:
        """The revision that a new value of the key follows on; 0 when it never was there."""
        if key in self._kept:
            return self._kept.pop(key)
        older = self._older
        first, second = _bits(key)
        if older[first >> 3] >> (first & 7) & older[second >> 3] >> (second & 7) & 1:
            return self._find(key)
        return 0

    def clear(self, until: int) -> None:
        """The log knows nothing of deletes up to this revision any more."""
        self._kept = {key: at for key, at in self._kept.items() if at > until}


def _bits(key: str) -> tuple[int, int]:
    code = hash(key)
    return code % FILTER_BITS, (code >> 32) % FILTER_BITS
