"""The two phases of admission: every plugin in order, the mutating ones, then the validating.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/{chain,audit}.go and
pkg/endpoints/handlers/create.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from apiserver_app.admission.chain import Tell
from apiserver_app.admission.plugin import Attributes
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.permissions import creating
from apiserver_app.handlers.request import Request
from apiserver_app.handlers.server.counters import Counters
from apiserver_app.handlers.verbs import fieldowners, rest
from apiserver_app.machinery import memos
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe

AGREED_MAX = 1024  # remembered
Ask = Callable[[Attributes, Tell], Awaitable[int]]


class _Phase(Gate):
    """One phase: each plugin is recorded as soon as it decided, and counted."""

    plugins = True

    def __init__(self, cluster: ClusterContext) -> None:
        self._chain = cluster.admission.chain
        self._counters = cluster.counters
        self._kernel = cluster.kernel
        self._probe = cluster.probe
        # by what the plugins said, most of which they say again and again
        self._agreed: dict[tuple[tuple[str, str, str], ...], Decision] = {}

    async def _decide(self, request: Request, ask: Ask) -> Decision:
        teller = _Teller(self._kernel, self._probe, self._counters, request.attributes)
        try:
            changes = await ask(request.attributes, teller.tell)
        except ApiError as error:
            detail = {"word": str(error.code), "message": error.message}
            return Decision("deny", detail, "rejected", refusal=error)
        self._take_over(request)
        if changes:
            word = f"{changes} change{'s' if changes != 1 else ''}"
            return Decision("change", {"word": word, "passed": teller.passed}, "admitted")
        passed = tuple(teller.passed)
        agreed = self._agreed.get(passed)
        if agreed is None:
            memos.make_room(self._agreed, AGREED_MAX)
            raw = msgspec.Raw(msgspec.json.encode({"word": "agreed", "passed": passed}))
            agreed = self._agreed[passed] = Decision("allow", raw, "admitted")
        return agreed

    def _take_over(self, request: Request) -> None:
        """All plugins agreed: the object continues as the phase leaves it."""

    def observe(self, request: Request, decision: Decision, began: int, decided: int) -> None:
        run, refusal = request.attributes.run, decision.refusal
        operation = request.attributes.operation
        self._counters.admitted(
            self.name, operation, decided - began, tuple(run.quiet), rejected=refusal is not None
        )
        if run.called:  # validating ones are called side by side
            took = [int(note.get("micros") or 0) for note in run.called]
            request.waited += max(took) if self.name == "validating" else sum(took)
        for note in run.called:
            self._counters.called(self.name, operation, note, refusal.code if refusal else 0)


class _Teller:
    """Records what the plugins of one phase say; those that agree, together with the next."""

    __slots__ = ("_counters", "_kernel", "_mark", "_operation", "_probe", "_run", "passed")

    def __init__(
        self, kernel: Kernel, probe: Probe, counters: Counters, attributes: Attributes
    ) -> None:
        self._kernel = kernel
        self._probe = probe
        self._counters = counters
        self._operation = attributes.operation
        self._run = attributes.run
        self._mark = kernel.now
        self.passed: list[tuple[str, str, str]] = []
        self._run.quiet, self._run.called = [], []

    def tell(
        self, phase: str, plugin: str, verdict: str, why: str, ops: Any
    ) -> Awaitable[object] | None:
        run, now = self._run, self._kernel.now
        agreed = verdict in _AGREED and not run.calls and not run.policies
        if agreed and now == self._mark:
            run.quiet.append(plugin)
            self.passed.append((plugin, verdict, why))
            return None
        if now == self._mark and verdict != "deny":
            run.quiet.append(plugin)
        else:
            self._counters.asked(
                plugin, phase, self._operation, now - self._mark, rejected=verdict == "deny"
            )
            self._mark = now
        if agreed:
            self.passed.append((plugin, verdict, why))
            return None
        calls, policies = run.calls, run.policies
        passed, self.passed = self.passed, []
        detail: Object = {}
        if calls:
            run.calls, detail["calls"] = [], calls
            run.called.extend(calls)
        if policies:
            run.policies, detail["policies"] = [], policies
        return self._probe.hop("plugin", phase, plugin, verdict, why, ops, passed, detail)


_AGREED = ("allow", "skip")


class Mutating(_Phase):
    """Plugins change the object."""

    name = refuses_as = "mutating"
    cost = 20
    source = "staging/src/k8s.io/apiserver/pkg/admission/chain.go Admit"

    def decide(self, request: Request) -> Awaitable[Decision]:
        request.attributes = request.operation.attributes(request)
        if request.operation.stores_object:
            request.managed = request.obj["metadata"].get("managedFields")
        return self._decide(request, self._chain.mutate)

    def _take_over(self, request: Request) -> None:
        if request.operation.stores_object:
            obj = request.attributes.obj
            assert obj is not None, "something is to be stored"
            request.obj = obj
            fieldowners.mend(request, obj, request.managed)
            rest.without_twins(request, obj, admitted=True)


class Validating(_Phase):
    """Plugins only judge it."""

    name = refuses_as = "validating"
    cost = 20
    source = "staging/src/k8s.io/apiserver/pkg/admission/chain.go Validate"

    def decide(self, request: Request) -> Awaitable[Decision]:
        if request.operation.needs_create:
            return self._permitted(request)
        return self._decide(request, self._chain.validate)

    async def _permitted(self, request: Request) -> Decision:
        request.gate = "authorization"
        await creating.check_may_create(request)
        request.gate = self.name
        return await self._decide(request, self._chain.validate)
