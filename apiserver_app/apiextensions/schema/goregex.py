"""Patterns of schemas: RE2 as in Go, so that every match takes linear time.

The engine is loaded with the first pattern.

Models kube-openapi pkg/validation/validate/values.go (Pattern).
"""

from __future__ import annotations


def finding(pattern: str) -> str:
    """Go's error for an invalid regular expression; empty if it is valid."""
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
