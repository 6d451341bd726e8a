"""URLs of the product API, below /viz/v1/."""

from __future__ import annotations

from django.urls import path

from lifecycle.api import acting, addons, clusters, forks, names, openapi, reading, schema, traces

urlpatterns = [
    path("clusters", clusters.ClusterList.as_view()),
    path("clusters/<str:cluster>", clusters.ClusterState.as_view()),
    path("clusters/<str:cluster>/control", clusters.Control.as_view()),
    path("clusters/<str:cluster>/vote", clusters.Vote.as_view()),
    path("clusters/<str:cluster>/console", clusters.Console.as_view()),
    path("clusters/<str:cluster>/apply", clusters.Apply.as_view()),
    path(
        "clusters/<str:cluster>/services/<str:namespace>/<str:name>/request",
        clusters.ServiceRequest.as_view(),
    ),
    path(
        "clusters/<str:cluster>/services/<str:namespace>/<str:name>/rules",
        clusters.ServiceRules.as_view(),
    ),
    path("clusters/<str:cluster>/resolve", names.Resolve.as_view()),
    path("clusters/<str:cluster>/get", reading.Get.as_view()),
    path("clusters/<str:cluster>/object/request", acting.ObjectRequest.as_view()),
    path("clusters/<str:cluster>/openapi", openapi.OpenApi.as_view()),
    path("clusters/<str:cluster>/objects", clusters.Objects.as_view()),
    path("clusters/<str:cluster>/object", clusters.ObjectAt.as_view()),
    path("clusters/<str:cluster>/startup", clusters.Startup.as_view()),
    path("clusters/<str:cluster>/requests/<int:seq>/forms", clusters.Forms.as_view()),
    path("clusters/<str:cluster>/records", clusters.Records.as_view()),
    path("clusters/<str:cluster>/moment", clusters.Moment.as_view()),
    path("clusters/<str:cluster>/bookmarks", traces.ClusterBookmarks.as_view()),
    path("clusters/<str:cluster>/forks", forks.Forks.as_view()),
    path("clusters/<str:cluster>/comparison", forks.Comparison.as_view()),
    path("addons", addons.Addons.as_view()),
    path("cast", clusters.Cast.as_view()),
    path("traces", traces.Traces.as_view()),
    path("traces/import", traces.Import.as_view()),
    path("traces/<str:trace>", traces.Trace.as_view()),
    path("traces/<str:trace>/bookmarks", traces.TraceBookmarks.as_view()),
    path("traces/<str:trace>/records", traces.TraceRecords.as_view()),
    path("schema", schema.Schema.as_view()),
    path("docs", schema.docs),
]
