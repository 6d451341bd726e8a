"""The worker's memory: garbage is collected in the gaps, and what is free goes back to the system.

Start-up frees a good deal that was needed once (parsed schemas, bootstrap objects); without `trim`,
where the C library can (glibc), the process would keep it for good.
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable

YOUNG_MAX = 10_000  # objects that a collection looks at: some milliseconds
# new objects, before all are looked at again, which takes a tenth of a second: so many at least,
# and this part of all when there is nothing else to do
GROWN_MIN, SHARE = 100_000, 4
COUNTED = 8  # times, at most, until they have become so many

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # glibc's malloc.h
TRIM_BYTES, MAPPED_BYTES = 1 << 20, 256 << 10


def bound_heap() -> None:
    """One heap for all threads, which would keep what each grew to; and a block of its own for what
    is large, given back as soon as it is free. Left alone, glibc takes even 32 MiB from the heap
    once it has freed as much, and a flood of large bodies leaves holes there.
    """
    call = getattr(ctypes.CDLL(None), "mallopt", None)
    if call is not None:
        call(M_ARENA_MAX, 1)
        call(M_TRIM_THRESHOLD, TRIM_BYTES)
        call(M_MMAP_THRESHOLD, MAPPED_BYTES)


def trim() -> bool:
    """Releases free memory, which takes a few milliseconds; returns whether there was any."""
    call = _malloc_trim()
    return bool(call(0)) if call is not None else False


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
    return trim


class Collector:
    """Collects garbage little by little, so that nobody waits for it long.

    What a collection finds alive lives long (caches, indexes) and is not looked at again until it
    has grown by a share of all: then what has died in it since is found, too. What has been freed
    meanwhile, as most that is replaced, does not count: it is seen when all are counted, which
    takes a hundredth of the time.
    """

    def __init__(self) -> None:
        self._alive = 0  # when all were looked at
        self._grown = 0  # by so many, when they were last counted
        self._since = 0  # what came since then

    def start(self) -> None:
        """What starting left is looked at with all else, later: somebody waits for the start."""
        gc.disable()
        gc.freeze()
        self._alive = gc.get_freeze_count()

    def stop(self) -> None:
        gc.unfreeze()
        gc.enable()

    def tidy(self, *, idle: bool) -> None:
        """Called between slices; `idle` when nothing is to be done just now."""
        young = gc.get_count()[0]
        if young <= YOUNG_MAX:
            return
        self._since += young - gc.collect(1)
        gc.freeze()
        most = max(GROWN_MIN, self._alive // (SHARE if idle else 1))
        if self._since > max(most - self._grown, most // COUNTED):
            self._grown, self._since = gc.get_freeze_count() - self._alive, 0
            if self._grown > most:
                self._all()
        if idle:
            trim()

    def _all(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._alive, self._grown = gc.get_freeze_count(), 0
