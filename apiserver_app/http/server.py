"""Serves HTTP: a raw request becomes a Call, its Outcome bytes or a stream of watch events.

The only place that maps an ApiError to a response. No sockets here: the host gives a Request and a
Reply. Nothing leaves before the host commits what the request did.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{get,watch}.go and
responsewriters/{writers,errors}.go.
"""

from __future__ import annotations

import functools
import urllib.parse
from collections.abc import Callable

from apiserver_app.handlers import request as requests
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http import negotiation, paths, render, requestinfo, seats, statuses, watches
from apiserver_app.http.exchange import SIZED_BYTES_MAX, Headers, Reply, Request
from apiserver_app.http.streaming import sessions
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Credential, ResourceInfo, TlsPeer
from apiserver_app.pipeline import Pipeline


class Server:
    """One cluster's HTTP side."""

    def __init__(self, cluster: ClusterContext, pipeline: Pipeline) -> None:
        self.cluster = cluster
        self.pipeline = pipeline
        self._seats = seats.Seats()
        self._paths = paths.PathHandler(cluster)

    async def serve(self, request: Request, reply: Reply) -> None:
        """Answers one request. Never raises."""
        headers = _headers_of(request)
        taken: requests.Request | None = None
        try:
            self.cluster.life.check()
            call = self._call(request, headers)
            taken = requests.Request(self.cluster, call)
            check = functools.partial(render.accepted, headers.get("accept", ""), call)
            taken.check_answer = check
            if call.info is None:
                taken.document = self._paths.handle
            outcome = await self.pipeline.handle(taken)
            if outcome.stream is not None or outcome.selection is not None:
                await self._stay(taken, outcome, reply, check)
                return
            accepted = taken.accepted or check()
            status, more, body = await render.outcome(self.cluster, call, outcome, accepted)
            if call.verb in _SIZED:
                self.cluster.counters.sent(taken.sort, len(body))
            self._whole(request, reply, status, statuses.merged(self._headers(taken), more), body)
        except errors.ApiError as error:
            self._refuse(error, request, taken, headers, reply)
        except Exception as error:  # the edge of the process: a bug must not hang a client
            self.cluster.process.on_bug(f"{request.method} {request.path}", error)
            if taken is not None and taken.audit is not None:
                taken.audit.panicked(str(error), self.cluster.kernel.now)
            failure = errors.internal(f"{type(error).__name__}: {error}")
            self._refuse(failure, request, taken, headers, reply)

    async def _stay(
        self,
        taken: requests.Request,
        outcome: Outcome,
        reply: Reply,
        check: Callable[[], negotiation.Accepted],
    ) -> None:
        """An answer that stays open: a watch, which continues by itself, or a stream."""
        headers, selection = self._headers(taken), outcome.selection
        give_back = self._seats.take(taken.user)
        if selection is None:
            try:
                await sessions.serve(self.cluster, outcome, reply, headers)
            finally:
                give_back()
            return
        try:
            watches.open_watch(taken, selection, check(), reply, headers, give_back)
        except errors.ApiError:
            give_back()
            raise

    def _refuse(
        self,
        error: errors.ApiError,
        request: Request,
        taken: requests.Request | None,
        headers: dict[str, str],
        reply: Reply,
    ) -> None:
        params = taken.call.params if taken is not None else {}
        status, more, body = statuses.render(error, render.of_refusal(headers, params))
        self._whole(request, reply, status, statuses.merged(self._headers(taken), more), body)

    @staticmethod
    def _whole(request: Request, reply: Reply, status: int, headers: Headers, body: bytes) -> None:
        """Sends an answer; to HEAD without the body, but with its length if it is a short one."""
        if request.method == "HEAD":
            if len(body) <= SIZED_BYTES_MAX and status != 304:
                headers = statuses.merged([("Content-Length", str(len(body)))], headers)
            body = b""
        reply.head(status, headers, body)

    def call_of(self, request: Request) -> Call:
        """Parses a request into a Call. Raises ApiError when it is malformed."""
        return self._call(request, _headers_of(request))

    def _call(self, request: Request, headers: dict[str, str]) -> Call:
        path = urllib.parse.unquote(request.path, errors="replace")
        parsed = requestinfo.parse(request.method, path, request.query)
        if "timeout" in parsed.params:
            requestinfo.check_timeout(parsed)
        info = None
        if parsed.is_resource:
            info = self.cluster.resources.find(parsed.group, parsed.version, parsed.plural)
            if info is not None and parsed.subresource not in ("", *info.subresources):
                info = None
        return Call(
            verb=parsed.verb,
            path=path,
            credential=_credential(request, headers, self.cluster.access.proxy_headers),
            agent=headers.get("user-agent", "unknown"),
            info=info,
            subresource=parsed.subresource,
            namespace=parsed.namespace,
            name=parsed.name,
            params=parsed.params,
            body=request.body,
            content_type=headers.get("content-type", ""),
            outside=True,
            asked=(parsed.group, parsed.version, parsed.plural) if parsed.is_resource else _NOTHING,
            routed=200 if info is None else _routed(request.method, parsed, info),
            query=request.query,
            address=request.address,
            headers=headers,
            method=request.method,
            rest=_rest(parsed) if parsed.subresource == "proxy" else "",
        )

    def _headers(self, taken: requests.Request | None) -> Headers:
        if taken is None:
            return statuses.common_headers("")
        headers = statuses.common_headers(taken.audit_id, taken.flow, taken.warnings)
        if taken.traced:
            headers.append(("Traceparent", taken.traced))
        return headers


