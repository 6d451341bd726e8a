"""Patterns of schemas: RE2, as Go's, so that no pattern takes more than linear time.

The engine is loaded with the first pattern that is used.

Models kube-openapi pkg/validation/validate/values.go (Pattern).
"""

from __future__ import annotations


def finding(pattern: str) -> str:
    """Why a text is no regular expression, in Go's words; empty when it is one."""
    from apiserver_app.cel.library import regex

    try:
        regex.compiled(pattern)
    except regex.PatternError as error:
        return str(error)
    return ""


def matches(pattern: str, text: str) -> bool:
    """Whether the text contains a match; a pattern that cannot be compiled matches nothing."""
    from apiserver_app.cel.library import regex

    try:
        return regex.compiled(pattern).search(text) is not None
    except regex.PatternError:
        return False
