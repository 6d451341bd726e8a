"""Whole pod templates in Go's %#v syntax, as a field error prints them up to 1.33: what kubectl
shows when the template of a Job is changed.

For a pointer Go prints the address, and there are no addresses here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.validation import gosyntax, gotypes

_PREDECLARED = ("string", "bool", "int", "int32", "int64")
_PACKAGE = re.compile(r"(?:core|meta)\.v1\.|metav1\.")


def text(value: Any, kind: str, version: Release) -> errors.GoText:
    """A value of a Go type such as `core.v1.PodTemplateSpec`, as a bad value."""
    return errors.GoText(_printer(version).of(value, kind, ""))


@functools.lru_cache(maxsize=4)
def _printer(version: Release) -> _Printer:
    return _Printer(version)


class _Printer:
    """The text of values by the Go types of one release."""

    def __init__(self, version: Release) -> None:
        self._types = gotypes.Types(version)

    def of(self, value: Any, kind: str, package: str) -> str:
        sort, package, full = self._types.resolve(kind, package)
        if sort == "pointer":
            return gosyntax.pointer(_named(kind.removeprefix("*"), package), value)
        if sort == "scalar":
            return _SCALARS.get(full, _word)(value)
        if full == "meta.v1.ObjectMeta":
            return gosyntax.object_meta(value or {})
        if sort == "struct":
            return self._struct(value, full)
        named = _named(kind, package)
        if not value:
            return f"{named}(nil)"
        if sort == "slice":
            return f"{named}{{{', '.join(self.of(item, full[2:], package) for item in value)}}}"
        inner = full[full.index("]") + 1 :]
        pairs = (
            f"{errors.go_value(key)}:{self.of(value[key], inner, package)}" for key in sorted(value)
        )
        return f"{named}{{{', '.join(pairs)}}}"

    def _struct(self, value: Any, full: str) -> str:
        held = gotypes.fields_of(full, value)
        package = full.rpartition(".")[0]
        parts = (
            f"{name}:{self.of(held if key == '.' else held.get(key), inner, package)}"
            for name, inner, key in self._types.structs[full]
        )
        return f"{_named(full, '')}{{{', '.join(parts)}}}"


def _named(kind: str, package: str) -> str:
    """The name of a type as code of another package writes it: `[]core.Container`."""
    for mark in ("*", "[]"):
        if kind.startswith(mark):
            return mark + _named(kind.removeprefix(mark), package)
    if kind.startswith("map["):
        return kind
    if "." not in kind and kind not in _PREDECLARED:
        kind = f"{package}.{kind}"
    return _PACKAGE.sub(lambda match: "v1." if "meta" in match[0] else match[0][:-3], kind)


def _word(value: Any) -> str:
    return errors.go_value(value or "")


def _number(value: Any) -> str:
    return str(value or 0)


_SCALARS: Mapping[str, Callable[[Any], str]] = {
    "bool": lambda value: errors.go_value(bool(value)),
    "int": _number,
    "int32": _number,
    "int64": _number,
    "resource.Quantity": lambda value: gosyntax.quantity(value or "0"),
}
