"""The pod-template-hash, equal to that of a real cluster, so that names are equal too.

It is FNV-1a over the text that Go's spew package prints for a v1.PodTemplateSpec: every field of
every struct in source order, so it differs between Kubernetes versions. The fields are read from
podtemplate-fields.txt for the first hash. The template must have its defaults; empty values count
as absent, as they do after a round trip through protobuf.

Models kubernetes pkg/controller/controller_utils.go (ComputeHash), pkg/util/hash/hash.go and
staging/src/k8s.io/apimachinery/pkg/util/dump/dump.go.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from apiserver_app.machinery import meta, rand
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import compact
from apiserver_app.machinery.syntax import quantity

HASHES_CACHED_MAX = 1024

_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_MASK = 0xFFFFFFFF
_ROOT = "core.v1.PodTemplateSpec"
_YEAR_1_SECONDS = -62_135_596_800  # of 0001-01-01, counted from 1970


def pod_template_hash(
    template: meta.Object, version: Release, collision_count: int | None = None
) -> str:
    """The hash of a defaulted template in a cluster of that version, e.g. `5869d7778c`."""
    key = compact.encode(template, sort_keys=True)
    return _hash(key, version, collision_count)


def spew(template: meta.Object, version: Release) -> str:
    """The text that is hashed."""
    return _printers(version).template(template)


@functools.lru_cache(maxsize=HASHES_CACHED_MAX)
def _hash(template: bytes, version: Release, collision_count: int | None) -> str:
    data = spew(orjson.loads(template), version).encode()
    if collision_count is not None:
        data += (collision_count & _MASK).to_bytes(8, "little")
    return safe_encode(str(fnv1a(data)))


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & _MASK
    return value


def fnv1(data: bytes) -> int:
    """The 32-bit FNV-1 hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value * _FNV_PRIME & _MASK) ^ byte
    return value


def safe_encode(text: str) -> str:
    """Replaces each character by one that cannot form bad words (SafeEncodeString)."""
    return "".join(rand.ALPHANUMERICS[ord(char) % 27] for char in text)


class _Type(NamedTuple):
    """How values of a Go type are printed. `none` is what an absent one prints."""

    name: str
    none: str
    write: Callable[[Any], str]


@functools.lru_cache(maxsize=4)
def _printers(version: Release) -> _Printers:
    return _Printers(version)


class _Printers:
    """The types of one version, built as they are met."""

    def __init__(self, version: Release) -> None:
        self._aliases, self._structs = go_structs(version)
        self._types: dict[str, _Type] = dict(_BASIC)

    def template(self, template: meta.Object) -> str:
        root = self._type(_ROOT, "")
        return f"({root.name}){root.write(template)}"

    def _type(self, name: str, package: str) -> _Type:
        """The type of that name as it is written inside a package."""
        if name.startswith("*"):
            inner = self._type(name[1:], package)
            return _Type(f"*{inner.name}", "<nil>", inner.write)
        if name.startswith("[]"):
            return _slice(self._type(name[2:], package))
        if name.startswith("map["):
            key, _, value = name[4:].partition("]")
            return _map(self._type(key, package), self._type(value, package))
        full = name if name in self._types else _full_name(name, package)
        if full not in self._types:
            self._types[full] = self._named(full)
        return self._types[full]

    def _named(self, full: str) -> _Type:
        package, _, short = full.rpartition(".")
        name = f"{package.rpartition('.')[2]}.{short}"
        if full in self._aliases:
            underlying = self._type(self._aliases[full], package)
            return _Type(name, underlying.none, underlying.write)
        write = self._struct(full, package)
        return _Type(name, write({}), write)

    def _struct(self, full: str, package: str) -> Callable[[Any], str]:
        fields: list[tuple[str, str, str, Callable[[Any], str]]] = []
        for go_name, type_name, json_name in self._structs[full]:
            type_ = self._type(type_name, package)
            head = f"{go_name}:({type_.name})"
            fields.append((json_name, head, head + type_.none, type_.write))

        def write(value: Any) -> str:
            parts: list[str] = []
            for name, head, absent, write_value in fields:
                if name == _EMBEDDED:
                    parts.append(head + write_value(value))
                    continue
                item = value.get(name)
                parts.append(absent if item is None else head + write_value(item))
            return f"{{{' '.join(parts)}}}"

        return write


_EMBEDDED = "."


def _full_name(name: str, package: str) -> str:
    """A name as the data file writes it: with the package and its version."""
    if name.startswith("metav1."):
        return f"meta.v1.{name[7:]}"
    return f"{package}.{name}" if package and "." not in name else name


