"""Whether the object is legal: every finding, not the first.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go (BeforeCreate,
BeforeUpdate).
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.gates.gate import Gate
from apiserver_app.handlers import decision
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.permissions import paramaccess
from apiserver_app.handlers.request import Request
from apiserver_app.machinery.errors import FieldError


class Validation(Gate):
    name = refuses_as = "validation"
    cost = 80
    source = "staging/src/k8s.io/apiserver/pkg/registry/rest/create.go Validate"
    asks_of_new = ("Validate",)
    asks_of_old = ("ValidateUpdate",)

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        found = request.operation.findings(request)
        if request.info.group == paramaccess.GROUP and not found and not request.subresource:
            return self._with_access(request)
        return self._judged(request, found)

    async def _with_access(self, request: Request) -> Decision:
        return self._judged(request, await paramaccess.check(request))

    def _judged(self, request: Request, found: list[FieldError]) -> Decision:
        if found:
            return decision.legal(*request.operation.subject(request), found)
        request.warnings += request.operation.warnings(request)
        return decision.LEGAL
