"""Regular expressions: RE2, as upstream's, so no pattern takes more than linear time.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/regex.go.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import re2

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare

PATTERNS_CACHED_MAX = 256
MEMORY_MAX = 1 << 20  # bytes that one pattern's program may take


class PatternError(EvaluationError):
    """A text that is no regular expression; upstream's words."""


_REASONS = {
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "invalid repetition size": "invalid repeat count",
}


@functools.lru_cache(PATTERNS_CACHED_MAX)
def compiled(pattern: str) -> Any:
    """A compiled pattern. Raises PatternError."""
    options = re2.Options()
    options.max_mem = MEMORY_MAX
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"error parsing regexp: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    text = text.decode() if isinstance(text, bytes) else str(text)
    reason, colon, rest = text.partition(": ")
    return f"{_REASONS.get(reason, reason)}{colon}{'`' + rest + '`' if rest else ''}"


def _find(text: str, pattern: str) -> str:
    match = compiled(pattern).search(text)
    return match.group() if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches: list[str] = []
    if limit == 0:
        return matches
    for match in compiled(pattern).finditer(text):
        matches.append(match.group())
        if len(matches) == limit:
            break
    return matches


def _cost(text: str, pattern: str, *given: Any) -> int:
    return math.ceil((1 + len(text)) * 0.1) * math.ceil(len(pattern) * 0.25)


declare("string.find(string) string", _find, _cost)
declare("string.findAll(string) list(string)", _find_all, _cost)
declare("string.findAll(string, int) list(string)", _find_all, _cost)
