"""What a PATCH carried, what it makes of the object, and how that is refused when it does not fit.

A body that is no patch of its type is a 400; an object that is no object of the served type any
more once it is patched is a 422 that quotes it, and so are unknown and doubled fields when they are
asked to be errors.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from apiserver_app.handlers.request import Request
from apiserver_app.machinery import client, errors
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import jsonpatch, strategic
from apiserver_app.machinery.serializer import bodies
from apiserver_app.machinery.syntax import goprint

_PATCHES = (client.JSON_PATCH, client.MERGE_PATCH, client.STRATEGIC_PATCH, client.APPLY_PATCH)
# custom resources have no Go type, and so no merge keys
_CUSTOM_PATCHES = (client.JSON_PATCH, client.MERGE_PATCH, client.APPLY_PATCH)
_MAP = "map[string]interface {}"
_OPERATION = "handlers.jsonPatchOp"
_OPERATION_FIELDS = ("op", "path", "from", "value")
_DOUBLED = ("yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n")


def check_type(request: Request) -> None:
    """415 for what is no patch of this resource. The type is kept without its parameters."""
    custom = request.call.info is not None and request.call.info.custom is not None
    taken = _CUSTOM_PATCHES if custom else _PATCHES
    kind = request.content_type.partition(";")[0].strip(" ")
    if kind not in taken and custom:
        raise errors.unsupported_media_type(kind, taken)
    if kind not in taken and not request.call.body:
        raise errors.no_representation(415, ())
    if kind not in taken:
        message = "415: Unsupported Media Type"
        raise errors.ApiError(415, "UnsupportedMediaType", message, details={})
    request.content_type = kind


def read(request: Request) -> Any:
    """The patch as a value. What is doubled in it, or unknown to an operation, is noted."""
    if isinstance(request.call.body, bytes):
        patch = _READERS[request.content_type](request, request.call.body)
    else:
        patch = request.call.body
    request.patch = patch
    return patch


def patched(request: Request, info: ResourceInfo, old: Object) -> Object:
    """What the patch makes of the stored object; not yet decoded, never the stored object."""
    patch = request.patch
    if request.content_type == client.JSON_PATCH:
        made = jsonpatch.json_patched(old, patch)
        if not isinstance(made, dict):
            raise _invalid(orjson.dumps(made).decode(), bodies.type_error(made))
        if bodies.is_deep(made):
            raise errors.bad_request("json: exceeded max depth")
        if len(patch) > 1:  # copies of copies
            bodies.check_parts(made)
        return made
    if request.content_type == client.MERGE_PATCH:
        if isinstance(patch, list):
            raise _invalid(orjson.dumps(patch).decode(), bodies.type_error(patch))
        return jsonpatch.merge(old, patch)
    merged = dict(strategic.merge(old, patch, request.cluster.types.schema(info.definition)))
    for name in ("kind", "apiVersion"):  # the type is known, whatever text the patch has for it
        if isinstance(merged.get(name) or "", str):
            merged[name] = old[name]
    return merged


def refusal(
    request: Request, info: ResourceInfo, error: ApiError, old: Object | None, made: Object
) -> ApiError:
    """An error of decoding, worded as for a patched object."""
    if not isinstance(error, errors.Undecodable) or request.verb != "patch":
        return error
    if request.content_type == client.APPLY_PATCH:
        version = info.api_version
        kind = f"{version if '/' in version else f'/{version}'}, Kind={info.kind}"
        metadata = request.patch.get("metadata") or {}
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        return errors.unclassified(
            f"failed to convert new object ({place}; {kind}) to proper version: unable to convert "
            f"unstructured object to {kind}: {error.conversion_error}"
        )
    if old is None:
        return error
    if request.content_type == client.STRATEGIC_PATCH:
        arranged = request.cluster.types.arranged(info.definition, made)
        first = _decoding(request, info, arranged) or error
        return _invalid(_patch_text(request, old), first.conversion_error)
    text = _text(request, old, made)
    first = _decoding(request, info, orjson.loads(text)) or error
    return _invalid(text, bodies.type_error(made) or first.json_error)


def _decoding(request: Request, info: ResourceInfo, made: Object) -> errors.Undecodable | None:
    """The error of decoding the object with its fields in another order: the first one counts."""
    try:
        from_map = request.content_type == client.STRATEGIC_PATCH
        request.cluster.types.decode(info.definition, made, from_map=from_map)
    except errors.Undecodable as error:
        return error
    return None


def _patch_text(request: Request, old: Object) -> str:
    """A strategic patch as it is once it was merged: what it adds has lost its nulls."""
    return goprint.plain(strategic.merged_patch(old, request.patch))


def in_order(
    request: Request, info: ResourceInfo, mistakes: list[str], old: Object | None, made: Object
) -> list[str]:
    """Messages of strict decoding, in the order they have for a patched object."""
    if len(mistakes) < 2 or _applies(request):
        return mistakes
    doubled = request.duplicates
    if request.content_type == client.STRATEGIC_PATCH:
        return [*doubled, *sorted(mistakes[len(doubled) :])]
    if info.custom is not None:
        return mistakes
    written = orjson.loads(_text(request, old or {}, made))
    return [*doubled, *request.cluster.types.unknown(info.definition, written)]


def strict_refusal(
    request: Request, old: Object | None, made: Object, mistakes: list[str]
) -> ApiError:
    """The refusal of unknown and doubled fields in a patched object."""
    why = f"strict decoding error: {', '.join(mistakes)}"
    if request.content_type == client.STRATEGIC_PATCH:
        return _invalid(_patch_text(request, old or {}), why)
    return _invalid(_text(request, old or {}, made), why)


def check_applied(request: Request) -> None:
    """Fields given twice in what was applied: reported once it could be applied."""
    duplicates, request.duplicates = request.duplicates, []
    if not duplicates:
        return
    why = f"error converting YAML to JSON: {duplicates[0]}"
    if request.field_validation == "Strict":
        raise errors.bad_request(f"error strict decoding YAML: {why}")
    request.warnings += warnings([why])


def warnings(mistakes: list[str]) -> list[str]:
    """One a line of what YAML says."""
    out: list[str] = []
    for text in mistakes:
        for prefix in _DOUBLED:
            text = text.removeprefix(prefix)
        out += [line.strip() for line in text.split("\n")]
    return out


def _applies(request: Request) -> bool:
    return request.verb != "patch" or request.content_type == client.APPLY_PATCH


def _invalid(value: str, why: str) -> ApiError:
    return errors.invalid("", "", "", [errors.invalid_value("patch", value, why)])


# -- bodies -----------------------------------------------------------------------------------


def _is_strict(request: Request) -> bool:
    return request.field_validation != "Ignore"


def _decoded(request: Request, body: bytes, prefix: str) -> Any:
    try:
        value, request.duplicates = bodies.decode(
            body, "application/json", find_duplicates=_is_strict(request)
        )
    except ApiError as error:
        raise errors.bad_request(prefix + error.message) from error
    return value


def _json_patch(request: Request, body: bytes) -> Any:
    strict = _is_strict(request)
    prefix = "error decoding patch: " if strict else ""
    into = (f"[]{_OPERATION}", _OPERATION) if strict else ("jsonpatch.Patch", "jsonpatch.Operation")
    operations = _decoded(request, body, prefix)
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise errors.bad_request(prefix + _unmarshal(operations, into[0]))
    unknown_: list[str] = []
    for index, operation in enumerate(operations):
        if operation is None:
            operations[index] = {}
        elif not isinstance(operation, dict):
            raise errors.bad_request(prefix + _unmarshal(operation, into[1]))
        elif strict:
            _check_operation(operation, prefix)
            unknown_ += [
                f'unknown field "[{index}].{name}"'
                for name in operation
                if name not in _OPERATION_FIELDS
            ]
    request.duplicates = [f"json patch {text}" for text in [*request.duplicates, *unknown_]]
    return operations


def _check_operation(operation: Object, prefix: str) -> None:
    for name in _OPERATION_FIELDS[:3]:
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            word = errors.json_type(value)
            raise errors.bad_request(
                f"{prefix}json: cannot unmarshal {word} into Go struct field jsonPatchOp.{name} "
                "of type string"
            )


def _merge_patch(request: Request, body: bytes) -> Any:
    strict = _is_strict(request)
    try:
        patch = _decoded(request, body, "error decoding patch: ")
    except ApiError as error:
        raise error if strict else errors.bad_request(_BAD_PATCH) from None
    if patch is None:
        raise errors.bad_request(_BAD_PATCH)
    if isinstance(patch, dict):
        return patch
    if strict:
        raise errors.bad_request(f"error decoding patch: {_unmarshal(patch, _MAP)}")
    if not isinstance(patch, list):
        raise errors.bad_request(_BAD_PATCH)
    return patch


_BAD_PATCH = "Invalid JSON Patch"


def _strategic_patch(request: Request, body: bytes) -> Any:
    patch = _decoded(request, body, "")
    if patch is None:
        return {}
    if not isinstance(patch, dict):
        raise errors.bad_request(_unmarshal(patch, _MAP))
    return _with_floats(patch, body)


def _apply_patch(request: Request, body: bytes) -> Any:
    try:
        strict = _is_strict(request)
        patch, request.duplicates = bodies.decode(body, bodies.YAML, find_duplicates=strict)
        if body.count(b",") >= bodies.APPLIED_MAX:
            bodies.check_parts(patch, bodies.APPLIED_MAX)
    except ApiError as error:
        raise errors.bad_request(f"error decoding YAML: {error.message}") from error
    if patch is None:
        return {}
    if not isinstance(patch, dict):
        raise errors.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            + _unmarshal(patch, _MAP)
        )
    return _with_floats(patch, body)


def _with_floats(patch: Object, body: bytes) -> Object:
    made: Object = goprint.as_float(patch) if _is_long(body) else patch
    return made


_is_long = re.compile(rb"[0-9]{19}").search  # may be beyond int64
_READERS = {
    client.JSON_PATCH: _json_patch,
    client.MERGE_PATCH: _merge_patch,
    client.STRATEGIC_PATCH: _strategic_patch,
    client.APPLY_PATCH: _apply_patch,
}


def _unmarshal(value: Any, go_type: str) -> str:
    return f"json: cannot unmarshal {errors.json_type(value)} into Go value of type {go_type}"


# -- the patched object as upstream quotes it -------------------------------------------------


def _text(request: Request, old: Object, made: Object) -> str:
    """What nobody touched stands as it was; of the rest, maps are sorted."""
    if request.content_type == client.MERGE_PATCH:
        text = _merged(made, old, request.patch).decode()
    else:
        kept: set[int] = set()
        _containers([old, *(operation.get("value") for operation in request.patch)], kept)
        kept.discard(id(made))
        text = _written({name: made[name] for name in made}, kept).decode()
    for char, escape in (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")):
        text = text.replace(char, escape)
    return text


def _merged(made: Any, old: Any, patch: Any) -> bytes:
    """The result of a merge patch: what the patch goes into, and what it brings, is sorted."""
    if not isinstance(old, dict) or not isinstance(made, dict):
        return orjson.dumps(made) if isinstance(old, dict) else _written(made, set())
    parts = []
    for name in sorted(made):
        value = made[name]
        touched = isinstance(patch, dict) and patch.get(name) is not None
        text = _merged(value, old.get(name), patch[name]) if touched else orjson.dumps(value)
        parts.append(orjson.dumps(name) + b":" + text)
    return b"{" + b",".join(parts) + b"}"


def _containers(values: list[Any], into: set[int]) -> None:
    todo = [value for value in values if isinstance(value, (dict, list))]
    while todo:
        value = todo.pop()
        into.add(id(value))
        inside = value.values() if isinstance(value, dict) else value
        todo += [child for child in inside if isinstance(child, (dict, list))]


def _written(value: Any, kept: set[int]) -> bytes:
    if id(value) in kept or not isinstance(value, (dict, list)):
        return orjson.dumps(value)
    if isinstance(value, list):
        return b"[" + b",".join(_written(item, kept) for item in value) + b"]"
    inside = (orjson.dumps(name) + b":" + _written(value[name], kept) for name in sorted(value))
    return b"{" + b",".join(inside) + b"}"
