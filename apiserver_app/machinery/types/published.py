"""The published schemas of a version's types, cut down to what decoding and patching need.

Descriptions are skipped while parsing, so the 1.4 MB document never exists as objects; a
definition is unpacked when first asked for. Never fetches anything: the documents are data of the
PyPI package kubernetes-validate, which is found but not imported.

Models kubernetes api/openapi-spec (the x-kubernetes-* extensions).
"""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import re
from typing import Any

import msgspec

from apiserver_app.machinery.releases import Release

_PREFIX = "#/$defs/"
_PUBLISHED_SINCE = Release(25)  # what versions before it had and it has not is described here
_OLD = pathlib.Path(__file__).with_name("data") / "old_definitions.json"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
# the field that metadata has in the versions with MetadataInitializers
INITIALIZERS = {"$ref": f"{_PREFIX}io.k8s.apimachinery.pkg.apis.meta.v1.Initializers"}


class Prop(msgspec.Struct, gc=False, omit_defaults=True):
    """A schema: of a definition, of a field, of the items of a list or of the values of a map."""

    ref: str = msgspec.field(default="", name="$ref")
    type: Any = ""
    format: str = ""
    items: Prop | None = None
    values: Any = msgspec.field(default=None, name="additionalProperties")
    properties: dict[str, Prop] | None = None
    required: list[str] | None = None
    strategy: str = msgspec.field(default="", name="x-kubernetes-patch-strategy")
    merge_key: str = msgspec.field(default="", name="x-kubernetes-patch-merge-key")
    list_type: str = msgspec.field(default="", name="x-kubernetes-list-type")
    list_keys: list[str] | None = msgspec.field(default=None, name="x-kubernetes-list-map-keys")
    map_type: str = msgspec.field(default="", name="x-kubernetes-map-type")

    @property
    def kind(self) -> str:
        """Its JSON type; empty when it may be anything."""
        if isinstance(self.type, list):
            return str(self.type[0])
        return str(self.type or "")

    @property
    def definition(self) -> str:
        return self.ref.removeprefix(_PREFIX)

    @property
    def value(self) -> Prop | None:
        """The schema of a map's values."""
        return msgspec.convert(self.values, Prop) if isinstance(self.values, dict) else None


class _Document(msgspec.Struct, gc=False):
    defs: dict[str, Prop] = msgspec.field(name="$defs")


class Definitions:
    """Definitions of one version by name, each kept as a few bytes until its first use."""

    def __init__(self, version: Release) -> None:
        encode = msgspec.msgpack.encode
        self._packed: dict[str, bytes] = {}
        for path in paths_of(version):
            document = msgspec.json.decode(path.read_bytes(), type=_Document)
            self._packed |= {name: encode(prop) for name, prop in document.defs.items()}
        self._unpack = msgspec.msgpack.Decoder(Prop).decode
        metadata = self.get(OBJECT_META)
        if metadata is not None and metadata.properties and version.has("MetadataInitializers"):
            metadata.properties["initializers"] = msgspec.convert(INITIALIZERS, Prop)
            self._packed[OBJECT_META] = encode(metadata)

    def __contains__(self, name: object) -> bool:
        return name in self._packed

    def __iter__(self) -> Any:
        return iter(self._packed)

    def get(self, name: str) -> Prop | None:
        packed = self._packed.get(name)
        return None if packed is None else self._unpack(packed)


def paths_of(version: Release) -> tuple[pathlib.Path, ...]:
    """All documents of a version: before 1.25, kinds that are no more have one of their own."""
    path = path_of(version)
    return (path, _OLD) if version < _PUBLISHED_SINCE else (path,)


class _Described(msgspec.Struct, gc=False):
    description: str = ""
    properties: dict[str, _Described] | None = None


class _Texts(msgspec.Struct, gc=False):
    defs: dict[str, _Described] = msgspec.field(name="$defs")


@functools.lru_cache(maxsize=64)
def description(version: Release, definition: str, field: str) -> str:
    """What a version publishes of a field. Reads the whole document: a few are asked for, once."""
    schema = msgspec.json.decode(path_of(version).read_bytes(), type=_Texts).defs[definition]
    return (schema.properties or {})[field].description


@functools.lru_cache(maxsize=4)
def path_of(version: Release) -> pathlib.Path:
    """The document of a version, or of the nearest one there is."""
    spec = importlib.util.find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("the package kubernetes-validate, which holds the schemas, is missing")
    base = pathlib.Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema"
    there = {}
    for folder in base.iterdir():
        if match := re.fullmatch(r"v1\.(\d+)\.0-local", folder.name):
            there[int(match[1])] = folder
    nearest = min(max(version.minor, min(there)), max(there))
    return there[nearest] / "_definitions.json"
