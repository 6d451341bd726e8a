"""The page itself: one template. And the way in: from the token of a link to a session."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

from django.core.handlers.asgi import ASGIRequest
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponsePermanentRedirect,
    HttpResponseRedirect,
)
from django.shortcuts import render

from lifecycle.hosting.edge import access, app


async def page(request: ASGIRequest) -> HttpResponse:
    edge: app.Services = request.scope["state"]["edge"]
    caller: access.Caller = request.scope["state"]["caller"]
    if "token" in request.GET:
        return _enter(request, edge.access)
    if not caller.has(access.WATCH):
        return _way_in(request)
    info = edge.port.info or {}
    files = await asyncio.to_thread(edge.static.made.addresses)
    shown = {
        "script": files.script,
        "style": files.style,
        "cluster": info.get("cluster", "demo"),
        "version": info.get("version", ""),
        "role": caller.role,
    }
    response = render(request, "page.html", shown)
    response["Cache-Control"] = "no-cache"
    return response


async def favicon(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/static/mark.svg")


async def product_api(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/viz/v1/docs")


def _enter(request: ASGIRequest, tokens: access.Access) -> HttpResponse:
    """Exchanges the token for a session, and leads to the address without it: it must stay
    neither in the history nor in a Referer."""
    role = tokens.role_of(request.GET["token"].strip())
    if tokens.needed and not role:
        return _way_in(request, wrong=True)
    if request.headers.get("Sec-Fetch-Dest", "document") != "document":
        return _way_in(request)  # a picture in another page must not change who its visitor is here
    rest = [(name, value) for name, value in _pairs(request) if name != "token"]
    response = HttpResponseRedirect("/" + ("?" + urlencode(rest) if rest else ""))
    if tokens.needed:
        response.set_cookie(
            tokens.cookie(request.is_secure()),
            tokens.session(role),
            secure=request.is_secure(),
            httponly=True,
            samesite="Strict",
        )
    return _unseen(response)


def _way_in(request: ASGIRequest, wrong: bool = False) -> HttpResponse:
    """Says where the link is, and takes a token."""
    response = render(request, "entrance.html", {"wrong": wrong}, status=401)
    response["WWW-Authenticate"] = "Bearer"
    return _unseen(response)


def _unseen(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response


def _pairs(request: ASGIRequest) -> list[tuple[str, str]]:
    return [(name, value) for name, values in request.GET.lists() for value in map(str, values)]
