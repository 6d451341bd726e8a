"""Whether the request continues as somebody else. A refusal is one of authorization.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.auth import impersonation
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.request import Request


class Impersonation(Gate):
    name = "impersonation"
    source = "staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation.go"
    reads = True
    inside = False
    refuses_as = "authorization"

    def __init__(self, cluster: ClusterContext) -> None:
        self._authorization = cluster.access.authorization

    def decide(self, request: Request) -> Awaitable[None] | None:
        call = request.call
        if impersonation.is_requested(call.credential.headers):
            return self._impersonate(request)
        return None

    async def _impersonate(self, request: Request) -> None:
        request.user = await impersonation.impersonate(
            request.user, request.call.credential.headers, self._authorization, request.call.uri
        )
        if request.audit is not None:
            request.audit.impersonated(request.user)
