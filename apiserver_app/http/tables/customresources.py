"""Columns and rows of custom resources: those their definition names, or name and age.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/
tableconvertor/tableconvertor.go and pkg/apiserver/helpers.go (getColumnsForVersion).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.apiextensions import jsonpath
from apiserver_app.http.tables import cells
from apiserver_app.machinery.meta import Custom, Object


def columns(custom: Custom, plain: Sequence[Object]) -> list[Object]:
    """The column definitions of one version; `plain` are those of name and age."""
    name, age = plain
    shown: list[Object] = [name]
    if not custom.columns:
        return [name, {**age, "type": "date"}]
    for column in _usable(custom):
        path = column["jsonPath"]
        shown.append(
            {
                "name": column["name"],
                "type": column["type"],
                "format": column.get("format") or "",
                "description": column.get("description")
                or f"Custom resource definition column (in JSONPath format): {path}",
                "priority": column.get("priority") or 0,
            }
        )
    return shown


def row(custom: Custom, obj: Object, now: int) -> list[Any]:
    """The cells of one object. `now` is in microseconds since 1970."""
    out: list[Any] = [cells.name(obj)]
    if not custom.columns:
        return [*out, cells.age(obj, now)]
    for column in _usable(custom):
        values = jsonpath.find(obj, column["jsonPath"])
        out.append(_cell(column["type"], values[0], now) if values else None)
    return out


def _usable(custom: Custom) -> Sequence[Object]:
    """The columns up to the first whose path cannot be read."""
    for number, column in enumerate(custom.columns):
        try:
            jsonpath.compile(column["jsonPath"])
        except jsonpath.BadPath:
            return custom.columns[:number]
    return custom.columns


def _cell(kind: str, value: Any, now: int) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "string":
        return "<no value>" if value is None else jsonpath.printed(value)
    if kind == "integer":
        return int(value) if is_number else None
    if kind == "number":
        return float(value) if is_number else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "date" and isinstance(value, str):
        try:
            return cells.since(value, now)
        except ValueError:
            return "<invalid>"
    return None
