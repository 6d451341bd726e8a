"""Compact JSON that is kept: in a buffer of its size.

orjson gives bytes in the buffer that it reserved, 4 KiB for the shortest text.
"""

from __future__ import annotations

from typing import Any

import orjson


def encode(value: Any, *, sort_keys: bool = False) -> bytes:
    return bytes(memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else 0)))
