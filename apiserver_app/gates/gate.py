"""What a gate is, and the one runner: it asks each gate in turn, and records what was decided.

A gate decides and returns what it decided; it records nothing itself. A refusal ends the request:
the gate returns it, or raises an ApiError, which then is one of the gate where the request stands.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision, refused
from apiserver_app.handlers.request import Request
from apiserver_app.machinery.errors import ApiError


class Gate:
    """One gate of one API server. Made when the server is; takes what it needs of it then."""

    name = ""
    cost = 0  # µs of virtual time
    waits = False  # whether its cost is spent already when it is recorded
    source = ""  # the upstream file it models
    sources: Mapping[str, str] = {}  # by verb or verb/subresource, where that differs
    reads = False  # whether requests that change nothing pass it, too
    plugins = False  # whether it is a phase of admission
    # what the kind's strategy is asked there about an object that is new, and about another
    asks_of_new: tuple[str, ...] = ()
    asks_of_old: tuple[str, ...] = ()
    inside = True  # whether requests of components inside the cluster pass it, too
    # the gate whose refusals its own are; a step that is recorded only when it refuses
    # has the name of another one here
    refuses_as = ""

    def __init__(self, cluster: ClusterContext) -> None:
        """Gates that need nothing of the server keep nothing of it."""

    def decide(self, request: Request) -> Decision | Awaitable[Decision | None] | None:
        """What is decided about the request; None when there is nothing to decide."""
        raise NotImplementedError

    def observe(self, request: Request, decision: Decision, began: int, decided: int) -> None:
        """Give metrics and the audit log what was decided. `began` and `decided` are the moments
        between which it was thought about; by now it is recorded, too."""


class Step(NamedTuple):
    """A gate, looked up once: what the runner needs of it for every request."""

    refuses_as: str
    decide: Callable[[Request], Decision | Awaitable[Decision | None] | None]
    observe: Callable[[Request, Decision, int, int], None]

    @staticmethod
    def of(gate: Gate) -> Step:
        return Step(gate.refuses_as, gate.decide, gate.observe)


async def run(request: Request, steps: Iterable[Step]) -> None:
    """Take the request through the gates. Raises the refusal of one of them."""
    kernel, record, span = request.cluster.kernel, request.cluster.probe.gate, request.span
    for refuses_as, decide, observe in steps:
        request.gate = refuses_as
        began = kernel.now
        try:
            decision = decide(request)
            if not isinstance(decision, Decision):
                if decision is not None:
                    decision = await decision
                if decision is None:
                    continue
        except ApiError as raised:
            decision = refusal(request, raised)
        decided = kernel.now
        held = record(span, request.gate, decision.verdict, decision.detail)
        if held is not None:
            await held
        if decision.result:
            observe(request, decision, began, decided)
        error = decision.refusal
        if error is not None:
            error.gate = request.gate
            try:
                raise error
            finally:
                del error, decision  # its traceback holds this frame


def refusal(request: Request, error: ApiError) -> Decision:
    """A refusal that was raised where the request stands."""
    return refused(error, request.operation.call if request.gate == "etcd" else "")


async def record(request: Request, name: str, decision: Decision) -> None:
    """Record what was decided between the gates or behind them, under the name of one."""
    held = request.cluster.probe.gate(request.span, name, decision.verdict, decision.detail)
    if held is not None:
        await held
