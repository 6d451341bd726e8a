"""Custom resources in OpenAPI documents: their schemas as clients read them.

The schema is the definition's own, with the fields every object has. In version 2 what Swagger
has no words for is left out.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/
builder.go and v2/conversion.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver_app.http.openapi import components
from apiserver_app.http.openapi.components import META
from apiserver_app.machinery.meta import ResourceInfo

Json = dict[str, Any]

ROOTS = tuple(
    META + name for name in "ObjectMeta ListMeta DeleteOptions Status Patch APIResourceList".split()
)
_TYPED = "io.k8s.api.core.v1.ConfigMap"  # whose kind and version are described like every kind's
_NOT_IN_V2 = frozenset(
    """
    nullable oneOf anyOf allOf not x-kubernetes-validations x-kubernetes-int-or-string
    """.split()
)
_INSIDE = ("properties", "items")  # which kubectl cannot cope with where more fields may be
_GVK = "x-kubernetes-group-version-kind"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"


def schemas(definitions: components.Definitions, infos: Iterable[ResourceInfo]) -> dict[str, Json]:
    """Definition name -> schema of the kinds and their lists, as in OpenAPI 3."""
    described = definitions.load(_TYPED)["properties"]
    texts = {name: described[name].get("description", "") for name in ("apiVersion", "kind")}
    out: dict[str, Json] = {}
    for info in infos:
        assert info.custom is not None, "a custom resource"
        out[info.definition] = _kind(info, info.custom.source, texts)
        out[f"{info.definition}List"] = _list(info, texts)
    return out


def in_v2(schema: Json) -> Json:
    """The schema of a kind without what Swagger 2.0 has not. Where fields that are not known are
    kept the others are left out: kubectl takes what is named for all there is."""
    if schema.get(_PRESERVE):
        return {"type": "object", _GVK: schema[_GVK]}
    return _inner_in_v2(schema)


def _inner_in_v2(schema: Json) -> Json:
    if schema.get("x-kubernetes-int-or-string"):
        return {"x-kubernetes-int-or-string": True, **_described(schema)}
    out = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    if schema.get("nullable") or schema.get(_PRESERVE):
        for key in _INSIDE:
            out.pop(key, None)
        if schema.get("nullable") or schema.get("type") == "object":
            out.pop("type", None)
    if out.get("type") == "array" and "items" not in out:
        del out["type"]
    _forget_nullable(out)
    if "properties" in out:
        out["properties"] = {name: _inner_in_v2(inner) for name, inner in out["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = _inner_in_v2(out[key])
    if "allOf" in schema and "$ref" in schema["allOf"][0]:
        out["$ref"] = schema["allOf"][0]["$ref"]
    if "$ref" in out:
        name = out["$ref"].removeprefix(components.V3_PREFIX)
        out["$ref"] = components.V2_PREFIX + name.removeprefix(components.V2_PREFIX)
    return out


def _forget_nullable(out: Json) -> None:
    """What may be null cannot be required of a client that knows no null."""
    properties, values = out.get("properties") or {}, out.get("additionalProperties")
    required = [
        name
        for name in out.get("required") or ()
        if not (properties.get(name) or {}).get("nullable")
    ]
    if isinstance(values, dict) and values.get("nullable"):
        required = []
    if required:
        out["required"] = required
    else:
        out.pop("required", None)


def _described(schema: Mapping[str, Any]) -> Json:
    return {"description": schema["description"]} if schema.get("description") else {}


def _kind(info: ResourceInfo, source: Mapping[str, Any], texts: Mapping[str, str]) -> Json:
    properties: Json = dict(source.get("properties") or {})
    for name, text in texts.items():
        properties[name] = {"description": text, "type": "string"}
    metadata = properties.get("metadata") or {}
    properties["metadata"] = {
        "description": metadata.get("description")
        or "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel"
        "/sig-architecture/api-conventions.md#metadata",
        "allOf": [components.reference(META + "ObjectMeta")],
    }
    out: Json = {**source, "type": "object"}
    out["properties"] = {name: properties[name] for name in sorted(properties)}
    out[_GVK] = [_gvk(info, info.kind)]
    return out


def _list(info: ResourceInfo, texts: Mapping[str, str]) -> Json:
    items = {
        "description": f"List of {info.plural}. More info: https://git.k8s.io/community/"
        "contributors/devel/sig-architecture/api-conventions.md",
        "type": "array",
        "items": components.reference(info.definition),
    }
    metadata = {
        "description": "Standard list metadata. More info: https://git.k8s.io/community/"
        "contributors/devel/sig-architecture/api-conventions.md#types-kinds",
        "allOf": [components.reference(META + "ListMeta")],
    }
    words = {name: {"description": text, "type": "string"} for name, text in texts.items()}
    return {
        "description": f"{info.list_kind} is a list of {info.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": words["apiVersion"],
            "items": items,
            "kind": words["kind"],
            "metadata": metadata,
        },
        _GVK: [_gvk(info, info.list_kind)],
    }


def _gvk(info: ResourceInfo, kind: str) -> dict[str, str]:
    return {"group": info.group, "kind": kind, "version": info.version}
