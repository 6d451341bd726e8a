"""URLs behind the edge: the page and the product API. /static and the Kubernetes API are not here.

The product API is imported when it is first asked for, because DRF is large.
"""

from __future__ import annotations

from django.urls import URLResolver, path
from django.urls.resolvers import RoutePattern

from lifecycle.web import views

urlpatterns = [
    path("", views.page),
    path("favicon.ico", views.favicon),
    path("viz", views.product_api),
    path("viz/", views.product_api),
    URLResolver(RoutePattern("viz/v1/"), "lifecycle.api.urls"),  # include() would import it now
]
