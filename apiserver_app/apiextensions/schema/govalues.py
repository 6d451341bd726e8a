"""Formats untyped values as Go prints them in a field error: maps and lists of interface{}.

Models kubernetes apimachinery pkg/util/validation/field/errors.go (ErrorBody, `%#v`).
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors


def printed(value: Any) -> Any:
    """The bad value of a field error: scalars unchanged, all else in Go's syntax."""
    return errors.GoText(_text(value)) if isinstance(value, (dict, list)) else value


def _text(value: Any) -> str:
    if isinstance(value, dict):
        items = ", ".join(f"{errors.go_value(key)}:{_text(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_text, value))}}}"
    return "interface {}(nil)" if value is None else errors.go_value(value)
