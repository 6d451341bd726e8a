"""Views of forks: make one at a moment of a trace and list them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lifecycle.api import bridge, serializers


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
        answer = bridge.control(request, cluster, "fork", dict(given.validated_data))
        return Response(answer["fork"], status=status.HTTP_201_CREATED)
