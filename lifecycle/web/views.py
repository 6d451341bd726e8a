"""The page itself: one template, and the headers that keep it to its own server."""

from __future__ import annotations

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import render

# the page loads nothing from elsewhere; styles may be set by the page's own scripts
POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self' ws: wss:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)


async def page(request: ASGIRequest) -> HttpResponse:
    info = request.scope["state"]["edge"].port.info or {}
    shown = {"cluster": info.get("cluster", "demo"), "version": info.get("version", "")}
    response = render(request, "page.html", shown)
    response["Content-Security-Policy"] = POLICY
    response["Cache-Control"] = "no-cache"
    return response


async def favicon(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/static/mark.svg")


async def product_api(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/viz/v1/docs")
