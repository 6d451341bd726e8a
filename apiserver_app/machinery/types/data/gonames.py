"""Writes the Go types' own names into `gofields.txt`, and what its tables leave open, both read
from Go's sources.

    python -m apiserver_app.machinery.types.data.gonames MODULES

MODULES is a folder with k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator, each
as `NAME@VERSION`. `~Name` is added to each field whose type has a name that is not the one of the
struct it holds: `~Protocol`, `~[]FinalizerName`, `~ResourceList`; `?` becomes `*`, `!` or nothing.
What the sources do not have stays as it is.
"""

from __future__ import annotations

import pathlib
import re
import sys

_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:\w+ +)?(\S+) +`.*?json:"([^",]+)([^"]*)', re.MULTILINE)
_NAMED = re.compile(r"^type (\w+) (?!struct|interface)\S+", re.MULTILINE)
# the fields of its structs with their types and JSON options, and its named other types
Package = tuple[dict[str, dict[str, tuple[str, str]]], set[str]]
_PLAIN = re.compile(r"string|bool|int32|int64|float64|byte|uint8|\[\]|map\[|\]|\*")


def main(modules: str) -> None:
    file = pathlib.Path(__file__).with_name("gofields.txt")
    sources = _sources(pathlib.Path(modules))
    lines = [_line(*line.partition("=")[::2], sources) for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")


def _sources(modules: pathlib.Path) -> dict[str, Package]:
    """By package, `core.v1`."""
    names = {}
    for name, below in (
        ("api", ""),
        ("apimachinery", "pkg/apis/"),
        ("apiextensions-apiserver", "pkg/apis/"),
        ("kube-aggregator", "pkg/apis/"),
    ):
        folder = max(modules.glob(f"{name}@*")) / below
        for package in folder.glob("*/v[0-9]*"):
            text = "\n".join(path.read_text() for path in package.glob("*types*.go"))
            structs = {kind: dict(_fields(body)) for kind, body in _STRUCT.findall(text)}
            names[f"{package.parent.name}.{package.name}"] = structs, set(_NAMED.findall(text))
    return names


def _fields(body: str) -> list[tuple[str, tuple[str, str]]]:
    return [(name, (type_, options)) for type_, name, options in _FIELD.findall(body)]


def _line(message: str, fields: str, sources: dict[str, Package]) -> str:
    package, _, kind = message.rpartition(".")
    structs, named = sources.get(package, ({}, set()))
    core = sources["core.v1"][1]
    out = []
    for field in fields.split(";"):
        go_type, options = structs.get(kind, {}).get(field.split(" ")[1] if field else "", ("", ""))
        if go_type:
            field = _closed(field, go_type, options)
        type_ = go_type.lstrip("*")
        name = _PLAIN.sub("", type_)
        holder, _, last = name.rpartition(".")
        is_core = holder in ("v1", "apiv1", "corev1")
        is_named = last in named if not holder else last in core and is_core
        if is_named or (holder == "types" and last == "UID"):
            text = re.sub(r"(?:api|core)v1\.", "v1.", type_.replace("*", ""))
            field = f"{field.partition('~')[0]}~{text}"
        out.append(field)
    return f"{message}={';'.join(out)}"


def _closed(field: str, go_type: str, options: str) -> str:
    """The field, with what its Go type says about pointers and zero values if nothing was known."""
    type_, tilde, name = field.partition("~")
    if not type_.endswith("?"):
        return field
    is_struct = type_.split(" ")[2].startswith("@") and "omitzero" not in options
    always = is_struct or "omitempty" not in options
    mark = "*" if go_type.startswith("*") else "!" if always else ""
    return f"{type_.removesuffix('?')}{mark}{tilde}{name}"


if __name__ == "__main__":
    main(sys.argv[1])
