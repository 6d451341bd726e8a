"""Validation that lists of type set or map have no duplicates.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/
validation.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apiserver_app.apiextensions.schema import govalues, structural
from apiserver_app.apiextensions.schema.structural import Node
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError


def validate(value: Any, node: Node | None, path: str = "") -> list[FieldError]:
    """The duplicates in the sets and maps of a value."""
    errs: list[FieldError] = []
    if node is not None:
        _validate(value, node, path, errs)
    return errs


def _validate(value: Any, node: Node, path: str, errs: list[FieldError]) -> None:
    if isinstance(value, list):
        if node.list_type == "set":
            for index in _duplicate_indexes(value):
                errs.append(errors.duplicate(f"{path}[{index}]", govalues.printed(value[index])))
        elif node.list_type == "map":
            _validate_keys(value, node.list_keys, path, errs)
    for item, child, at in structural.below(value, node, path):
        _validate(item, child, at, errs)


def _validate_keys(
    items: list[Any], names: Sequence[str], path: str, errs: list[FieldError]
) -> None:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            message = "must be an object for an array of list-type map"
            printed = govalues.printed(item)
            errs.append(errors.invalid_value(f"{path}[{index}]", printed, message))
            return
    keys = [{name: item[name] for name in names if name in item} if item else {} for item in items]
    for index in _duplicate_indexes(keys):
        errs.append(errors.duplicate(f"{path}[{index}]", govalues.printed(keys[index])))


def _duplicate_indexes(items: Sequence[Any]) -> list[int]:
    """The index of the second occurrence of each duplicate; a third is not reported."""
    times: dict[bytes, int] = {}
    indexes = []
    for index, item in enumerate(items):
        key = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            indexes.append(index)
    return indexes
