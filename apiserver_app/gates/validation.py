"""Whether the object is legal: every finding, not the first.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go (BeforeCreate,
BeforeUpdate).
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.cel import stepping
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers import decision
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.permissions import paramaccess
from apiserver_app.handlers.request import Request
from apiserver_app.machinery.errors import FieldError

COMPILING = (paramaccess.GROUP, "apiextensions.k8s.io")


class Validation(Gate):
    name = refuses_as = "validation"
    cost = 80
    source = "staging/src/k8s.io/apiserver/pkg/registry/rest/create.go Validate"
    asks_of_new = ("Validate",)
    asks_of_old = ("ValidateUpdate",)

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        if request.info.group in COMPILING or request.info.custom is not None:
            return self._in_steps(request)
        return self._judged(request, request.operation.findings(request))

    async def _in_steps(self, request: Request) -> Decision:
        """Expressions are compiled on the way."""
        operation = request.operation
        errs = await stepping.in_steps(
            request.cluster.kernel.pause, lambda: operation.findings(request)
        )
        if request.info.group == paramaccess.GROUP and not errs and not request.subresource:
            errs = await paramaccess.check(request)
        return self._judged(request, errs)

    def _judged(self, request: Request, errs: list[FieldError]) -> Decision:
        if errs:
            release = request.cluster.version
            return decision.legal(*request.operation.subject(request), errs, release)
        request.warnings += request.operation.warnings(request)
        return decision.LEGAL
