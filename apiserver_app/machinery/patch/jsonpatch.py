"""JSON patches and merge patches: computed and applied, with upstream's errors.

Only `apply_in_place` changes its input; the other functions return an object that shares every part
that the patch did not touch. Strategic merge patches are in strategic.py.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go and
github.com/evanphx/json-patch v4, which it uses (RFC 6902, RFC 7386).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object

OPERATIONS_MAX = 10_000
COPIED_BYTES_MAX = 3 << 20  # by all copy operations of a patch (JSONPatchMaxCopyBytes)

Operation = dict[str, Any]

_REJECTED = "the server rejected our request due to an error in our request"


def diff(before: Any, after: Any) -> list[Operation]:
    """The operations that turn `before` into `after`. Lists are compared index by index."""
    if before is after:
        return []
    out: list[Operation] = []
    if isinstance(before, dict) and isinstance(after, dict):
        _diff_maps(before, after, "", out)
    elif isinstance(before, list) and isinstance(after, list):
        _diff_lists(before, after, "", out)
    elif type(before) is not type(after) or before != after:
        out.append({"op": "replace", "path": "", "value": after})
    return out


def _diff_maps(before: Object, after: Object, path: str, out: list[Operation]) -> None:
    for name, old in before.items():
        if name not in after:
            out.append({"op": "remove", "path": f"{path}/{escape(name)}"})
            continue
        new = after[name]
        if old is not new:
            _diff_values(old, new, path, name, out)
    for name, new in after.items():
        if name not in before:
            out.append({"op": "add", "path": f"{path}/{escape(name)}", "value": new})


def _diff_lists(before: list[Any], after: list[Any], path: str, out: list[Operation]) -> None:
    shared = min(len(before), len(after))
    for index in range(shared):
        old, new = before[index], after[index]
        if old is not new:
            _diff_values(old, new, path, str(index), out)
    for index in range(len(before) - 1, shared - 1, -1):
        out.append({"op": "remove", "path": f"{path}/{index}"})
    for index in range(shared, len(after)):
        out.append({"op": "add", "path": f"{path}/{index}", "value": after[index]})


def _diff_values(old: Any, new: Any, path: str, name: str, out: list[Operation]) -> None:
    kind = type(old)
    if kind is not type(new):
        out.append({"op": "replace", "path": f"{path}/{escape(name)}", "value": new})
    elif kind is dict:
        _diff_maps(old, new, f"{path}/{escape(name)}", out)
    elif kind is list:
        _diff_lists(old, new, f"{path}/{escape(name)}", out)
    elif old != new:
        out.append({"op": "replace", "path": f"{path}/{escape(name)}", "value": new})


def escape(name: str) -> str:
    """A map's key inside a JSON pointer."""
    if "~" in name or "/" in name:
        return name.replace("~", "~0").replace("/", "~1")
    return name


def apply_in_place(obj: Any, ops: Sequence[Operation]) -> Any:
    """Applies the operations of `diff` to an unshared object. Operations are trusted."""
    document = _Document(obj, fresh=True)
    for op in ops:
        _OPERATIONS[op["op"]](document, op)
    return document.root


def apply_json_patch(obj: Object, ops: Any) -> Object:
    """Applies an RFC 6902 patch."""
    made = json_patched(obj, ops)
    if not isinstance(made, dict):
        raise errors.bad_request(
            f"json: cannot unmarshal {errors.json_type(made)} into Go value of type map"
        )
    return made


def json_patched(obj: Object, ops: Any) -> Any:
    """Applies an RFC 6902 patch. Raises 400, 413 or 422 as upstream does; the cause of the 422
    names the operation that failed and the reason."""
    if not isinstance(ops, list):
        kind = errors.json_type(ops)
        raise errors.bad_request(
            f"json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch"
        )
    for op in ops:
        if not isinstance(op, dict):
            kind = errors.json_type(op)
            raise errors.bad_request(
                f"json: cannot unmarshal {kind} into Go value of type jsonpatch.Operation"
            )
    if len(ops) > OPERATIONS_MAX:
        raise errors.ApiError(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{OPERATIONS_MAX}, got {len(ops)}",
        )
    document = _Document(obj)
    try:
        for op in ops:
            kind = op.get("op")
            run = _OPERATIONS.get(kind) if isinstance(kind, str) else None
            if run is None:
                raise PatchError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
            run(document, op)
    except PatchError as error:
        raise errors.ApiError(422, "Invalid", _REJECTED, details={}) from error
    return document.root


