"""Who sends the request.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/authentication.go.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import NamedTuple

from apiserver_app.gates import audit, details
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors, memos
from apiserver_app.machinery.meta import Credential, User

KNOWN_MAX = 16_384


class _Known(NamedTuple):
    """Who presents a credential, and until when that is sure."""

    credential: Credential  # kept alive, so that its identity is not used twice
    until: int  # µs
    user: User
    decision: Decision


class Authentication(Gate):
    name = refuses_as = "authentication"
    cost = 40
    source = "staging/src/k8s.io/apiserver/pkg/endpoints/filters/authentication.go"
    reads = True

    def __init__(self, cluster: ClusterContext) -> None:
        self._authentication = cluster.access.authentication
        self._kernel = cluster.kernel
        self._audit = cluster.audit
        self._counters = cluster.counters
        self._allowed = details.Allowed()
        # a component presents the same credential again and again
        self._known: dict[int, _Known] = {}

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        known = self._known.get(id(request.call.credential))
        if known is not None and self._kernel.now <= known.until:
            request.user = known.user
            return known.decision
        return self._authenticate(request)

    async def _authenticate(self, request: Request) -> Decision:
        call = request.call
        dropped: tuple[str, ...] = ()
        user, tries = await self._authentication.authenticate(
            call.credential, self._kernel.now, path=call.path
        )
        if user is not None:
            if call.outside:
                request.call, dropped = call.without_credential()
            request.user = user
            decision = self._allowed.authentication(user, tries, dropped)
            if tries[-1].until and not call.outside:
                self._keep(_Known(call.credential, tries[-1].until, user, decision))
            return decision
        if self._authentication.disabled:
            raise errors.internal("no User found in context")
        self._log(request)
        offered = call.credential.bearer or any(attempt.verdict == "deny" for attempt in tries)
        result = "error" if offered else "failure"
        detail = details.authentication(user, tries)
        return Decision("deny", detail, result, refusal=errors.unauthorized())

    def _keep(self, known: _Known) -> None:
        memos.make_room(self._known, KNOWN_MAX)
        self._known[id(known.credential)] = known

    def _log(self, request: Request) -> None:
        """A request that proved nobody is one event of its own."""
        if self._audit is None:
            return
        event = audit.begin(self._audit, request, known=False, now=self._kernel.now)[1]
        if event is not None:
            tried = "bearer" if request.call.headers.get("authorization") else ""
            message = f"attempted: {tried}" if tried else "no credentials provided"
            event.failed_to_authenticate(f"Authentication failed, {message}", self._kernel.now)

    def observe(self, request: Request, decision: Decision, began: int, decided: int) -> None:
        self._counters.passed(self.name, decision.result, self._kernel.now - began)
        if decision.refusal is None:
            self._counters.known(request.user.name)
