"""Facts about the Go types that the published schemas omit: order, numbers, pointers, zero values.

Read from `data/gofields.txt` (its format is described in `data/extract.py`). A message is parsed
when first asked for. The table is of the newest version: fields only later versions have are
skipped where they are compared with a schema.

Models kubernetes staging/src/k8s.io/api/*/*/{types.go,generated.proto}.
"""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any, NamedTuple

from apiserver_app.machinery import memos

_PREFIXES = (
    ("io.k8s.api.", ""),
    ("io.k8s.apimachinery.pkg.apis.", ""),
    ("io.k8s.apimachinery.pkg.api.", ""),
    ("io.k8s.apimachinery.pkg.util.", ""),
    ("io.k8s.apimachinery.pkg.", ""),
    ("io.k8s.apiextensions-apiserver.pkg.apis.", ""),
    ("io.k8s.kube-aggregator.pkg.apis.", ""),
)

ARRANGED_MAX = 4096
_arranged: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}  # by message and keys


class GoField(NamedTuple):
    """One field of a Go struct."""

    number: int
    name: str  # in JSON
    type: str  # s b i l d y []x {}x @message
    pointer: bool
    always: bool  # written even when zero
    inline: bool
    known: bool  # whether pointer and always are known
    go_type: str  # the Go type's own name, or empty


@functools.lru_cache(maxsize=4096)
def short(definition: str) -> str:
    """`core.v1.Pod` of `io.k8s.api.core.v1.Pod`."""
    for prefix, instead in _PREFIXES:
        if definition.startswith(prefix):
            return instead + definition[len(prefix) :]
    return definition


@functools.cache
def _lines() -> dict[str, str]:
    file = importlib.resources.files("apiserver_app.machinery.types.data") / "gofields.txt"
    pairs = (line.partition("=") for line in file.read_text().splitlines())
    return {name: fields for name, _, fields in pairs}


@functools.lru_cache(maxsize=1024)
def fields_of(message: str) -> tuple[GoField, ...] | None:
    """The fields of a message in Go's order; None when the table does not have it."""
    line = _lines().get(message)
    if line is None:
        return None
    return tuple(_parse(text) for text in line.split(";") if text)


def flat(message: str) -> tuple[GoField, ...]:
    """Its fields with the inlined structs' in place, as JSON has them."""
    out: list[GoField] = []
    for field in fields_of(message) or ():
        if field.inline:
            out += flat(field.type[1:])
        else:
            out.append(field)
    return tuple(out)


@functools.cache
def embedded(message: str) -> dict[str, tuple[str, ...]]:
    """The structs in which its fields are embedded, by field, the outermost first."""
    out: dict[str, tuple[str, ...]] = {}
    for field in fields_of(message) or ():
        if field.inline:
            inner = field.type[1:]
            name, within = inner.rpartition(".")[2], embedded(inner)
            out |= {each.name: (name, *within.get(each.name, ())) for each in flat(inner)}
    return out


@functools.cache
def order(message: str) -> tuple[str, ...]:
    """The JSON names of its fields in Go's order, behind those of a TypeMeta."""
    names = tuple(field.name for field in flat(message))
    assert names, message
    return (*(name for name in ("kind", "apiVersion") if name not in names), *names)


def arrange(obj: dict[str, Any], message: str) -> None:
    """Reorders the keys into Go's order; unknown keys follow in their own order."""
    came = tuple(obj)
    wanted = _arranged.get((message, came))
    if wanted is None:
        memos.make_room(_arranged, ARRANGED_MAX)
        known = dict.fromkeys(key for key in order(message) if key in obj)
        wanted = _arranged[message, came] = tuple(known | dict.fromkeys(came))
    if wanted != came:
        arranged = {key: obj[key] for key in wanted}
        obj.clear()
        obj.update(arranged)


def _parse(text: str) -> GoField:
    number, name, rest = text.split(" ")
    type_, _, go_type = rest.partition("~")
    marks = ""
    while type_[-1] in "*!^?":
        marks += type_[-1]
        type_ = type_[:-1]
    return GoField(
        int(number),
        name,
        type_,
        pointer="*" in marks,
        always="!" in marks,
        inline="^" in marks,
        known="?" not in marks,
        go_type=go_type,
    )
