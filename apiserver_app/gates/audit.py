"""Whether the request is logged, and as what.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/audit.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.auditing import auditor
from apiserver_app.auditing.event import Event
from apiserver_app.auditing.policy import Finding
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import TRACEPARENT, Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object


class Audit(Gate):
    name = refuses_as = "audit"
    cost = 10
    source = "staging/src/k8s.io/apiserver/pkg/endpoints/filters/audit.go"
    reads = True

    def __init__(self, cluster: ClusterContext) -> None:
        self._audit = cluster.audit
        self._kernel = cluster.kernel

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        detail: Object = {"word": "recorded", "id": request.audit_id}
        log = self._audit
        if log is not None:
            finding, request.audit = begin(log, request, known=True, now=self._kernel.now)
            detail = auditor.detail(finding, request.audit_id)
            if request.audit is not None:
                request.audit.received()
        if request.traced:
            detail["traceparent"] = request.call.headers[TRACEPARENT]
        decision = Decision("allow", detail)
        if log is not None and log.blocks and request.audit is not None:
            return self._settled(log, request, decision)
        return decision

    async def _settled(
        self, log: auditor.Auditor, request: Request, decision: Decision
    ) -> Decision:
        if not await log.settle():
            log.rejected += 1
            raise errors.plain_internal(request.call.uri, "failed to store audit event")
        return decision


def begin(
    log: auditor.Auditor, request: Request, *, known: bool, now: int
) -> tuple[Finding, Event | None]:
    """The rule about the request, and its event unless nothing of it is logged."""
    call = request.call
    return log.begin(
        request.asked(),
        known=known,
        audit_id=request.audit_id,
        uri=call.uri,
        agent=call.agent,
        headers=call.headers,
        address=call.address,
        now=now,
    )
