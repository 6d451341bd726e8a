"""Give memory that was freed back to the system, where the C library can (glibc).

Start-up frees a good deal that was needed once (parsed schemas, bootstrap objects); without this
the process would keep it for good.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable


def trim() -> bool:
    """Releases free memory, which takes a few milliseconds; returns whether there was any."""
    call = _malloc_trim()
    return bool(call(0)) if call is not None else False


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
    return found
