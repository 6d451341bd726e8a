"""Whether its sender may do what the request asks for.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go.
"""

from __future__ import annotations

from apiserver_app.auth.authz import forbidden
from apiserver_app.gates import details
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request


class Authorization(Gate):
    name = refuses_as = "authorization"
    cost = 50
    source = "staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go"
    reads = True

    def __init__(self, cluster: ClusterContext) -> None:
        self._authorization = cluster.access.authorization
        self._kernel = cluster.kernel
        self._counters = cluster.counters
        self._allowed = details.Allowed()

    async def decide(self, request: Request) -> Decision:
        asked = request.asked()
        said = await self._authorization.authorize(asked)
        if said.allowed:
            return self._allowed.authorization(said)
        refusal = forbidden.refusal(asked, said, request.call.uri)
        detail = {**details.authorization(said), "message": refusal.message}
        if said.error:
            return Decision("deny", detail, "error", "internal error", refusal)
        denied = any(one.verdict == "deny" for one in said.tries)
        return Decision("deny", detail, "denied" if denied else "no-opinion", said.reason, refusal)

    def observe(self, request: Request, decision: Decision, began: int, decided: int) -> None:
        if request.audit is not None:
            request.audit.authorized(_AUDITED[decision.result], decision.reason)
        self._counters.passed(self.name, decision.result, self._kernel.now - began)


# what the audit log calls what metrics count
_AUDITED = {"allowed": "allow", "denied": "forbid", "no-opinion": "forbid", "error": ""}
