"""Views that act on one object as somebody of the cast, each by one real request."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apiserver_app.machinery import meta
from lifecycle.api import bridge, cast, manifests, serializers

AS = OpenApiParameter("as", str, enum=cast.names(), description="who asks; default admin")
# the method, the type of its body, and its query, as kubectl has them
VERBS = {
    "update": ("PUT", "application/yaml", manifests.QUERY),
    "patch": ("PATCH", "application/merge-patch+json", manifests.QUERY),
    "delete": ("DELETE", "application/json", ""),
}
DRY_RUN = "dryRun=All"


class ObjectRequest(APIView):
    @extend_schema(
        request=serializers.ObjectRequestSerializer,
        parameters=[AS],
        responses=serializers.ObjectAnswerSerializer,
        operation_id="cluster_object_request",
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Replace, change or delete one object, by a real request of somebody of the cast."""
        given = serializers.ObjectRequestSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        sent = given.validated_data
        method, media, query = VERBS[sent["verb"]]
        if sent["dry_run"]:
            query = f"{query}&{DRY_RUN}".lstrip("&")
        is_text = sent["verb"] == "update"
        body = sent["manifest"] if is_text else json.dumps(sent["patch"], separators=(",", ":"))
        reply = send(request, cluster, method, _path(sent), query, media, body.encode())
        return Response(answer_of(reply))


def actor_of(request: Request) -> cast.Actor:
    """Whom the request names in `as`."""
    name = request.query_params.get("as", cast.ADMIN)
    if name not in cast.names():
        known = ", ".join(cast.names())
        raise exceptions.ValidationError({"detail": f'no user "{name}"; there are: {known}'})
    return cast.actor(bridge.edge_of(request).data_dir, name)


def send(
    request: Request, cluster: str, method: str, path: str, query: str, media: str, body: bytes
) -> bridge.Reply:
    """One request of whom the request names."""
    sent = (("content-type", media), ("accept", "application/json"))
    return _send(request, cluster, method, path, query, sent, body)


def read(
    request: Request, cluster: str, path: str, query: str = "", accept: str = "application/json"
) -> bridge.Reply:
    """One GET of whom the request names."""
    return _send(request, cluster, "GET", path, query, (("accept", accept),), b"")


def _send(
    request: Request,
    cluster: str,
    method: str,
    path: str,
    query: str,
    headers: tuple[tuple[str, str], ...],
    body: bytes,
) -> bridge.Reply:
    actor = actor_of(request)
    headers = (*headers, ("user-agent", "page"), *actor.headers)
    return bridge.send(request, cluster, method, path, query, headers, body, actor.tls)


def answer_of(reply: bridge.Reply) -> dict[str, Any]:
    """What the API server answered, and of a refusal why."""
    try:
        answer = json.loads(reply.body)
    except ValueError:  # of a path that is not there
        answer = {"kind": "Status", "message": reply.body.decode(errors="replace").strip()}
    refused = answer if reply.status >= 400 and answer.get("kind") == "Status" else {}
    causes = (refused.get("details") or {}).get("causes") or []
    return {
        "code": reply.status,
        "reason": refused.get("reason", ""),
        "message": refused.get("message", ""),
        "causes": [
            {"field": cause.get("field", ""), "message": cause.get("message", "")}
            for cause in causes
        ],
    }


def _path(sent: dict[str, Any]) -> str:
    parts = [
        *(("namespaces", sent["namespace"]) if sent["namespace"] else ()),
        sent["resource"],
        sent["name"],
        *([sent["subresource"]] if sent["subresource"] else []),
    ]
    return "/".join([meta.api_root(sent["api_version"]), *(quote(part, safe="") for part in parts)])
