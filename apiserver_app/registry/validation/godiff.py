"""Two Go values side by side as go-cmp prints their difference: what kubectl shows of a refused
change of a pod.

Values are Kubernetes objects; `gotypes` has the Go structs they stand for.

Models github.com/google/go-cmp/cmp/{report_compare,report_reflect,report_text}.go, which kubernetes
pkg/apis/core/validation/validation.go calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from apiserver_app.machinery import errors
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import labels, quantity
from apiserver_app.registry.validation import gotypes

CONTEXT = 2  # equal records that are shown around a difference
COLUMNS = 80  # a removed or inserted value longer than this takes several lines
_DEEP = 3  # how much of a value that differs is shown
# bytes of a string that are shown at the lowest level, twice as many at each above
LETTERS, ELLIPSIS = 32, "..."


class Text(msgspec.Struct):
    """A piece of the report: a line, or a list of records between braces."""

    line: str = ""
    prefix: str = ""
    records: list[Record] | None = None


class Record(msgspec.Struct):
    sign: str  # " ", "-" or "+"
    key: str
    value: Text
    comment: str = ""


@dataclass
class Node:
    """Two values that were compared, and everything in them."""

    type: str
    old: Any
    new: Any
    kind: str
    children: list[tuple[str, Node]] = field(default_factory=list)
    sides: str = "both"  # or "old", "new": an element that only one list has
    differs: bool = False
    depth: int = 0
    size: int = 0

    def add(self, key: str, child: Node) -> None:
        self.children.append((key, child))
        self.differs = self.differs or child.differs
        self.depth = max(self.depth, child.depth + 1)
        self.size += child.size + 1


def of(old: Any, new: Any, kind: str, version: Release) -> str:
    """The report for two values of a Go type such as `core.PodSpec`."""
    report = _Report(version)
    node = report.compare(old, new, kind)
    text = report.format(node, " ", "auto")
    return "  " + _expanded(text, " ", 0) + "\n"


class _Report:
    """The comparison of two values, and its text."""

    def __init__(self, version: Release) -> None:
        types = gotypes.Types(version)
        self._structs, self._resolve = types.structs, types.resolve

    def compare(self, old: Any, new: Any, kind: str, package: str = "core.v1") -> Node:
        kind, package, full = self._resolve(kind, package)
        node = Node(full, old, new, kind)
        if full.endswith("PodSpec"):
            old, new = node.old, node.new = _inside(old), _inside(new)
        if kind == "struct":
            old, new = gotypes.fields_of(full, old), gotypes.fields_of(full, new)
            node.old, node.new = old, new
            for name, inner, key in self._structs[full]:
                at = (old, new) if key == "." else (old.get(key), new.get(key))
                node.add(name, self.compare(*at, inner, full.rpartition(".")[0]))
        elif old is None or new is None or kind == "scalar":
            node.differs = _zeroed(old, kind) != _zeroed(new, kind)
        elif kind == "pointer":
            node.add("", self.compare(old, new, full[1:], package))
        elif kind == "map":
            for key in sorted({*old, *new}):
                node.add(key, self._side(old.get(key), new.get(key), full, key, old, new, package))
        else:
            self._pair(node, old, new, full[2:], package)
        return node

    def format(self, node: Node, mode: str, types: str, level: int = 0) -> Text:
        """`mode` is " " for a difference, "=" for what is equal, "-" or "+" for one side."""
        level = 1 if mode == "=" else max(level, _DEEP)
        if not node.children:
            value = node.new if mode == "+" else node.old
            return self._value(value, node.type, node.kind, mode, types, level)
        if node.kind == "pointer":
            inner = self.format(node.children[0][1], mode, types, level)
            return Text(inner.line and f"&{inner.line}", f"&{inner.prefix}", inner.records)
        inner_types = "auto" if node.kind == "struct" else "none"
        if mode == " ":
            records = self._differences(node, inner_types, level - 1)
        else:
            most = _most(level)
            records = []
            for key, child in node.children:
                value = child.new if mode == "+" else child.old
                if node.kind == "struct" and self._is_zero(value, child):
                    continue
                if len(records) == most:
                    records.append(Record(" ", "", Text("...")))
                    break
                out = self.format(child, mode, inner_types, level - 1)
                records.append(Record(" ", self._key(node, key), out))
        has_type = types == "auto" and mode != "="
        return Text("", f"{_go_name(node.type)}{{" if has_type else "{", records)

    def _differences(self, node: Node, types: str, level: int) -> list[Record]:
        names = {"struct": "field", "map": "entry", "slice": "element"}
        word = names[node.kind]
        out: list[Record] = []
        groups: list[list[tuple[str, Node]]] = []
        for entry in node.children:
            if groups and groups[-1][0][1].differs == entry[1].differs:
                groups[-1].append(entry)
            else:
                groups.append([entry])
        for index, group in enumerate(groups):
            if group[0][1].differs:
                for key, child in group:
                    out += self._unequal(self._key(node, key), child, types, level)
                continue
            low = min(CONTEXT, len(group)) if index else 0
            high = min(CONTEXT, len(group) - low) if index != len(groups) - 1 else 0
            hidden = len(group) - low - high
            if hidden == 1:
                high, hidden = high + 1, 0
            for key, child in group[:low]:
                text = self.format(child, "=", types)
                out.append(Record(" ", self._key(node, key), text))
            if hidden:
                plural = {"entry": "entries"}.get(word, f"{word}s")
                out.append(Record(" ", "", Text("..."), f"{hidden} identical {plural}"))
            for key, child in group[len(group) - high :]:
                text = self.format(child, "=", types)
                out.append(Record(" ", self._key(node, key), text))
        return out

    def _unequal(self, key: str, child: Node, types: str, level: int) -> list[Record]:
        if child.sides == "both" and child.size != child.depth:
            return [Record(" ", key, self.format(child, " ", types, level))]
        return [
            Record(sign, key, self.format(child, sign, types, level))
            for sign, side in (("-", "old"), ("+", "new"))
            if child.sides in ("both", side)
        ]

    def _value(self, value: Any, full: str, kind: str, mode: str, types: str, level: int) -> Text:
        """One value by itself."""
        if value is None and kind in ("pointer", "slice", "map"):
            return Text("nil")
        if full == "resource.Quantity":
            return Text(_quantity(value, level))
        if kind == "scalar":
            return Text(_scalar(full, value, level))
        if kind == "pointer":
            inner, _, name = self._resolve(full[1:], "core.v1")
            if name in _STRINGERS and mode != "=":
                return Text(f"s{_word(_STRINGERS[name](value), level)}")
            out = self._value(value, name, inner, mode, types, level)
            return Text(out.line and f"&{out.line}", f"&{out.prefix}", out.records)
        most = _most(level)
        records: list[Record] = []
        for key, inner, item in self._items(value, full, kind):
            if len(records) == most:
                records.append(Record(" ", "", Text("...")))
                break
            sub_kind, _, sub = self._resolve(inner, full.rpartition(".")[0] or "core.v1")
            sub_types = "auto" if kind == "struct" else "none"
            out = self._value(item, sub, sub_kind, mode, sub_types, level - 1)
            records.append(Record(" ", key, out))
        has_type = types == "auto" and mode != "="
        return Text("", f"{_go_name(full)}{{" if has_type else "{", records)

    def _items(self, value: Any, full: str, kind: str) -> list[tuple[str, str, Any]]:
        if kind == "struct":
            value = gotypes.fields_of(full, value)
            fields = [
                (name, inner, value if key == "." else value.get(key))
                for name, inner, key in self._structs[full]
            ]
            return [field for field in fields if not self._is_zero_of(field[2], field[1], full)]
        if kind == "map":
            inner = full[full.index("]") + 1 :]
            return [(self._map_key(full, key), inner, value[key]) for key in sorted(value)]
        return [("", full[2:], item) for item in value]

    def _is_zero(self, value: Any, child: Node) -> bool:
        return self._is_zero_of(value, child.type, child.type)

    def _is_zero_of(self, value: Any, inner: str, full: str) -> bool:
        kind, _, name = self._resolve(inner, full.rpartition(".")[0] or "core.v1")
        if kind == "struct":
            inside = gotypes.fields_of(name, value)
            return all(
                self._is_zero_of(inside if key == "." else inside.get(key), type_, name)
                for _, type_, key in self._structs[name]
            )
        if kind == "scalar":
            return not value or (name == "resource.Quantity" and value == "0")
        return value is None

    def _side(
        self, old: Any, new: Any, full: str, key: str, before: Any, after: Any, package: str
    ) -> Node:
        inner = full[full.index("]") + 1 :]
        child = self.compare(old, new, inner, package)
        if key not in before or key not in after:
            child.sides, child.differs = ("new" if key in after else "old"), True
        return child

    def _pair(self, node: Node, old: Any, new: Any, inner: str, package: str) -> None:
        """Elements of two lists: those at both ends that are equal, and the rest in pairs."""
        if len(old) == len(new):
            for before, other in zip(old, new, strict=True):
                node.add("", self.compare(before, other, inner, package))
            return
        first = 0
        while first < min(len(old), len(new)) and old[first] == new[first]:
            first += 1
        last = 0
        while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
            last += 1
        for item in old[:first]:
            node.add("", self.compare(item, item, inner, package))
        for side, items in (("old", old), ("new", new)):
            for item in items[first : len(items) - last]:
                child = Node(*self._named(inner, package, item))
                child.sides, child.differs = side, True
                node.add("", child)
        for item in old[len(old) - last :]:
            node.add("", self.compare(item, item, inner, package))

    def _named(self, inner: str, package: str, item: Any) -> tuple[str, Any, Any, str]:
        kind, _, full = self._resolve(inner, package)
        return full, item, item, kind

    def _key(self, node: Node, key: str) -> str:
        return self._map_key(node.type, key) if node.kind == "map" else key

    def _map_key(self, full: str, key: str) -> str:
        named = "[ResourceName]" in full
        return f"{'s' if named else ''}{json.dumps(key)}"


# -- values -------------------------------------------------------------------------------------


def _inside(spec: Mapping[str, Any] | None) -> dict[str, Any]:
    """A spec as the internal API has it: what is about the host is in its security context."""
    out = dict(spec or {})
    moved = {
        key: out.pop(key)
        for key in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
        if key in out
    }
    if moved:
        out["securityContext"] = {**(out.get("securityContext") or {}), **moved}
    return out


def _zeroed(value: Any, kind: str) -> Any:
    return value or None if kind == "scalar" else value


def _quantity(value: Any, level: int) -> str:
    """A struct of structs, which is shown as deep as any other."""
    amount = quantity.parse(quantity.canonical(value or "0"))
    parts = [f"value: {amount.value}"] if amount.value else []
    parts += [f"scale: {amount.scale}"] if amount.scale else []
    if not _most(level):
        return "{...}"
    number = "{...}" if not _most(level - 1) else f"resource.int64Amount{{{', '.join(parts)}}}"
    whole = [f"i: {number}"] if parts else []
    whole += [f"s: {json.dumps(amount.text)}"] if amount.text else []
    whole += [f'Format: "{amount.format}"']
    return f"{{{', '.join(whole)}}}"


def _scalar(full: str, value: Any, level: int) -> str:
    if full in ("int32", "int64", "int"):
        return str(value or 0)
    if full == "bool":
        return "true" if value else "false"
    return _word(value or "", level)


def _word(text: str, level: int) -> str:
    """A string, cut at its level; between backquotes if quotes would need escapes."""
    most, raw = LETTERS << max(level, 0), text.encode()
    cut = len(raw) > most + len(ELLIPSIS)
    shown = raw[:most].decode(errors="replace") if cut else text
    quoted = errors.quoted(shown)
    is_plain = "`" not in shown and shown.replace("\t", "").isprintable()
    if len(quoted) != len(shown) + 2 and is_plain:
        quoted = f"`{shown}`"
    return quoted + (ELLIPSIS if cut else "")


# pointers to these have a method String, which is called for a value that goes or comes
_STRINGERS: Mapping[str, Callable[[Any], str]] = {
    "resource.Quantity": quantity.canonical,
    "meta.v1.LabelSelector": labels.go_struct,
}


def _go_name(full: str) -> str:
    """`core.PodSpec` of `core.v1.PodSpec`, and so inside of lists and maps."""
    name = full.partition("=")[0]
    if name.startswith("[]"):
        inner = name[2:]
        return (
            f"[]{_go_name(inner if '.' in inner or inner in gotypes.SCALARS else f'core.{inner}')}"
        )
    if name.startswith("map["):
        return name
    return name.replace("core.v1.", "core.").replace("meta.v1.", "v1.").replace("metav1.", "v1.")


def _most(level: int) -> int:
    """How many parts of a value are shown: 0, 4, 8, 16 by what is left of its depth."""
    return ((1 << max(level, 0)) >> 1) << 2


# -- layout -------------------------------------------------------------------------------------


def _compact(text: Text, sign: str) -> str | None:
    """The value on one line; None when it needs several."""
    if text.records is None:
        return text.line
    parts = []
    for record in text.records:
        if record.sign != " " or record.comment:
            return None
        inside = _compact(record.value, sign)
        if inside is None:
            return None
        parts.append(f"{record.key}: {inside}" if record.key else inside)
    line = ", ".join(parts)
    if sign != " " and sum(len(part) + 2 for part in parts) > COLUMNS:
        return None
    return f"{text.prefix}{line}}}"


def _expanded(text: Text, sign: str, depth: int) -> str:
    """The value on as many lines as it needs, its first where it stands."""
    line = _compact(text, sign)
    if line is not None:
        return line
    out = [text.prefix]
    records = text.records or []
    widths = _widths(records, sign)
    for record, width in zip(records, widths, strict=True):
        mark = record.sign if record.sign != " " else sign
        head = f"{mark} {chr(9) * (depth + 1)}"
        if record.comment:
            out.append(f"{head}{record.value.line} // {record.comment}")
            continue
        key = f"{record.key}: ".ljust(width) if record.key else ""
        comma = "" if record.value.line == "..." and not record.key else ","
        out.append(f"{head}{key}{_expanded(record.value, mark, depth + 1)}{comma}")
    out.append(f"{sign} {chr(9) * depth}}}")
    return "\n".join(out)


def _widths(records: Sequence[Record], sign: str) -> list[int]:
    """Keys of neighbouring one-line records end in one column."""

    def stands_alone(record: Record) -> bool:
        mark = record.sign if record.sign != " " else sign
        return not record.key or _compact(record.value, mark) is None

    out: list[int] = []
    group: list[Record] = []

    def close() -> None:
        width = max((len(record.key) for record in group), default=0) + 2
        out.extend([width] * len(group))
        group.clear()

    for record in records:
        if stands_alone(record):
            close()
            out.append(0)
        else:
            group.append(record)
    close()
    return out
