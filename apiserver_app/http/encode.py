"""Serializes objects, lists and watch events. Stored bytes are spliced in, never decoded.

JSON documents are compact and end in a newline, as Go's encoder writes them.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json and
apiserver/pkg/endpoints/handlers/watch.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
import yaml

from apiserver_app.http.negotiation import Accepted
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.serializer import protoencode, yamlbody

_TYPES = {
    kind: f'{{"type":"{kind}","object":'.encode()
    for kind in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
}
INITIAL_END = {"k8s.io/initial-events-end": "true"}  # annotations of a bookmark
_YAML_WIDTH = 80  # as goyaml folds
_GO_ESCAPES = ((b"&", b"\\u0026"), (b"<", b"\\u003c"), (b">", b"\\u003e"))


def negotiated(obj: Object, accepted: Accepted) -> bytes:
    """Serializes an object in the negotiated form."""
    if accepted.is_protobuf:
        return protoencode.encode(obj)
    if accepted.is_yaml:
        return as_yaml(obj)
    return pretty(orjson.dumps(obj)) if accepted.pretty else document(obj)


def document(obj: Any) -> bytes:
    """Serializes an object as compact JSON and a newline."""
    return go_escaped(orjson.dumps(obj)) + b"\n"


def stored(value: bytes) -> bytes:
    """Returns an object from its stored bytes."""
    return go_escaped(value) + b"\n"


def pretty(value: bytes) -> bytes:
    """Indents a document by two spaces; without a newline at its end, as upstream."""
    return go_escaped(orjson.dumps(orjson.loads(value), option=orjson.OPT_INDENT_2))


def as_yaml(obj: Any) -> bytes:
    """Serializes an object as YAML with sorted keys."""
    text: str = yaml.dump(
        obj,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=True,
        allow_unicode=True,
        width=_YAML_WIDTH,
    )
    return text.encode()


class List(NamedTuple):
    """What stands around the items of a list, whose bytes come from elsewhere."""

    head: bytes  # up to the first item
    tail: bytes
    is_null: bool = False  # whether no items are written as null

    def compact(self, items: Iterable[bytes]) -> bytes:
        """One line. `items` are compact JSON."""
        joined = b",".join(items)
        return b"".join((self.head, go_escaped(joined), self.tail)) if joined else self._empty

    def pretty(self, items: list[bytes]) -> bytes:
        """Indented. `items` are of pretty_item."""
        if not items:
            return go_escaped(orjson.dumps(orjson.loads(self._empty), option=orjson.OPT_INDENT_2))
        empty = orjson.dumps(orjson.loads(self.head + self.tail), option=orjson.OPT_INDENT_2)
        name = b'\n  "%s": [' % self._name
        filled = b"".join((name, b"\n    ", b",\n    ".join(items), b"\n  ]"))
        return go_escaped(empty).replace(name + b"]", filled, 1)

    def as_yaml(self, items: list[bytes]) -> bytes:
        """YAML. `items` are of yaml_item."""
        if not items:
            return as_yaml(orjson.loads(self._empty))
        empty = as_yaml(orjson.loads(self.head + self.tail))
        name = b"\n%s:" % self._name
        return empty.replace(name + b" []\n", b"".join((name, b"\n", *items)), 1)

    @property
    def _empty(self) -> bytes:
        """Without items."""
        if self.is_null:
            return b"".join((self.head[:-1], b"null", self.tail[1:]))
        return self.head + self.tail

    @property
    def _name(self) -> bytes:
        """Of the list, with which `head` ends."""
        return self.head[self.head.rindex(b'"', 0, -3) + 1 : -3]


def pretty_item(value: bytes) -> bytes:
    """An item as it stands in a pretty list."""
    text = go_escaped(orjson.dumps(orjson.loads(value), option=orjson.OPT_INDENT_2))
    return text.replace(b"\n", b"\n    ")


def yaml_item(value: bytes) -> bytes:
    """An item as it stands in a list as YAML."""
    return as_yaml([orjson.loads(value)])


def list_form(
    kind: str,
    api_version: str,
    resource_version: str,
    continue_token: str = "",
    remaining: int | None = None,
) -> List:
    """A list of built-in objects. `kind` is the list's, as in `PodList`."""
    metadata = list_metadata(resource_version, continue_token, remaining)
    head = orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return List(head[:-1] + b',"items":[', b"]}\n")


def custom_list_form(
    kind: str, api_version: str, resource_version: str, continue_token: str, remaining: int | None
) -> List:
    """A list of custom resources: a map, which Go writes sorted; items keep their kind."""
    metadata: Object = {"continue": continue_token}
    if remaining:
        metadata["remainingItemCount"] = remaining
    metadata["resourceVersion"] = resource_version
    head = b'{"apiVersion":%s,"items":[' % orjson.dumps(api_version)
    return List(
        head, b'],"kind":%s,"metadata":%s}\n' % (orjson.dumps(kind), orjson.dumps(metadata))
    )


def list_metadata(
    resource_version: str, continue_token: str = "", remaining: int | None = None
) -> Object:
    """Returns a list's metadata in upstream's field order."""
    metadata: Object = {"resourceVersion": resource_version} if resource_version else {}
    if continue_token:
        metadata["continue"] = continue_token
    if remaining:
        metadata["remainingItemCount"] = remaining
    return metadata


def watch_line(kind: str, value: bytes) -> bytes:
    """Serializes a watch event; `value` is the object's bytes."""
    return b"".join((_TYPES[kind], go_escaped(value), b"}\n"))


def watch_event(kind: str, obj: Object, accepted: Accepted) -> bytes:
    """Serializes a watch event in the negotiated form."""
    if accepted.is_protobuf:
        return protoencode.watch_event(kind, protoencode.encode(obj))
    return watch_line(kind, orjson.dumps(obj))


def bookmark_object(
    kind: str, api_version: str, resource_version: str, initial_end: bool = False
) -> Object:
    """Returns the object of a BOOKMARK event."""
    metadata: Object = {"resourceVersion": resource_version, "creationTimestamp": None}
    if initial_end:
        metadata["annotations"] = INITIAL_END
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata}


def go_escaped(value: bytes) -> bytes:
    """Escapes `<`, `>` and `&` as Go's JSON encoder does."""
    for char, escape in _GO_ESCAPES:
        if char in value:
            value = value.replace(char, escape)
    if b"\xe2" in value:  # searching one byte is many times faster than two
        value = value.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return value


_STRING = "tag:yaml.org,2002:str"


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes repeated values in full, without anchors, and quotes strings that look like other
    types."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    """As goyaml writes a text: literally if it has lines, quoted if it would be something else."""
    style = "|" if "\n" in text else None
    if style is None and dumper.resolve(yaml.ScalarNode, text, (True, False)) != _STRING:
        style = '"'
    return dumper.represent_scalar(_STRING, text, style)


yamlbody.add_words(_Dumper)
_Dumper.add_representer(str, _text)
