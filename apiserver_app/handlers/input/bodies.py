"""What a request carried: its body as an object of the served type.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,rest}.go and
apimachinery pkg/runtime/serializer/json/{json,meta}.go.
"""

from __future__ import annotations

import re
from typing import Any, TypedDict

import msgspec

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.input import patching
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import client, errors
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import typedvalues
from apiserver_app.machinery.serializer import bodies, protobuf


class _Named(TypedDict, total=False):
    """What the trace wants to know of a body before it is decoded."""

    metadata: Any


_decode_named = msgspec.json.Decoder(_Named).decode
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_BODIES = ("application/json", "application/yaml", _PROTOBUF)
# of a media type, as Go's mime.ParseMediaType takes them
_PARAMETERS = re.compile(
    r"""\s*(?:[^\s;="]+\s*=\s*(?:[^\s;="]+|"(?:[^"\\]|\\.)*")\s*(?:;\s*|$))*""", re.ASCII
)
_MAPS = (client.STRATEGIC_PATCH, client.APPLY_PATCH)  # objects come out of these as maps
FEW_BYTES = 4 * typedvalues.ITEMS_MAX  # no body so short has more items
_CUSTOM_BODIES = ("application/json", "application/yaml")


def read(request: Request, info: ResourceInfo) -> Object:
    """The body as it was sent. A component's dict is taken as it is and never changed."""
    body = request.call.body
    if isinstance(body, dict):
        return body
    return _read(request, info.kind, _CUSTOM_BODIES if info.custom is not None else _BODIES)


def read_as(request: Request, definition: str, kind: str) -> Object:
    """The body as that type. A component's dict is taken as it is and never changed."""
    if isinstance(request.call.body, dict):
        return request.call.body
    return request.cluster.types.decode(definition, _read(request, kind))[0]


def _read(request: Request, into: str, taken: tuple[str, ...] = _BODIES) -> Object:
    body = request.call.body or b""
    assert isinstance(body, bytes), "only a patch is a list"
    kind, _, params = request.content_type.partition(";")
    kind = kind.strip().lower()
    if kind not in ("", *taken) or not _PARAMETERS.fullmatch(params):
        raise errors.unsupported_media_type(kind, taken)
    if kind == _PROTOBUF:
        message = protobuf.decode(body, into)
        if len(body) > bodies.PARTS_MAX:
            bodies.check_parts(message)
        return message
    strict = request.field_validation != "Ignore"
    obj, request.duplicates = bodies.decode(body, kind, find_duplicates=strict, into=into)
    if obj is None:
        return {}
    why = bodies.type_error(obj)
    if why:
        raise bodies.refusal(body, why, into)
    return obj  # type: ignore[no-any-return]


def name_in(call: Call) -> str:
    """The name a request is about, as far as can be told before any gate: for the trace only."""
    if call.name or call.verb != "create":
        return call.name
    body: Any = call.body
    if isinstance(body, bytes):
        if call.content_type.startswith(_PROTOBUF):
            return protobuf.name_in(body)
        try:
            body = _decode_named(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return ""  # YAML, or nothing that can be read: the decode gate will say which
    metadata = body.get("metadata") if isinstance(body, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def check_items(request: Request, info: ResourceInfo, value: Any) -> None:
    """Refuses an object whose lists have more items than their owners can be noted of."""
    body = request.call.body
    if isinstance(body, bytes) and (len(body) > FEW_BYTES or request.verb == "patch"):
        root = typedvalues.root(request.cluster.types.schema(info.definition))
        if typedvalues.owned_items(root, value) > typedvalues.ITEMS_MAX:
            raise errors.too_many_values(f"{typedvalues.ITEMS_MAX} items of lists with owners")


def typed(request: Request, info: ResourceInfo, raw: Object) -> tuple[Object, list[str]]:
    """A fresh object of the type the URL serves, and what is unknown or doubled in it."""
    version, kind = raw.get("apiVersion") or "", raw.get("kind") or ""
    if (version and version != info.api_version) or (kind and kind != info.kind):
        if info.custom is not None:
            _check_custom_kind(info, raw, str(version), str(kind))
        if request.verb != "patch" and str(version).count("/") > 1:
            why = f"unexpected GroupVersion string: {version}"
            raise bodies.refusal(request.call.raw, why, info.kind)
        raise _wrong_kind(request.cluster, info, str(version), str(kind))
    from_map = request.verb == "patch" and request.content_type in _MAPS
    sent = raw
    old, spec = request.old, raw.get("spec")
    # a patch of the status has left the stored spec as it is: it needs no second look
    kept = request.spec_kept = (
        spec is not None
        and old is not None
        and spec is old.get("spec")
        and request.subresource == "status"
        and request.strategy.keeps_spec
    )
    if kept:
        sent = raw.copy()
        del sent["spec"]
    obj, unknown = request.cluster.types.decode(info.definition, sent, from_map=from_map)
    if kept:
        status = obj.pop("status", None)
        obj["spec"] = spec
        if status is not None:
            obj["status"] = status
    obj["apiVersion"] = info.api_version
    obj["kind"] = info.kind
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return obj, [*request.duplicates, *unknown]


def _check_custom_kind(info: ResourceInfo, raw: Object, version: str, kind: str) -> None:
    """A custom resource's kind is a matter of validation, as it is no type of the server."""
    if version and version != info.api_version:
        raise errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({info.api_version})"
        )
    metadata = raw.get("metadata")
    name = str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
    wrong = errors.invalid_value("kind", kind, f"must be {info.kind}")
    raise errors.invalid(info.group, info.kind, name, [wrong])


def _wrong_kind(
    cluster: ClusterContext, info: ResourceInfo, version: str, kind: str
) -> errors.ApiError:
    """What was sent is of another type than the URL serves."""
    version, kind = version or info.api_version, kind or info.kind
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        return errors.Undecodable(why, why)
    group, _, tail = version.rpartition("/")
    if cluster.resources.by_gvk(group, tail, kind) is None:
        why = (
            f'no kind "{kind}" is registered for version "{version}" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"'
        )
    elif (group, kind) == (info.group, info.kind):
        return errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({info.api_version})"
        )
    else:
        inside = info.group.partition(".")[0] or "core"
        why = f"converting ({tail}.{kind}) to ({inside}.{info.kind}): unknown conversion"
    return errors.Undecodable(
        f'{kind} in version "{tail}" cannot be handled as a {info.kind}: {why}', why
    )


def check_strict(
    request: Request, info: ResourceInfo, mistakes: list[str], raw: Object, old: Object | None
) -> list[str]:
    """What is unknown or doubled, in its order: warned of, or refused, as the client asks."""
    mode = request.field_validation
    if mode == "Ignore":
        return mistakes
    if request.verb == "patch":
        mistakes = patching.in_order(request, info, mistakes, old, raw)
    if mode == "Warn":
        request.warnings += patching.warnings(mistakes)
        return mistakes
    if request.verb == "patch" and request.content_type != client.APPLY_PATCH:
        raise patching.strict_refusal(request, old, raw, mistakes)
    raise errors.bad_request(
        f'{info.kind} in version "{info.version}" cannot be handled as a {info.kind}: '
        f"strict decoding error: {', '.join(mistakes)}"
    )
