r"""Makes `gofields.txt`: what the published schemas leave out about the Go types.

    python -m apiserver_app.machinery.types.data.extract \
        protobuf-fields.json pod-template-go-fields.json

The inputs are tables of field numbers (a message's fields stand in the order of the Go struct) and
of the Go fields of the pod template. `extract_facts` adds what neither says. One line a message:

    core.v1.ContainerPort=1 name s;2 hostPort i;3 containerPort i!;4 protocol s~Protocol;5 hostIP s

A field is its number, its JSON name and its type: s string, b bool, i int32, l int64, d float64,
y []byte, []x list, {}x map, @name message. Behind the type: `*` the Go field is a pointer, `!` it
is written even when zero, `^` it is inlined into its parent, `?` nothing is known of pointers,
`~Name` the Go type's own name, which `gonames` adds.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import orjson

from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import published
from apiserver_app.machinery.types.data import extract_facts as facts

Fields = dict[str, dict[str, list[str]]]

_SCALARS = {"string": "s", "bool": "b", "int32": "i", "int64": "l", "double": "d", "bytes": "y"}
# the last that has a definition says what it requires
_VERSIONS = ("1.25", "1.26", "1.29", "1.31", "1.37", "1.34", "1.33")


def main(protobuf_file: str, go_file: str, out_file: str) -> None:
    messages: Fields = {
        facts.short(name): fields
        for name, fields in json.loads(pathlib.Path(protobuf_file).read_text()).items()
    }
    go_structs = json.loads(pathlib.Path(go_file).read_text())["structs"]
    properties = _properties()
    wanted = sorted(_reachable(messages))
    lines = [_line(name, messages, go_structs, properties) for name in wanted]
    lines += facts.EXTRA_MESSAGES.strip().splitlines()
    pathlib.Path(out_file).write_text("\n".join(lines) + "\n")


def _properties() -> dict[str, dict[str, Any]]:
    """Field names of every definition of every version, and the required ones."""
    definitions: dict[str, dict[str, Any]] = {}
    for version in _VERSIONS:
        document = orjson.loads(published.path_of(version).read_bytes())
        for name, definition in document["$defs"].items():
            entry = definitions.setdefault(facts.short(name), {"names": set(), "required": set()})
            entry["names"] |= set(definition.get("properties") or ())
            entry["required"] = set(definition.get("required") or ())
    return definitions


def _reachable(messages: Fields) -> set[str]:
    """Messages that a body of any served kind can hold."""
    todo = list(facts.ROOTS)
    for minor in range(25, 38):
        # what runtime-config can ask for too
        for info in kinds.resources(Release(minor), (("api/all", "true"),)):
            todo += [facts.short(info.definition), facts.short(info.definition) + "List"]
    todo += ["autoscaling.v1.Scale", "policy.v1.Eviction", "authentication.v1.TokenRequest"]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen or name not in messages:
            continue
        seen.add(name)
        for _, type_ in messages[name].values():
            todo.append(facts.short(_bare(type_)))
    return seen


def _bare(type_: str) -> str:
    if type_.startswith("map<string,"):
        return type_[len("map<string,") : -1]
    return type_.removeprefix("[]")


def _line(
    name: str, messages: Fields, go_structs: dict[str, Any], properties: dict[str, dict[str, Any]]
) -> str:
    known = properties.get(name, {"names": set(), "required": set()})
    by_small = {word.lower(): word for word in sorted(known["names"])}
    go_fields = _go_fields(name, go_structs)
    out = []
    for number, (field, type_) in messages[name].items():
        json_name = by_small.get(field.lower(), field)
        inline = (name, field) in facts.INLINE
        out.append(
            f"{number} {json_name} {_type(type_)}"
            + ("^" if inline else _flags(name, json_name, type_, known, go_fields))
        )
    return f"{name}={';'.join(out)}"


def _go_fields(name: str, go_structs: dict[str, Any]) -> dict[str, tuple[str, bool]] | None:
    """JSON name -> (Go type, whether omitempty) in the newest variant; None when not described."""
    if name not in go_structs:
        return None
    fields: dict[str, tuple[str, bool]] = {}
    for variant in go_structs[name]:
        for _, go_type, tag in variant["fields"]:
            json_name, _, options = tag.partition(",")
            fields[json_name] = (go_type, "omitempty" in options)
    return fields


def _type(type_: str) -> str:
    if type_.startswith("map<string,"):
        return "{}" + _type(type_[len("map<string,") : -1])
    if type_.startswith("[]"):
        return "[]" + _type(type_[2:])
    return _SCALARS.get(type_) or f"@{facts.short(type_)}"


def _flags(
    name: str,
    field: str,
    type_: str,
    known: dict[str, Any],
    go_fields: dict[str, tuple[str, bool]] | None,
) -> str:
    kind = name.rsplit(".", 1)[1]
    if go_fields is not None and field in go_fields:
        go_type, omitempty = go_fields[field]
        return _flags_of_go(type_, go_type, omitempty)
    if type_.startswith(("[]", "map<")):
        return "!" if _always(name, field, known) else ""
    if name in facts.ALL_POINTERS:
        return "*"
    if not facts.described(name):
        return "?" if field not in known["required"] else "!"
    if (kind, field) in facts.POINTERS:
        return "*"
    if _SCALARS.get(type_):
        return "!" if _always(name, field, known) else ""
    return "!" if facts.is_value(kind, field) else "*"


def _always(name: str, field: str, known: dict[str, Any]) -> bool:
    kind = name.rsplit(".", 1)[1]
    return (
        field in known["required"] or (kind, field) in facts.ALWAYS or (name, field) in facts.ALWAYS
    )


def _flags_of_go(type_: str, go_type: str, omitempty: bool) -> str:
    if go_type.startswith("*"):
        return "*"
    is_struct = "." in type_ and not type_.startswith(("[]", "map<"))
    return "!" if is_struct or not omitempty else ""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], str(pathlib.Path(__file__).with_name("gofields.txt")))
