"""Whether what clients saw of one key has an order in which a register would have answered so.

An operation takes effect at one moment between its start and its end. One whose outcome is unknown
took effect at any moment after its start, or never. Values are unique, None is no object.

After Wing and Gong, with the memory of Lowe, as Porcupine has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

GET, CREATE, PUT, CAS, DELETE = "get", "create", "put", "cas", "delete"
OK, ABSENT, EXISTS, CONFLICT, UNKNOWN = "ok", "absent", "exists", "conflict", "unknown"
IMPOSSIBLE = object()


class Operation(NamedTuple):
    """What one client did. `value` is what it wrote, or read; `expected` what a CAS builds on."""

    start: float
    end: float  # math.inf when it is not known to have ended
    kind: str
    outcome: str
    value: str | None = None
    expected: str | None = None
    revision: int = 0


def is_linearizable(history: Sequence[Operation]) -> bool:
    operations = sorted(
        operation for operation in history if operation.kind != GET or operation.outcome != UNKNOWN
    )
    known = sum(1 << n for n, one in enumerate(operations) if one.outcome != UNKNOWN)
    seen: set[tuple[int, Any]] = set()
    stack: list[tuple[int, str | None]] = [(0, None)]  # what took effect, the value then
    while stack:
        done, value = stack.pop()
        if done & known == known:
            return True
        if (done, value) in seen:
            continue
        seen.add((done, value))
        left = [n for n in range(len(operations)) if not done >> n & 1]
        first_end = min(operations[n].end for n in left)
        for n in left:
            if operations[n].start > first_end:
                break
            after = _after(operations[n], value)
            if after is not IMPOSSIBLE:
                stack.append((done | 1 << n, after))
    return False


def _after(operation: Operation, value: str | None) -> Any:
    """The register's value after the operation; IMPOSSIBLE if it could not have ended so."""
    kind, outcome = operation.kind, operation.outcome
    if kind == GET:
        return value if operation.value == value else IMPOSSIBLE
    if outcome in (EXISTS, ABSENT):
        return value if (value is None) == (outcome == ABSENT) else IMPOSSIBLE
    if outcome == CONFLICT:
        return value if value not in (None, operation.expected) else IMPOSSIBLE
    if kind == CREATE:
        return operation.value if value is None else IMPOSSIBLE
    if value is None or kind == CAS and value != operation.expected:
        return IMPOSSIBLE
    return None if kind == DELETE else operation.value


def unknown(operation: Operation) -> Operation:
    return operation._replace(end=math.inf, outcome=UNKNOWN)
