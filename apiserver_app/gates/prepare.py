"""What only the server sets is set, and what a client may not set is dropped.

Before that: nobody grants more than they hold, which is a matter of authorization.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.permissions import escalation
from apiserver_app.handlers.request import Request


class Prepare(Gate):
    name = refuses_as = "prepare"
    cost = 30
    source = "staging/src/k8s.io/apiserver/pkg/registry/rest/create.go BeforeCreate"
    asks_of_new = ("ObjectTyper", "NamespaceScoped", "GenerateName", "PrepareForCreate")
    asks_of_old = ("ObjectTyper", "NamespaceScoped", "PrepareForUpdate")

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        if request.info.group == escalation.GROUP:
            return self._grant(request)
        return request.operation.prepare(request)

    async def _grant(self, request: Request) -> Decision:
        request.granted = await escalation.check(request)
        request.gate = self.name
        return request.operation.prepare(request)
