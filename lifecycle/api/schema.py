"""The product API's description: OpenAPI 3 as JSON or YAML, and one page that shows it.

The page is made here from the same description; it loads nothing from anywhere.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView

METHODS = ("get", "post", "put", "patch", "delete")
_making = threading.Lock()


class _Made(SchemaGenerator):
    """The description as it was made the first time: it is for everybody, and costs."""

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        return _document()


class Schema(SpectacularAPIView):
    """OpenAPI 3; ?format=json for JSON."""

    generator_class = _Made


def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "docs.html", {"api": _document(), "operations": _operations()})


def _document() -> dict[str, Any]:
    """By one at a time: what makes it breaks when two begin at once."""
    with _making:
        return generated()


@lru_cache(maxsize=1)
def generated() -> dict[str, Any]:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    document: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return document


@lru_cache(maxsize=1)
def _operations() -> list[dict[str, Any]]:
    """Every operation with its parameters, fields and answers, ready to be listed."""
    return [
        {
            "method": method.upper(),
            "path": path,
            "about": operation.get("description", ""),
            "parameters": operation.get("parameters", []),
            "body": _fields(_first_schema(operation.get("requestBody", {}))),
            "answers": [
                {
                    "code": code,
                    "about": answer.get("description", ""),
                    "fields": _fields(_first_schema(answer)),
                }
                for code, answer in operation["responses"].items()
            ],
        }
        for path, item in _document()["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


def _first_schema(holder: dict[str, Any]) -> dict[str, Any]:
    for content in holder.get("content", {}).values():
        schema: dict[str, Any] = content.get("schema", {})
        return _resolved(schema)
    return {}


def _fields(schema: dict[str, Any]) -> list[dict[str, str]]:
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "type": _type(field),
            "required": "required" if name in required else "",
            "about": field.get("description", ""),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _type(field: dict[str, Any]) -> str:
    field = _resolved(field)
    if "enum" in field:
        return " | ".join(str(value) for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("type", "any"))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema a reference leads to."""
    for wrapped in schema.get("allOf", [])[:1]:
        schema = wrapped
    if "$ref" not in schema:
        return schema
    target: dict[str, Any] = _document()["components"]["schemas"][schema["$ref"].split("/")[-1]]
    return _resolved(target)