def merge(obj: Object, patch: Any) -> Object:
    """Applies an RFC 7386 merge patch. Raises a 400 if the patch is invalid."""
    if isinstance(patch, list):
        raise errors.bad_request("json: cannot unmarshal array into Go value of type map")
    if not isinstance(patch, dict):
        raise errors.bad_request("Invalid JSON Patch")
    return _merge_maps(obj, patch)


def _merge_maps(obj: Object, patch: Object) -> Object:
    """`obj` itself when the patch changes nothing."""
    out = obj
    new: Any
    for name, value in patch.items():
        old = obj.get(name)
        if value is None:
            if name not in obj:
                continue
            new = None
        elif value.__class__ is str:  # most are
            new = value
        elif isinstance(old, dict):
            new = _merge_maps(old, value) if isinstance(value, dict) else value
        else:
            new = _pruned(value)
        if new is old and name in obj and value is not None:
            continue
        if out is obj:
            out = dict(obj)
        if value is None:
            del out[name]
        else:
            out[name] = new
    return out


def _pruned(value: Any) -> Any:
    """A copy of a value without the nulls in its maps, also inside lists."""
    if isinstance(value, dict):
        return {name: _pruned(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    return value


class PatchError(ValueError):
    """Why an operation cannot be carried out, in evanphx/json-patch's words."""


class _Document:
    """A document that copies each container before its first change."""

    __slots__ = ("_fresh", "_owned", "copied", "root")

    def __init__(self, root: Any, *, fresh: bool = False) -> None:
        self.root = root
        self.copied = 0  # bytes of JSON
        self._fresh = fresh
        self._owned: dict[int, Any] = {}  # by id; holding them keeps the ids valid

    def container(self, path: str) -> tuple[Any, str] | None:
        """(writable container, key in it); None if the path does not exist."""
        steps = path.split("/")
        if len(steps) < 2:
            return None
        self.root = at = self._own(self.root)
        for step in steps[1:-1]:
            key = unescape(step)
            child = _get(at, key)
            if not isinstance(child, (dict, list)):
                return None
            owned = self._own(child)
            if owned is not child:
                at[_index(at, key) if isinstance(at, list) else key] = owned
            at = owned
        return at, unescape(steps[-1])

    def peek(self, path: str) -> tuple[Any, str] | None:
        """Like `container`, but read-only."""
        steps = path.split("/")
        if len(steps) < 2:
            return None
        at = self.root
        for step in steps[1:-1]:
            at = _get(at, unescape(step))
            if not isinstance(at, (dict, list)):
                return None
        return at, unescape(steps[-1])

    def _own(self, value: Any) -> Any:
        if self._fresh or id(value) in self._owned:
            return value
        owned = value.copy()
        self._owned[id(owned)] = owned
        return owned


def _get(container: Any, key: str) -> Any:
    """The value at a key; None if there is none."""
    if isinstance(container, dict):
        return container.get(key)
    try:
        return container[_index(container, key)]
    except PatchError:
        return None


_is_index = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch


def _index(items: list[Any], key: str) -> int:
    """An index into a list; a negative one counts from the end."""
    index = _number(key)
    if not -len(items) <= index < len(items):
        raise PatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index % len(items)


def _number(key: str) -> int:
    if not _is_index(key):
        raise PatchError(f'strconv.Atoi: parsing "{key}": invalid syntax')
    return int(key)


def unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def _text(op: Operation, field: str, missing: str) -> str:
    value = op.get(field)
    if not isinstance(value, str):
        raise PatchError(f"{missing}: missing value")
    return value


def _there(target: tuple[Any, str] | None, name: str, missing: str) -> tuple[Any, str]:
    """The container and the key in it that a pointer leads to; refused where it leads nowhere."""
    if target is None:
        raise PatchError(f"{name} operation does not apply: {missing}: missing value")
    return target


def _add(document: _Document, op: Operation) -> None:
    path = _text(op, "path", "add operation failed to decode path")
    target = _there(document.container(path), "add", f'doc is missing path: "{path}"')
    _insert(*target, op.get("value"), f"error in add for path: '{path}'")


def _insert(container: Any, key: str, value: Any, where: str) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        if not _is_index(key):
            raise PatchError(
                f"{where}: value was not a proper array index: '{key}': "
                f'strconv.Atoi: parsing "{key}": invalid syntax'
            )
        index, size = int(key), len(container) + 1
        if not -size <= index < size:
            raise PatchError(
                f"{where}: Unable to access invalid index: {index}: invalid index referenced"
            )
        container.insert(index % size, value)


def _remove(document: _Document, op: Operation) -> None:
    path = _text(op, "path", "remove operation failed to decode path")
    target = _there(document.container(path), "remove", f'doc is missing path: "{path}"')
    _delete(*target, f"error in remove for path: '{path}'")


def _delete(container: Any, key: str, where: str) -> None:
    if isinstance(container, list):
        del container[_at(container, key, where)]
    elif key in container:
        del container[key]
    else:
        raise PatchError(f"{where}: Unable to remove nonexistent key: {key}: missing value")


def _at(items: list[Any], key: str, where: str) -> int:
    try:
        return _index(items, key)
    except PatchError as error:
        raise PatchError(f"{where}: {error}") from error


def _replace(document: _Document, op: Operation) -> None:
    path = _text(op, "path", "replace operation failed to decode path")
    value = op.get("value")
    if path == "":
        if not isinstance(value, (dict, list)):
            raise PatchError("replace operation value must be object or array")
        document.root = value
        return
    container, key = _there(document.container(path), "replace", f"doc is missing path: {path}")
    if isinstance(container, dict):
        container[key] = value  # upstream also sets a key that is not there
        return
    try:
        container[_index(container, key)] = value
    except PatchError as error:
        raise PatchError(
            f"replace operation does not apply: doc is missing key: {path}: missing value"
        ) from error


def _move(document: _Document, op: Operation) -> None:
    source = _text(op, "from", "move operation failed to decode from")
    missing = f"doc is missing from path: {source}"
    container, key = _there(document.container(source), "move", missing)
    where = f"error in move for path: '{key}'"
    value = _value(container, key, where)
    _delete(container, key, where)
    path, container, key = _destination(document, op, "move")
    _insert(container, key, value, f"error in move for path: '{path}'")


def _value(container: Any, key: str, where: str) -> Any:
    if isinstance(container, list):
        return container[_at(container, key, where)]
    return container.get(key)


def _destination(document: _Document, op: Operation, name: str) -> tuple[str, Any, str]:
    """The path to which a value goes, and its place: the container and the key in it."""
    path = _text(op, "path", f"{name} operation failed to decode path")
    missing = f"doc is missing destination path: {path}"
    return path, *_there(document.container(path), name, missing)


def _copy(document: _Document, op: Operation) -> None:
    source = _text(op, "from", "copy operation failed to decode from")
    target = _there(document.peek(source), "copy", f"doc is missing from path: {source}")
    value = _value(*target, f"error in copy for from: '{source}'")
    _, container, key = _destination(document, op, "copy")
    # a true copy: what the document owns may be changed in place later
    try:
        text = orjson.dumps(value)
    except TypeError as error:
        raise PatchError(f"error while performing deep copy: {error}") from error
    document.copied += len(text)
    if document.copied > COPIED_BYTES_MAX:
        raise PatchError(
            "Unable to complete the copy, the accumulated size increase of copy is "
            f"{document.copied}, exceeding the limit {COPIED_BYTES_MAX}"
        )
    _insert(container, key, orjson.loads(text), "error while adding value during copy")


def _test(document: _Document, op: Operation) -> None:
    path = _text(op, "path", "test operation failed to decode path")
    expected = op.get("value")
    if path == "":
        value = document.root
    else:
        target = _there(document.peek(path), "test", f"is missing path: {path}")
        value = _value(*target, f"error in test for path: '{path}'")
    if not same(value, expected):
        raise PatchError(f"testing value {path} failed: test failed")


def same(first: Any, second: Any) -> bool:
    """Equality of JSON: true is not 1."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return len(first) == len(second) and all(
            name in second and same(value, second[name]) for name, value in first.items()
        )
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)


_OPERATIONS: dict[str, Callable[[_Document, Operation], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