def _slice(inner: _Type) -> _Type:
    def write(items: Any) -> str:
        return f"[{' '.join(map(inner.write, items))}]" if items else "<nil>"

    return _Type(f"[]{inner.name}", "<nil>", write)


def _map(key: _Type, inner: _Type) -> _Type:
    def write(items: Any) -> str:
        if not items:
            return "<nil>"
        return f"map[{' '.join(f'{name}:{inner.write(items[name])}' for name in sorted(items))}]"

    return _Type(f"map[{key.name}]{inner.name}", "<nil>", write)


def _write_bool(value: Any) -> str:
    return "true" if value else "false"


def _write_int_or_string(value: Any) -> str:
    if isinstance(value, str):
        return f"{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){value}}}"
    return f"{{Type:(intstr.Type)0 IntVal:(int32){value} StrVal:(string)}}"


def _write_time(value: Any) -> str:
    """A moment as it is after protobuf: in the local zone, which in a container is UTC."""
    seconds = meta.parse_time(value) // 1_000_000 - _YEAR_1_SECONDS
    zone = (
        "{name:(string)UTC zone:([]time.zone)<nil> tx:([]time.zoneTrans)<nil> extend:(string) "
        "cacheStart:(int64)0 cacheEnd:(int64)0 cacheZone:(*time.zone)<nil>}"
    )
    return f"{{Time:(time.Time){{wall:(uint64)0 ext:(int64){seconds} loc:(*time.Location){zone}}}}}"


def _write_quantity(value: Any) -> str:
    """As parsed from its canonical text, which is what protobuf carries."""
    amount = quantity.parse(quantity.canonical(value))
    scaled, decimal = f"value:(int64){amount.value} scale:(resource.Scale){amount.scale}", "<nil>"
    if amount.is_decimal:
        scaled, decimal = "value:(int64)0 scale:(resource.Scale)0", _write_decimal(amount)
    return (
        f"{{i:(resource.int64Amount){{{scaled}}} "
        f"d:(resource.infDecAmount){{Dec:(*inf.Dec){decimal}}} "
        f"s:(string){amount.text} Format:(resource.Format){amount.format}}}"
    )


def _write_decimal(amount: quantity.Quantity) -> str:
    """A big number is printed word by word; parsing left it at nano scale."""
    number = amount.value * 10 ** (amount.scale - quantity.NANO)
    sign, words, rest = _write_bool(number < 0), [], abs(number)
    while rest:
        words.append(str(rest & 0xFFFFFFFFFFFFFFFF))
        rest >>= 64
    unscaled = f"{{neg:(bool){sign} abs:(big.nat)[{' '.join(words)}]}}"
    return f"{{unscaled:(big.Int){unscaled} scale:(inf.Scale){-quantity.NANO}}}"


def _write_fields(value: Any) -> str:
    numbers = " ".join(map(str, orjson.dumps(value)))
    return f"{{Raw:([]uint8)[{numbers}]}}"


_NO_TIME = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
_BASIC = {
    "string": _Type("string", "", str),
    "bool": _Type("bool", "false", _write_bool),
    "int32": _Type("int32", "0", str),
    "int64": _Type("int64", "0", str),
    "types.UID": _Type("types.UID", "", str),
    "intstr.IntOrString": _Type(
        "intstr.IntOrString", _write_int_or_string(0), _write_int_or_string
    ),
    "resource.Quantity": _Type("resource.Quantity", _write_quantity("0"), _write_quantity),
    "meta.v1.Time": _Type("v1.Time", _NO_TIME, _write_time),
    "meta.v1.FieldsV1": _Type("v1.FieldsV1", "{Raw:([]uint8)<nil>}", _write_fields),
}

_Structs = dict[str, list[tuple[str, str, str]]]


@functools.lru_cache(maxsize=4)
def go_structs(version: Release) -> tuple[dict[str, str], _Structs]:
    """(aliases, fields of each struct) as they are in a version; before 1.22 as in 1.22."""
    path = importlib.resources.files("apiserver_app.apis") / "podtemplate-fields.txt"
    aliases: dict[str, str] = {}
    structs: _Structs = {}
    fields: list[tuple[str, str, str]] = []
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if words[0] == "alias":
            aliases[words[1]] = words[2]
        elif words[0] == "struct":
            fields = structs.setdefault(words[1], [])
        elif _is_in(version, words[3] if len(words) > 3 else ""):
            fields.append((words[0], words[1], words[2]))
    return aliases, structs


def _is_in(version: Release, range_: str) -> bool:
    """Whether a version is in a range like `1.24`, `1.24<1.25` or `<1.24`."""
    since, _, before = range_.partition("<")
    if since and version < Release.parse(since):
        return False
    return not before or max(version, Release(22)) < Release.parse(before)