_NOTHING = ("", "", "")
_SIZED = ("get", "list")


def _routed(method: str, parsed: requestinfo.RequestInfo, info: ResourceInfo) -> int:
    """Returns 200 when a route exists, 404 when not for the path, 405 when not for the method.

    Models staging/src/k8s.io/apiserver/pkg/endpoints/installer.go, which registers the routes.
    """
    verb = parsed.verb
    named, watches = parsed.in_path, verb == "watch"
    everywhere = info.namespaced and not parsed.namespace
    if (parsed.rest and parsed.subresource != "proxy") or (everywhere and named):
        return 404
    if watches and parsed.subresource:
        return 404
    if not info.namespaced and parsed.namespace and info.plural != "namespaces":
        return 404
    if parsed.subresource == "proxy":
        return 405 if everywhere else 200
    if method == "HEAD" or (watches and method != "GET"):
        return 405
    if everywhere and verb not in ("list", "watch"):
        return 405
    if verb == "create":
        return 405 if named and not parsed.subresource else 200
    return 405 if verb in ("update", "patch") and not named else 200


def _rest(parsed: requestinfo.RequestInfo) -> str:
    """Returns the path below `proxy`, with its leading and trailing slashes."""
    rest = "/".join(parsed.rest)
    if rest and not rest.startswith("/"):
        rest = "/" + rest
    return rest + "/" if parsed.path.endswith("/") and not rest.endswith("/") else rest


def _headers_of(request: Request) -> dict[str, str]:
    """Indexes headers by lower-case name. Repeated list headers are joined; else the first
    counts."""
    headers: dict[str, str] = {}
    for name, value in request.headers:
        name = name.lower()
        if name not in headers:
            headers[name] = value
        elif name in _LISTS:
            headers[name] = f"{headers[name]}, {value}"
    return headers


_LISTS = ("connection", "sec-websocket-protocol", "x-stream-protocol-version")


def _credential(request: Request, headers: dict[str, str], proxied: tuple[str, ...]) -> Credential:
    bearer = basic = ""
    authorization = headers.get("authorization", "")
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        bearer = rest.strip()
    elif scheme.lower() == "basic":
        basic = rest.strip()
    peer = None
    if request.tls is not None:
        name, groups, issuer, error, *more = request.tls
        fingerprint, chain = more if more else ("", ())
        peer = TlsPeer(name, tuple(groups), issuer, error, fingerprint, tuple(chain))
    protocols: tuple[str, ...] = ()
    if headers.get("upgrade", "").lower() == "websocket":
        offered = headers.get("sec-websocket-protocol", "")
        protocols = tuple(item.strip() for item in offered.split(",") if item.strip())
    extra: dict[str, tuple[str, ...]] = {}
    for name, value in request.headers:
        name = name.lower()
        if name.startswith(("impersonate-", *proxied)):
            extra[name] = (*extra.get(name, ()), value)
    return Credential(bearer, basic, peer, extra, protocols)
