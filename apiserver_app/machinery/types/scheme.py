"""The typed objects of one Kubernetes version: decoding, pruning, and the schemas for patches.

`decode` turns a JSON object into what kube-apiserver holds after decoding it: a new tree in Go's
field order, without unknown fields, nulls and empty values as Go writes them back. It neither sets
defaults nor validates.

Models sigs.k8s.io/json, apimachinery pkg/runtime/serializer/json/json.go and apiserver
pkg/endpoints/handlers/rest.go (transformDecodeError).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import decoder, fieldshapes, scalars
from apiserver_app.machinery.types.scalars import BadValue, Convert, WrongType
from apiserver_app.machinery.types.schema import Field, Schema, SchemaReader

MESSAGES_MAX = 100  # upstream reports no more unknown fields than this
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_ANY_KIND = "io.k8s.api.core.v1.ConfigMap"  # whose metadata is like every kind's

# decodes a custom resource: a new object, and messages for its unknown fields
DecodeCustom = Callable[[Object], tuple[Object, list[str]]]


class Unfit(ValueError):
    """A value of the wrong type; the message is that of Go's decoder."""


@functools.cache
def _built_in(version: Release) -> tuple[SchemaReader, decoder.Compiler]:
    """Of a version. All clusters of a process share it: what is read and compiled never changes."""
    reader = SchemaReader(version)
    return reader, decoder.Compiler(reader, version)


class Types:
    """Types of one version, and a cluster's custom resources. Each is compiled when first used and
    then kept."""

    def __init__(self, version: Release) -> None:
        self.version = version
        self._reader, self._compiler = _built_in(version)
        self._decoders = self._compiler.decoders
        self._custom: dict[str, tuple[Schema, DecodeCustom]] = {}

    def decode(
        self, definition: str, obj: Object, strictness: str = "Strict", *, from_map: bool = False
    ) -> tuple[Object, list[str]]:
        """A new pruned object in Go's field order, and upstream's message for each unknown field
        (none when strictness is Ignore). `obj` is not changed, and shares nothing with the result
        but `metadata.managedFields[].fieldsV1`. Raises 400 for a value of the wrong type.
        Integers `from_map` (a strategic or applied patch) are cut off, not refused."""
        decode = self._decoders.get(definition)
        if decode is None:
            custom = self._custom.get(definition)
            if custom is not None:
                return custom[1](obj)
            decode = self._compiler.compile(definition)
        if decode is None:
            raise errors.internal(f"no type {definition} in version {self.version}")
        pruned = self._compiler.pruned
        pruned.clear()
        if from_map:
            self._compiler.wraps.append(True)
        try:
            out: Object = decode(obj)
        except (WrongType, BadValue) as error:
            why, converting = error.sentence(), error.converting()
            if not error.ends:
                try:
                    _check_ends(self._find(definition), obj)
                except (WrongType, BadValue) as end:
                    why = end.sentence()
            raise self._refusal(definition, obj, why, converting) from None
        except RecursionError:
            raise self._refusal(definition, obj, "exceeded max depth") from None
        finally:
            if from_map:
                self._compiler.wraps.clear()
        if not pruned or strictness == "Ignore":
            return out, []
        return out, self.unknown(definition, obj, with_keys=not from_map)

    def arranged(self, definition: str, obj: Object) -> Object:
        """The object with the fields of its structs in Go's order."""
        made: Object = _arranged(self.schema(definition), obj)
        return made

    def unknown(
        self, definition: str, obj: Object, path: str = "", *, with_keys: bool = True
    ) -> list[str]:
        """Messages for the fields of obj that the type does not have, in the object's order; their
        paths have no keys of maps where upstream's converter leaves them out."""
        messages: list[str] = []
        schema = self._find(definition)
        if schema is not None:
            _unknown(schema, obj, path, messages, with_keys)
        return messages

    def metadata(self, value: Any, path: str) -> tuple[Object, list[str]]:
        """Decodes an object's metadata alone; also returns messages for unknown fields. Raises
        Unfit."""
        decode = self._decoders.get(_OBJECT_META) or self._compiler.compile(_OBJECT_META)
        assert decode is not None, "every version has it"
        try:
            out: Object = decode(value)
        except (WrongType, BadValue) as error:
            raise Unfit(error.sentence()) from None
        return out, self.unknown(_OBJECT_META, value, path)

    # -- custom resources -----------------------------------------------------------------------

    @property
    def metadata_field(self) -> Field:
        """The field that every kind has."""
        return self.schema(_ANY_KIND).fields["metadata"]

    def serve(self, schema: Schema, decode: DecodeCustom) -> None:
        """Adds a custom resource's type, replacing an earlier one of that name."""
        self.withdraw(schema.definition)
        self._custom[schema.definition] = schema, decode

    def withdraw(self, definition: str) -> None:
        """Removes a custom resource's type, if it is known."""
        custom = self._custom.pop(definition, None)
        if custom is not None:
            fieldshapes.forget(custom[0])

    def schema(self, definition: str) -> Schema:
        """Field types, patch strategies and list keys of a definition; always the same object."""
        schema = self._find(definition)
        if schema is None:
            raise KeyError(definition)
        return schema

    def knows(self, definition: str) -> bool:
        return self._find(definition) is not None

    def _find(self, definition: str) -> Schema | None:
        custom = self._custom.get(definition)
        return custom[0] if custom is not None else self._reader.get(definition)

    def _refusal(
        self, definition: str, obj: Any, why: str, converting: str = ""
    ) -> errors.Undecodable:
        version, kind = definition.rsplit(".", 2)[1:]
        fields = obj if isinstance(obj, dict) else {}
        word = fields.get("kind") if isinstance(fields.get("kind"), str) else ""
        named = fields.get("apiVersion") if isinstance(fields.get("apiVersion"), str) else ""
        named = str(named).rpartition("/")[2]
        return errors.Undecodable(
            f'{word or kind} in version "{named or version}" cannot be handled as a {kind}: {why}',
            why,
            converting,
        )


