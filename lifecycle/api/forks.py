"""Views of forks: make one at a moment of a trace, list them, compare one with its cluster."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apiserver_app.etcd.backend import FORK
from lifecycle.api import bridge, serializers
from lifecycle.trace import bookmarks, storage


class Forks(APIView):
    @extend_schema(responses=serializers.ForkListSerializer, operation_id="forks_list")
    def get(self, request: Request, cluster: str) -> Response:
        """The forks of a cluster, those that are being made too."""
        return Response({"forks": bridge.control(request, cluster, "forks", {})["forks"]})

    @extend_schema(
        request=serializers.NewForkSerializer,
        responses={201: serializers.ForkSerializer},
        operation_id="forks_make",
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Make a cluster that begins as this one was at a record or a revision, paused there."""
        given = serializers.NewForkSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        state = bridge.control(request, cluster, "state", {})
        marks = bookmarks.read(bridge.edge_of(request).data_dir, state["epoch"])
        wanted = {**given.validated_data, "bookmarks": marks}
        answer = bridge.control(request, cluster, "fork", wanted)
        return Response(answer["fork"], status=status.HTTP_201_CREATED)


class Comparison(APIView):
    @extend_schema(responses=serializers.ComparisonSerializer, operation_id="fork_comparison")
    def get(self, request: Request, cluster: str) -> Response:
        """What diverged between a fork and the cluster it was made from, up to where both are."""
        origin = cluster.rpartition(FORK)[0] or bridge.served(request)
        forks = bridge.control(request, origin, "forks", {})["forks"]
        fork = next((fork for fork in forks if fork["name"] == cluster), None)
        if fork is None:
            raise exceptions.NotFound(f'there is no fork "{cluster}"')
        if fork["anew"]:
            raise exceptions.ValidationError(
                {"detail": f'"{cluster}" began anew: it has no moment in common with "{origin}"'}
            )
        if fork["state"] != "ready":
            why = fork["why"] or "it is being made"
            raise exceptions.ValidationError({"detail": f'"{cluster}" is not ready: {why}'})
        return Response(storage.compared(origin, cluster, fork["seq"]))
