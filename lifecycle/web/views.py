"""The page itself: one template."""

from __future__ import annotations

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import render


async def page(request: ASGIRequest) -> HttpResponse:
    info = request.scope["state"]["edge"].port.info or {}
    shown = {"cluster": info.get("cluster", "demo"), "version": info.get("version", "")}
    response = render(request, "page.html", shown)
    response["Cache-Control"] = "no-cache"
    return response


async def favicon(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/static/mark.svg")


async def product_api(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/viz/v1/docs")
