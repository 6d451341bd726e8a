"""Views of clusters: state, control, apply, objects, records. They parse, call and format."""

from __future__ import annotations

import contextlib
import json
from typing import Any
from urllib.parse import quote

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, parsers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lifecycle.api import acting, bridge, cast, manifests, serializers, states
from lifecycle.api.pages import from_and_limit, number, records_answer
from lifecycle.hosting.port import edgeport
from lifecycle.trace import storage

ACTION_NAMES = {"step-request": "step_request", "breakpoint": "breakpoints"}
ANSWER_BYTES_MAX = 2000  # of what a Service answered


class TextParser(parsers.BaseParser):
    """The body as it is, whatever its type says: people paste YAML."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> bytes:
        body: bytes = stream.read()
        return body


class ClusterList(APIView):
    @extend_schema(responses=serializers.ClusterListSerializer, operation_id="clusters_list")
    def get(self, request: Request) -> Response:
        """Every cluster that runs here."""
        served = bridge.served(request)
        names = [served, *sorted(bridge.edge_of(request).port.clusters - {served})]
        clusters = []
        for name in names:
            with contextlib.suppress(edgeport.Refused):  # a fork that is removed just now
                clusters.append(states.shown(name, bridge.control(request, name, "state", {})))
        return Response({"clusters": clusters})


class ClusterState(APIView):
    @extend_schema(responses=serializers.StateSerializer, operation_id="cluster_state")
    def get(self, request: Request, cluster: str) -> Response:
        """A cluster's clock, what holds it, and how far its trace is."""
        return Response(states.shown(cluster, bridge.control(request, cluster, "state", {})))

    @extend_schema(responses={204: None}, operation_id="fork_remove")
    def delete(self, request: Request, cluster: str) -> Response:
        """Remove a fork; the cluster that the demo serves is refused."""
        bridge.control(request, bridge.served(request), "remove_fork", {"name": cluster})
        return Response(status=status.HTTP_204_NO_CONTENT)


