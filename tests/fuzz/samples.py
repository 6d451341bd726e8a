"""How many examples the random tests try."""

from __future__ import annotations

from tests.conftest import FUZZ
from tests.suite import sizes

PART = 4


def examples(count: int) -> int:
    """So many in the long suite, and for `make fuzz`; a quarter in the usual one."""
    return count if sizes.is_long() or FUZZ > 1 else count // PART
