"""Messages about a stored value that does not decode, which the API server cannot have written.

Models kubernetes staging/src/k8s.io/apiserver/pkg/storage/errors.go and
pkg/storage/etcd3/corrupt_obj_deleter.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apiserver_app.etcd.entries import Entry
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import ResourceInfo

CAUSES_MAX = 100


def list_error(info: ResourceInfo, unreadable: Sequence[Entry]) -> errors.ApiError:
    """The 500 that names what cannot be read in a list."""
    causes = [
        {
            "reason": "UnexpectedServerResponse",
            "message": message(entry, entry.key),
            "field": entry.key,
        }
        for entry in unreadable[:CAUSES_MAX]
    ]
    if len(unreadable) > CAUSES_MAX:
        truncated = "too many errors, the list is truncated"
        causes.append({"reason": "FieldValueTooMany", "message": truncated})
    details: dict[str, Any] = {"name": "list", "kind": info.plural, "causes": causes}
    if info.group:
        details["group"] = info.group
    qualified = errors.qualified(info.group, info.plural)
    text = f"failed to read one or more {qualified} from the storage"
    return errors.ApiError(500, "StorageReadError", text, details=details)


def message(entry: Entry, key: str) -> str:
    return (
        f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: object not decodable revision={entry.mod_revision}: "
        f"{undecodable(entry.value)}"
    )


def undecodable(value: bytes) -> str:
    """The error of upstream's decoder for the value."""
    try:
        obj: Any = orjson.loads(value)
    except ValueError:
        text = value.decode("utf-8", "replace")
        if text.startswith("k8s\0") or not text.isprintable():
            return "error converting YAML to JSON: yaml: control characters are not allowed"
        obj = text
    if isinstance(obj, dict):
        for field, name in (("kind", "Kind"), ("apiVersion", "apiVersion")):
            if not obj.get(field):
                quoted = errors.go_value(value.decode("utf-8", "replace"))
                return f"Object '{name}' is missing in '{quoted[1:-1]}'"
        return f"unable to decode {obj['kind']} in version {errors.go_value(obj['apiVersion'])}"
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    return (
        "couldn't get version/kind; json parse error: json: cannot unmarshal "
        f"{kinds.get(type(obj), 'null')} into Go value of type struct {{ APIVersion string "
        '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    )