class Control(APIView):
    @extend_schema(
        request=serializers.ControlSerializer,
        responses=serializers.StateSerializer,
        operation_id="cluster_control",
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Pause, step, change speed, set breakpoints, stop or fail a component, or take along who
        only watches (stage); the new state."""
        given = serializers.ControlSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        args = dict(given.validated_data)
        action = args.pop("action")
        state = bridge.control(request, cluster, ACTION_NAMES.get(action, action), args)
        return Response(states.shown(cluster, state))


class Vote(APIView):
    @extend_schema(
        request=serializers.VoteSerializer,
        responses=serializers.VotesSerializer,
        operation_id="cluster_vote",
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Say which node a pod will get, while the scheduler is held before it scores. Of each page
        the last answer counts; only counts are told."""
        given = serializers.VoteSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(
            bridge.control(request, cluster, "vote", dict(given.validated_data))["votes"]
        )


class Console(APIView):
    @extend_schema(
        request=serializers.ConsoleSerializer,
        responses=serializers.ConsoleAnswerSerializer,
        operation_id="cluster_console",
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Run one etcdctl command on the cluster's store; what it wrote, and its exit code."""
        given = serializers.ConsoleSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        answer = bridge.control(request, cluster, "console", dict(given.validated_data))
        fields = ("output", "errors", "exit_code", "revision")
        return Response({name: answer[name] for name in fields})


class Apply(APIView):
    parser_classes = (TextParser,)

    @extend_schema(
        request={"application/yaml": OpenApiTypes.STR, "application/json": OpenApiTypes.OBJECT},
        parameters=[
            acting.AS,
            OpenApiParameter("server-side", bool, description="apply to what is there, by force"),
            OpenApiParameter("dry-run", bool, description="check all, store nothing"),
        ],
        responses=serializers.ResultsSerializer,
        operation_id="cluster_apply",
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Create the objects of a manifest, each by a real request of somebody of the cast."""
        actor = acting.actor_of(request)
        version = bridge.release_of(request)
        applies = request.query_params.get("server-side") == "true"
        way = manifests.APPLY if applies else manifests.CREATE
        dry_run = request.query_params.get("dry-run") == "true"
        try:
            posts = manifests.posts(request.data or b"", version, actor.namespace, way)
        except manifests.ManifestError as error:
            raise exceptions.ValidationError({"detail": str(error)}) from error
        sent = [_send(request, cluster, post, way, dry_run) for post in posts]
        return Response({"results": sent})


class ServiceRequest(APIView):
    @extend_schema(
        request=serializers.ServiceRequestSerializer,
        parameters=[acting.AS],
        responses=serializers.ServiceAnswerSerializer,
        operation_id="cluster_service_request",
    )
    def post(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Send one GET to a Service by the API server's proxy, as somebody of the cast."""
        given = serializers.ServiceRequestSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        port, rest = given.validated_data["port"], given.validated_data["path"].lstrip("/")
        where = f"/api/v1/namespaces/{quote(namespace)}/services/{quote(name)}:{port}"
        reply = acting.read(request, cluster, f"{where}/proxy/{rest}", accept="*/*")
        text = reply.body[:ANSWER_BYTES_MAX].decode(errors="replace")
        return Response({"code": reply.status, "answer": text})


class ServiceRules(APIView):
    @extend_schema(responses=serializers.RulesSerializer, operation_id="cluster_service_rules")
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """What kube-proxy has written of a Service, and on which nodes it is the same."""
        about = {"namespace": namespace, "name": name}
        return Response(bridge.control(request, cluster, "rules", about)["rules"])


class Objects(APIView):
    @extend_schema(
        parameters=[OpenApiParameter("prefix", str, description="of the store's keys")],
        responses=serializers.ObjectsSerializer,
        operation_id="cluster_objects",
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Current objects below a prefix of the store."""
        prefix = request.query_params.get("prefix", "/registry/")
        state = bridge.control(request, cluster, "objects", {"prefix": prefix})
        return Response({"objects": state["objects"], "revision": state["revision"]})


class ObjectAt(APIView):
    @extend_schema(
        parameters=[
            OpenApiParameter("key", str, required=True),
            OpenApiParameter("revision", int, required=True),
        ],
        responses=serializers.ObjectSerializer,
        operation_id="cluster_object_at",
    )
    def get(self, request: Request, cluster: str) -> Response:
        """One object as it was at a revision; null when it was not there."""
        args = {
            "key": request.query_params.get("key", ""),
            "revision": number(request, "revision", 0),
        }
        return Response({"object": bridge.control(request, cluster, "object_at", args)["object"]})


class Startup(APIView):
    @extend_schema(responses=serializers.StartupSerializer, operation_id="cluster_startup")
    def get(self, request: Request, cluster: str) -> Response:
        """How the cluster's API server was built: servers, providers, storages, routes, hooks."""
        return Response(bridge.control(request, cluster, "startup", {})["startup"])


class Forms(APIView):
    @extend_schema(responses=serializers.FormsSerializer, operation_id="request_forms")
    def get(self, request: Request, cluster: str, seq: int) -> Response:
        """A request's body, the object it was decoded to, and the bytes etcd holds of it."""
        return Response(bridge.control(request, cluster, "forms", {"seq": seq})["forms"])


class Records(APIView):
    @extend_schema(
        parameters=[OpenApiParameter("from", int), OpenApiParameter("limit", int)],
        responses=serializers.RecordsSerializer,
        operation_id="cluster_records",
    )
    def get(self, request: Request, cluster: str) -> Any:
        """Trace records of a running cluster, as the live feed gives them."""
        first, limit = from_and_limit(request)
        end = bridge.control(request, cluster, "state", {})["seq"]
        records, last = storage.read_records(cluster, first, first + limit - 1, limit)
        return records_answer(records, last, end)


class Moment(APIView):
    @extend_schema(
        parameters=[OpenApiParameter("revision", int, required=True)],
        responses=serializers.MomentAnswerSerializer,
        operation_id="cluster_moment",
    )
    def get(self, request: Request, cluster: str) -> Response:
        """When the store had a revision, or which one is the oldest that can be looked at."""
        revision = number(request, "revision", 1)
        bridge.control(request, cluster, "state", {})
        return Response(storage.moment(cluster, revision))


class Cast(APIView):
    @extend_schema(responses=serializers.CastSerializer, operation_id="cast")
    def get(self, request: Request) -> Response:
        """Who can be acted as."""
        return Response(cast.shown())


def _send(
    request: Request, cluster: str, post: manifests.Post, way: manifests.Way, dry_run: bool
) -> dict[str, Any]:
    result = {"kind": post.kind, "namespace": post.namespace, "name": post.name}
    if post.problem:
        problem = {"reason": "BadRequest", "message": post.problem, "causes": []}
        return {**result, "code": 400, **problem}
    query = f"{way.query}&{acting.DRY_RUN}" if dry_run else way.query
    reply = acting.send(request, cluster, way.method, post.path, query, way.media, post.body)
    answer = acting.answer_of(reply)
    if reply.status < 400:
        stored = json.loads(reply.body).get("metadata", {})
        result["name"], answer["message"] = stored.get("name", post.name), way.done
    return {**result, **answer}
