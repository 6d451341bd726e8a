"""The schema of one kind, cut out of what the cluster's own API server says at /openapi/v3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apiserver_app.machinery import meta
from lifecycle.api import acting, serializers

REFERENCE = "#/components/schemas/"
GVK = "x-kubernetes-group-version-kind"


class OpenApi(APIView):
    @extend_schema(
        parameters=[
            acting.AS,
            OpenApiParameter("api-version", str, required=True, description="e.g. apps/v1"),
            OpenApiParameter("kind", str, required=True, description="e.g. Deployment"),
        ],
        responses=serializers.OpenApiAnswerSerializer,
        operation_id="cluster_openapi",
    )
    def get(self, request: Request, cluster: str) -> Response:
        """The schema of a kind, read from the API server as somebody of the cast."""
        api_version = request.query_params.get("api-version", "")
        kind = request.query_params.get("kind", "")
        path = f"/openapi/v3{quote(meta.api_root(api_version))}"
        reply = acting.read(request, cluster, path)
        if reply.status != 200:
            message = acting.answer_of(reply)["message"]
            return Response({"root": "", "schemas": {}, "message": message})
        schemas = json.loads(reply.body).get("components", {}).get("schemas", {})
        root = next((name for name, schema in schemas.items() if _is_of(schema, kind)), "")
        message = "" if root else f'no matches for kind "{kind}" in version "{api_version}"'
        return Response({"root": root, "schemas": _reachable(schemas, root), "message": message})


def _is_of(schema: dict[str, Any], kind: str) -> bool:
    return any(named.get("kind") == kind for named in schema.get(GVK, ()))


def _reachable(schemas: dict[str, Any], root: str) -> dict[str, Any]:
    """The schema and all that it refers to, by name."""
    reached: dict[str, Any] = {}
    names = [root]
    while names:
        name = names.pop()
        if name in schemas and name not in reached:
            reached[name] = schemas[name]
            names += _references(schemas[name])
    return reached


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(REFERENCE)
        for part in value.values():
            yield from _references(part)
    elif isinstance(value, list):
        for part in value:
            yield from _references(part)
