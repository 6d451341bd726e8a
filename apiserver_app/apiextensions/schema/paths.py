"""Paths of fields as upstream writes them: `spec.list[0].map[key]`.

Models kubernetes apimachinery pkg/util/validation/field/path.go.
"""

from __future__ import annotations


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def key(path: str, name: str) -> str:
    return f"{path}[{name}]"
