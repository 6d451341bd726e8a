"""Cells of custom resources: by the type their column declares."""

from __future__ import annotations

import types
from typing import Any

import pytest

from apiserver_app.http.tables import customresources
from apiserver_app.machinery import meta

NOW = meta.parse_time("2022-02-16T15:57:50Z")


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "a", "a"), ("string", 3.0, "3"), ("string", 0.5, "0.5"),
        ("string", True, "true"),
        ("string", {"b": 1, "a": [2]}, '{"a":[2],"b":1}'), ("string", None, "<no value>"),
        ("integer", 3.9, 3), ("integer", "3", None), ("integer", None, None), ("number", 3, 3.0),
        ("boolean", False, False), ("boolean", "x", None), ("date", "x", "<invalid>"),
        ("date", "2022-02-16T15:53:28Z", "4m22s"), ("date", "", "<unknown>"),
    ],
)  # fmt: skip
def test_a_cell_is_of_its_columns_type_or_empty(kind: str, value: Any, cell: Any) -> None:
    custom: Any = types.SimpleNamespace(columns=[{"name": "A", "type": kind, "jsonPath": ".a"}])

    assert customresources.row(custom, {"metadata": {"name": "x"}, "a": value}, NOW) == ["x", cell]
    assert customresources.row(custom, {"metadata": {"name": "x"}}, NOW) == ["x", None]
