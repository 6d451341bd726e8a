"""Whether its sender may do what the request asks for.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.auth.authz import forbidden, union
from apiserver_app.gates import details
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import memos

KNOWN_MAX = 65_536


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
        # what was allowed whatever the object's name, for the same question again
        self._known: dict[tuple[object, ...], Decision] = {}
        self._known_at = (0, 0)
        self._mark = cluster.cache.mark(union.RESTS_ON)

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        call, user, stamp = request.call, request.user, self._stamp()
        if stamp != self._known_at:
            self._known.clear()
            self._known_at = stamp
        info = call.info
        if info is None:
            return self._ask(request, None)
        key = (user.name, user.groups, call.verb, info.key, call.subresource, call.namespace)
        known = self._known.get(key)
        return known if known is not None else self._ask(request, key)

    def _stamp(self) -> tuple[int, int]:
        """Another one, once a general answer may have become another."""
        return (self._mark.revision, self._authorization.generation)

    async def _ask(self, request: Request, key: tuple[object, ...] | None) -> Decision:
        asked, stamp = request.asked(), self._known_at
        answer = await self._authorization.authorize(asked)
        if answer.allowed:
            decision = self._allowed.authorization(answer)
            general = all(attempt.general for attempt in answer.tries)
            # and nothing changed while they were asked
            if general and key is not None and stamp == self._stamp():
                memos.make_room(self._known, KNOWN_MAX)
                self._known[key] = decision
            return decision
        refusal = forbidden.refusal(asked, answer, request.call.uri)
        detail = {**details.authorization(answer), "message": refusal.message}
        if answer.error:
            return Decision("deny", detail, "error", "internal error", refusal)
        denied = any(attempt.verdict == "deny" for attempt in answer.tries)
        return Decision(
            "deny", detail, "denied" if denied else "no-opinion", answer.reason, refusal
        )

    def observe(self, request: Request, decision: Decision, began: int, decided: int) -> None:
        if request.audit is not None:
            request.audit.authorized(_AUDITED[decision.result], decision.reason)
        self._counters.passed(self.name, decision.result, self._kernel.now - began)


# what the audit log calls what metrics count
_AUDITED = {"allowed": "allow", "denied": "forbid", "no-opinion": "forbid", "error": ""}
