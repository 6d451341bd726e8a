"""Views of saved traces: list, save, download, page through, import, remove."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apiserver_app.machinery import meta
from lifecycle.api import bridge, serializers
from lifecycle.api.pages import from_and_limit, records_answer
from lifecycle.trace import archive, bookmarks, reading, storage


class Traces(APIView):
    @extend_schema(responses=serializers.TraceListSerializer, operation_id="traces_list")
    def get(self, request: Request) -> Response:
        """Saved traces."""
        return Response({"traces": [saved.summary() for saved in _archive(request).all()]})

    @extend_schema(
        request=serializers.SaveTraceSerializer,
        responses={201: serializers.TraceSerializer},
        operation_id="traces_save",
    )
    def post(self, request: Request) -> Response:
        """Save what a cluster's trace holds now."""
        given = serializers.SaveTraceSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        cluster = given.validated_data.get("cluster") or bridge.served(request)
        state = bridge.control(request, cluster, "state", {})
        header = _header(cluster, state)
        if marks := _bookmarks(request, cluster, state):
            header["bookmarks"] = marks
        saved = _archive(request).save(
            given.validated_data["name"],
            header,
            lambda first, last: storage.read_records(cluster, first, last),
        )
        return Response(saved.summary(), status=status.HTTP_201_CREATED)


class Trace(APIView):
    @extend_schema(
        responses={(200, "application/gzip"): OpenApiTypes.BINARY}, operation_id="trace_file"
    )
    def get(self, request: Request, trace: str) -> Any:
        """The file: gzip JSON lines, header first."""
        file = _or_404(lambda: _archive(request).file(trace))
        return FileResponse(
            file.open("rb"), as_attachment=True, filename=file.name, content_type="application/gzip"
        )

    @extend_schema(responses={204: None}, operation_id="trace_remove")
    def delete(self, request: Request, trace: str) -> Response:
        """Remove a saved trace."""
        _or_404(lambda: _archive(request).remove(trace))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TraceBookmarks(APIView):
    @extend_schema(responses=serializers.BookmarksSerializer, operation_id="trace_bookmarks_read")
    def get(self, request: Request, trace: str) -> Response:
        """The bookmarks of a saved trace."""
        saved = _or_404(lambda: _archive(request).get(trace))
        return Response({"bookmarks": saved.header.get("bookmarks", [])})

    @extend_schema(
        request=serializers.BookmarksSerializer,
        responses=serializers.TraceSerializer,
        operation_id="trace_bookmarks_write",
    )
    def put(self, request: Request, trace: str) -> Response:
        """The bookmarks of a saved trace, instead of those it has."""
        kept = _archive(request)
        saved = _or_404(lambda: kept.get(trace))
        kept.mark(trace, _given(request, saved.header["last"]))
        return Response(kept.get(trace).summary())


class ClusterBookmarks(APIView):
    @extend_schema(responses=serializers.BookmarksSerializer, operation_id="cluster_bookmarks_read")
    def get(self, request: Request, cluster: str) -> Response:
        """The bookmarks of a cluster; a fork begins with those of before its moment."""
        state = bridge.control(request, cluster, "state", {})
        return Response({"bookmarks": _bookmarks(request, cluster, state)})

    @extend_schema(
        request=serializers.BookmarksSerializer,
        responses=serializers.BookmarksSerializer,
        operation_id="cluster_bookmarks_write",
    )
    def put(self, request: Request, cluster: str) -> Response:
        """Bookmarks instead of those there; they go into the file when the trace is saved."""
        state = bridge.control(request, cluster, "state", {})
        given = _given(request, state["seq"])
        if cluster != bridge.served(request):
            bridge.control(request, cluster, "fork_bookmarks", {"set": given})
            return Response({"bookmarks": given})
        try:
            bookmarks.write(bridge.edge_of(request).data_dir, state["epoch"], given)
        except OSError as error:
            raise reading.TraceError(f"the bookmarks cannot be kept: {error.strerror}") from error
        return Response({"bookmarks": given})


class TraceRecords(APIView):
    @extend_schema(
        parameters=[OpenApiParameter("from", int), OpenApiParameter("limit", int)],
        responses=serializers.SavedRecordsSerializer,
        operation_id="trace_records",
    )
    def get(self, request: Request, trace: str) -> Any:
        """Records of a saved trace."""
        first, limit = from_and_limit(request)
        kept = _archive(request)
        saved = _or_404(lambda: kept.get(trace))
        records, last = kept.records(trace, first, limit)
        return records_answer(records, last, saved.header["last"], saved.header)


class Import(APIView):
    @extend_schema(
        request={"application/gzip": OpenApiTypes.BINARY},
        parameters=[OpenApiParameter("name", str)],
        responses={201: serializers.TraceSerializer},
        operation_id="traces_import",
    )
    def post(self, request: Request) -> Response:
        """Check a trace file and keep it; what is wrong is named by its line."""
        with bridge.upload_of(request) as upload:
            saved = _archive(request).take(request.query_params.get("name", ""), upload)
        return Response(saved.summary(), status=status.HTTP_201_CREATED)


def _archive(request: Request) -> archive.Archive:
    return archive.Archive(bridge.edge_of(request).data_dir)


def _bookmarks(request: Request, cluster: str, state: dict[str, Any]) -> list[dict[str, Any]]:
    if cluster != bridge.served(request):
        return list(bridge.control(request, cluster, "fork_bookmarks", {})["bookmarks"])
    return bookmarks.read(bridge.edge_of(request).data_dir, state["epoch"])


def _given(request: Request, last: int) -> list[dict[str, Any]]:
    """What the body asks for. Raises TraceError with what is wrong."""
    data = request.data
    try:
        return bookmarks.check(data.get("bookmarks") if isinstance(data, dict) else None, last)
    except ValueError as error:
        raise reading.TraceError(str(error)) from error


def _or_404(look: Any) -> Any:
    try:
        return look()
    except reading.TraceError as error:
        raise exceptions.NotFound(str(error)) from error


def _header(cluster: str, state: dict[str, Any]) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "kubernetes": state["version"],
        "epoch": meta.rfc3339(state["epoch"]),
        "seed": state["seed"],
        "profile": state["profile"],
        "nodes": state["nodes"],
        "first": 1,
        "last": state["seq"],
    }
