"""URLs behind the edge: the page and the product API. /static and the Kubernetes API are not here.

The product API is imported when it is first asked for, because DRF is large.
"""

from __future__ import annotations

from django.urls import include, path

from lifecycle import views

urlpatterns = [
    path("", views.page),
    path("favicon.ico", views.favicon),
    path("viz", views.product_api),
    path("viz/", views.product_api),
    path("viz/v1/", include("lifecycle.api.urls")),
]
