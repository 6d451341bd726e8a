"""Proxies requests for the group versions of aggregated servers.

This server's filters have already run; decoding, authorization and admission are the aggregated
server's. Long-running answers - a watch, a followed log, another protocol - are streamed.

Models kubernetes staging/src/k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go.
"""

from __future__ import annotations

import urllib.parse

from apiserver_app.aggregator import identity
from apiserver_app.egress import outbound as out
from apiserver_app.egress import serviceroutes
from apiserver_app.handlers import routes
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.connect import passing
from apiserver_app.handlers.request import TRACEPARENT, Operation, Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net import httpwire
from apiserver_app.registry.apiregistration.apiservices import Remote

SECONDS_MAX = 60.0  # --request-timeout
_PATH_MAX = 200  # characters of the path in the trace
_DROPPED = frozenset(
    """
    connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding
    upgrade content-length host authorization
    """.split()
)
# headers of the answer that this server sets itself
_OWN = _DROPPED - {"authorization"} | {
    "content-type",
    "date",
    "audit-id",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
    "traceparent",
}


def route(remote: Remote) -> Object:
    """Where the request goes, for the trace; 503 in plain text when nobody is there."""
    detail = _detail(remote)
    if not remote.available:
        raise unavailable("service unavailable", detail)
    return detail


class PassOn(Operation):
    """Ask the aggregated server."""

    refuses_as = "routing"

    def asks_etcd(self, request: Request) -> bool:
        return False

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def answer(self, request: Request) -> Outcome:
        """503 in plain text when it cannot be asked."""
        cluster, call, remote = request.cluster, request.call, self._remote
        detail = _detail(remote)
        path = urllib.parse.quote(call.path, safe="/:@!$&'()*+,;=~-._")
        about: Object = {
            "word": "proxy",
            "to": f"{detail['to']}:{remote.target.port}",
            "path": path[:_PATH_MAX],
        }
        sent = _sent(request, remote, path)
        try:
            if passing.is_upgrade(call) or _is_streamed(call):
                return await _stream(request, sent, about)
            answer = await cluster.egress.outbound.call(sent)
        except out.CallFailed as error:
            cause = error.__cause__ or error
            text = str(cause)
            if isinstance(cause.__cause__, serviceroutes.NoRoute):
                text = "service unavailable"
            await cluster.probe.hop("stream", "refused", {**about, "why": str(cause)})
            raise unavailable(text, detail) from error
        sums = {
            "by": answer.by,
            "in": len(call.raw),
            "out": len(answer.body),
            "code": answer.status,
        }
        await cluster.probe.hop("stream", "end", {**about, **sums})
        return _outcome(answer)


def _detail(remote: Remote) -> Object:
    return {
        **routes.PASSED_ON,
        "apiservice": remote.name,
        "to": f"{remote.target.namespace}/{remote.target.name}",
    }


def _is_streamed(call: Call) -> bool:
    return call.verb == "watch" or call.param("follow") in ("true", "1")


async def _stream(request: Request, target_call: out.Call, about: Object) -> Outcome:
    """Streams over a connection of its own. Raises CallFailed when it breaks before the answer
    begins."""
    call = request.call
    headers = [*target_call.headers.items(), *target_call.repeated, ("host", _host(target_call))]
    if passing.is_upgrade(call):
        headers = passing.with_upgrade(call, headers)
    path = f"{target_call.path}?{target_call.query}" if target_call.query else target_call.path
    sent = httpwire.request(target_call.method, path, headers, target_call.body)
    connection = await request.cluster.egress.outbound.dial(target_call)
    try:
        outcome = await passing.send(request, connection, sent, about)
    except httpwire.Malformed as error:
        raise out.CallFailed(str(error)) from error
    if isinstance(outcome.stream, passing.Passing):
        location = dict(outcome.stream.headers).get("location")
        redirected = _redirected(outcome.stream.status, location)
        if redirected is not None:
            connection.close()
            return redirected
    return outcome


def _host(call: out.Call) -> str:
    assert isinstance(call.to, out.ServiceTarget)
    return f"{call.to.name}.{call.to.namespace}.svc:{call.to.port}"


def _sent(request: Request, remote: Remote, path: str) -> out.Call:
    cluster, call = request.cluster, request.call
    sent = [
        (name, value)
        for name, value in call.headers.items()
        if name not in (*_DROPPED, TRACEPARENT, "audit-id")
        and not name.startswith("impersonate-")
        and not identity.is_claim(name)
    ]
    sent.append(("audit-id", request.audit_id))
    if request.traced:
        sent.append((TRACEPARENT, request.traced))
    if call.address:
        sent.append(("x-forwarded-for", call.address))
    claims = identity.headers(request.user, cluster.version)
    proxy = cluster.aggregation.front_proxy
    return out.Call(
        remote.target,
        call.method or "GET",
        path,
        call.query,
        dict(sent),
        call.raw,
        ca_pem=remote.ca_pem,
        client_cert_pem=proxy[0],
        client_key_pem=proxy[1],
        insecure=remote.insecure,
        timeout_seconds=SECONDS_MAX,
        repeated=tuple(claims),
    )


def _redirected(status: int, location: str | None) -> Outcome | None:
    """What a client gets that would take its credential to another server (CVE-2022-3172)."""
    if not (300 <= status <= 399 and location):
        return None
    why = b"the backend attempted to redirect this request, which is not permitted"
    return Outcome(502, value=why, content_type="text/plain; charset=utf-8")


def _outcome(answer: out.Answer) -> Outcome:
    redirected = _redirected(answer.status, answer.headers.get("location"))
    if redirected is not None:
        return redirected
    kind = answer.headers.get("content-type", "application/octet-stream")
    headers = [
        ("-".join(part.capitalize() for part in name.split("-")), value)
        for name, value in answer.headers.items()
        if name not in _OWN
    ]
    return Outcome(answer.status, value=answer.body, content_type=kind, headers=headers)


def unavailable(text: str, about: Object) -> errors.ApiError:
    error = errors.plain(503, "ServiceUnavailable", text)
    error.about = about
    return error
