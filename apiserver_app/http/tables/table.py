"""The Table document: what a client asks for with `as=Table` and prints as it is.

Rows carry every column, also those shown with `-o wide` only: the client chooses by priority.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go (asTable) and
pkg/printers/storage/storage.go.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from apiserver_app.http import encode
from apiserver_app.http.tables import customresources, forms, pods, policy
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Custom, Object
from apiserver_app.machinery.releases import NOT_YET, Release
from apiserver_app.machinery.serializer import compact
from apiserver_app.machinery.types import published
from apiserver_app.registry.apps.daemonset import TEMPLATE_GENERATION

_COLUMNS_FILE = Path(__file__).with_name("columns.json")
_GROUP = "meta.k8s.io"
_NEWEST = Release(999)
_FLOW_SCHEMAS = "flowschemas.flowcontrol.apiserver.k8s.io"


def columns(key: str, release: Release = _NEWEST) -> tuple[Object, ...]:
    """The column definitions of a resource, by its GroupResource (`deployments.apps`). `release`
    is the version of Kubernetes; without one they are today's."""
    listed, docs = _columns_file()
    form = forms.form_of(key)
    return tuple(
        {
            "name": name,
            "type": kind,
            "format": format_,
            "description": _described(form, name, docs.get(description, description), release),
            "priority": priority,
        }
        for name, kind, format_, description, priority in (
            listed[form][index] for index in _places(form, release)
        )
    )


def _places(form: str, release: Release) -> list[int]:
    """Where the columns that a release has stand among all; without a release it has them all."""
    names = [name for name, *_ in _columns_file()[0][form]]
    if release == _NEWEST:
        return [*range(len(names))]
    since, until = forms.SINCE.get(form, {}), forms.UNTIL.get(form, {})
    last, order = forms.ORDER.get(form, (0, ()))
    return [
        index
        for index in (order if release.minor <= last else range(len(names)))
        if since.get(names[index], 0) <= release.minor <= until.get(names[index], 999)
    ]


def _described(form: str, name: str, text: str, release: Release) -> str:
    if release == _NEWEST:
        return text
    span, definition, field = forms.PUBLISHED.get(form, {}).get(name, (NOT_YET, "", ""))
    if span.includes(release):
        return published.description(release, f"io.k8s.api.{definition}", field)
    until, former = forms.FORMER.get(form, {}).get(name, (0, ""))
    if release.minor <= until:
        return former
    later, wrong, right = forms.MISSPELT
    return text.replace(wrong, right) if release.minor >= later else text


def row(key: str, obj: Object, now: int) -> list[Any]:
    """The cells of one object. `now` is in microseconds since 1970."""
    return forms.FORMS[forms.form_of(key)](obj, now)


class Table:
    """How one resource is printed. `now` is in microseconds since 1970.

    `include_object` is None, Metadata or Object; `headers` is false for all but the first event of
    a watch.
    """

    def __init__(
        self,
        key: str,
        now: int,
        *,
        version: str = "v1",
        include_object: str = "Metadata",
        headers: bool = True,
        custom: Custom | None = None,
        release: Release = _NEWEST,
    ) -> None:
        self._form = form = forms.form_of(key)
        self._now = now
        self._include_object = include_object
        self._api_version = f"{_GROUP}/{version}"
        self._columns: bytes | None = None
        self._write = _row_of(form, release)
        if headers:
            self._columns = (
                _encoded_columns(form, release) if custom is None else _custom_columns(custom)
            )
        if custom is not None:
            self._write = functools.partial(customresources.row, custom)

    def ordered(self, objects: Iterable[Object]) -> Iterable[Object]:
        """The objects in the order of their rows."""
        if self._form == _FLOW_SCHEMAS:
            return sorted(objects, key=policy.flow_schema_order)
        return objects

    def row(self, obj: Object) -> bytes:
        entry: Object = {"cells": self._write(obj, self._now)}
        if self._form == "pods":
            conditions = pods.row_conditions(obj)
            if conditions is not None:
                entry["conditions"] = conditions
        if self._include_object == "Metadata":
            entry["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": self._api_version,
                "metadata": metadata_of(obj),
            }
        else:
            entry["object"] = obj if self._include_object == "Object" else None
        return orjson.dumps(entry)

    def form(self, metadata: Object) -> encode.List:
        """What stands around the rows. `metadata` is the list's or the one object's."""
        shown = self._columns
        head = {
            "kind": "Table",
            "apiVersion": self._api_version,
            "metadata": metadata,
            "columnDefinitions": None if shown is None else orjson.Fragment(shown),
        }
        start = encode.go_escaped(orjson.dumps(head)[:-1]) + b',"rows":['
        return encode.List(start, b"]}\n", is_null=self._form == forms.CREATED)


def of_object(key: str, obj: Object, now: int, **options: Any) -> bytes:
    """The Table of one object, as `kubectl get pod web` is answered."""
    metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
    is_custom = options.get("custom") and obj.get("apiVersion") != "autoscaling/v1"
    if obj.get("kind") == "Scale" and not is_custom:
        key, options["custom"] = forms.SCALE, None
    table = Table(key, now, **options)
    return table.form(metadata).compact([table.row(obj)])[:-1]


def include_object(params: Mapping[str, Sequence[str]]) -> str:
    """The `includeObject` parameter: None, Metadata or Object."""
    values = params.get("includeObject")
    value = values[0] if values else ""
    if value in ("None", "Metadata", "Object"):
        return value
    if value:
        invalid = errors.invalid_value(
            "includeObject", value, "must be 'Metadata', 'Object', 'None', or empty"
        )
        raise errors.bad_request(f"Unable to convert to Table as requested: {invalid}")
    return "Metadata"


@functools.cache
def _columns_file() -> tuple[dict[str, list[list[Any]]], dict[str, str]]:
    """Columns by form, and the descriptions that many of them share."""
    listed = orjson.loads(_COLUMNS_FILE.read_bytes())
    docs = {name: listed.pop(name) for name in ("@name", "@created")}
    return listed, docs


def _custom_columns(custom: Custom) -> bytes:
    return compact.encode(customresources.columns(custom, columns(forms.CUSTOM)))


@functools.cache
def _encoded_columns(form: str, release: Release) -> bytes:
    return compact.encode(columns(form, release))


@functools.cache
def _row_of(form: str, release: Release) -> forms.Row:
    """What writes the rows of a form, without the columns that a version does not have."""
    until, old = forms.BEFORE.get(form, (0, forms.FORMS[form]))
    write = old if release.minor < until else forms.FORMS[form]
    places = _places(form, release)
    if places == _places(form, _NEWEST):
        return write

    def rearranged(obj: Object, now: int) -> list[Any]:
        row = write(obj, now)
        return [row[place] for place in places]

    return rearranged


def metadata_of(obj: Object) -> Object:
    """The metadata alone. That a DaemonSet counts its templates is written with the whole."""
    metadata: Object = obj["metadata"]
    notes = metadata.get("annotations") or {}
    if obj.get("kind") == "DaemonSet" and TEMPLATE_GENERATION in notes:
        rest = {name: text for name, text in notes.items() if name != TEMPLATE_GENERATION}
        metadata = {
            name: value for name, value in metadata.items() if name != "annotations" or rest
        }
        return {**metadata, "annotations": rest} if rest else metadata
    return metadata