_ENDS: dict[str, Convert] = {
    "quantity": scalars.quantity,
    "time": scalars.time,
    "microtime": scalars.micro_time,
    "intorstring": scalars.int_or_string(True),
}


def _arranged(schema: Schema | None, value: Any) -> Any:
    if schema is None or not isinstance(value, dict):
        return value
    out: Object = {}
    for name in (*(name for name in schema.fields if name in value), *value):
        field = schema.fields.get(name)
        if name in out:
            continue
        out[name] = value[name]
        if field is not None and field.kind == "struct":
            out[name] = _arranged(field.schema, value[name])
        elif field is not None and field.kind == "list" and isinstance(value[name], list):
            out[name] = [_arranged(field.schema, item) for item in value[name]]
    return out


def _check_ends(schema: Schema | None, obj: Any) -> None:
    """Raises the first failure of a type that reads JSON itself. Such a failure ends the decoding
    and is reported in place of values of the wrong type before it."""
    if schema is None or not isinstance(obj, dict):
        return
    for key, value in obj.items():
        field = schema.fields.get(key)
        try:
            if field is not None and value is not None:
                _check_ends_in(field, value)
        except WrongType as error:
            error.path.append(key)
            error.struct = error.struct or schema.name
            raise


def _check_ends_in(field: Field, value: Any) -> None:
    if field.kind in _ENDS:
        _ENDS[field.kind](value)
    elif field.kind == "struct":
        _check_ends(field.schema, value)
    elif field.item is not None and isinstance(value, list if field.kind == "list" else dict):
        for item in value if isinstance(value, list) else value.values():
            _check_ends_in(field.item, item)


def _unknown(schema: Schema, obj: Any, path: str, messages: list[str], with_keys: bool) -> None:
    if not isinstance(obj, dict):
        return
    for key, value in obj.items():
        if len(messages) >= MESSAGES_MAX:
            return
        field_path = f"{path}.{key}" if path else str(key)
        field = schema.fields.get(key)
        if field is None:
            messages.append(f'unknown field "{field_path}"')
        elif type(value) in (dict, list):
            _unknown_in(field, value, field_path, messages, with_keys)


def _unknown_in(field: Field, value: Any, path: str, messages: list[str], with_keys: bool) -> None:
    if field.kind == "struct":
        schema = field.schema
        if schema is not None:
            _unknown(schema, value, path, messages, with_keys)
    elif field.item is None or field.item.is_leaf:
        return
    elif field.kind == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            _unknown_in(field.item, item, f"{path}[{index}]", messages, with_keys)
    elif field.kind == "map" and isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if with_keys else path
            _unknown_in(field.item, item, inner, messages, with_keys)
