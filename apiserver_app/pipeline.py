"""The request, top to bottom: through the gates every request passes, then through those of its
operation, to the answer. A refusal anywhere ends it; nothing was written then. All clients, those
inside the cluster and those outside, come through `handle`.

The gates and their order are in `apiserver_app.gates`, what an operation does at them in
`apiserver_app.handlers`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain) and
pkg/endpoints/handlers/{create,update,patch,delete,get}.go.
"""

from __future__ import annotations

from apiserver_app import gates
from apiserver_app.auditing import auditor
from apiserver_app.gates import gate
from apiserver_app.gates.gate import Step
from apiserver_app.handlers.call import READS, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.input import bodies, deadline
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import deletes
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object

RETRIES_MAX = 5  # of a write that somebody else was faster than
LARGE_BYTES = 128 << 10  # of a body or of what is stored: some 50 ms a gate
REQUEST_WORK = 12  # of a step's allowance
UNANSWERED = "ended without an answer"


class Pipeline:
    """The gates of one cluster's API server."""

    def __init__(self, cluster: ClusterContext) -> None:
        self.cluster = cluster
        self.kernel = cluster.kernel
        self.probe = cluster.probe
        filters = [make(cluster) for make in gates.FILTERS]
        # by whether the request comes from outside
        self._filters = {
            True: tuple(Step.of(gate) for gate in filters),
            False: tuple(Step.of(gate) for gate in filters if gate.inside),
        }
        self._write = {make.name: Step.of(make(cluster)) for make in gates.WRITE}
        self._passed: dict[tuple[str, ...], tuple[Step, ...]] = {}

    async def handle(self, request: Request) -> Outcome:
        """Take a request to its answer, or to an ApiError with its Status."""
        task, call, counters = self.kernel.current, request.call, self.cluster.counters
        assert task is not None, "requests are handled inside a task of the kernel"
        parent, info = task.span, call.info
        request.span = task.span = await self.probe.hop(
            "request",
            parent,
            call.component or call.agent,
            call.outside,
            call.verb,
            call.path,
            info.key if info else "",
            call.subresource,
            call.namespace,
            bodies.name_in(call),
        )
        came, code, answered = self.kernel.now, 500, False
        changes = call.verb not in READS
        counters.in_flight[changes] += 1
        request.audit_id = call.headers.get("audit-id") or self.cluster.rand.uuid()
        try:
            await gate.run(request, self._filters[call.outside])
            outcome = await self._operate(request)
            code = outcome.code
            revision = self._revision(request, outcome)
            answered = True
            if request.audit is not None:
                await self._log(request, outcome, None)
            await self.probe.hop("response", outcome.code, "", "", revision)
            return outcome
        except errors.ApiError as error:
            answered, code = True, error.code
            if not error.gate:  # it was raised between or behind the gates
                error.gate = request.gate
                await gate.record(request, error.gate, gate.refusal(request, error))
            if request.audit is not None:
                await self._log(request, None, error)
            await self.probe.hop("response", error.code, error.reason, error.message, 0)
            raise
        finally:
            if not answered:  # a bug, or the caller was killed: no span stays open
                self.probe.tell("response", 500, "InternalError", UNANSWERED, 0, span=request.span)
            if request.seats is not None:
                request.seats.level.leave(request.seats)
            counters.in_flight[changes] -= 1
            request.sort = counters.answered(call, code, self.kernel.now - came, request.waited)
            task.span = parent

    def _revision(self, request: Request, outcome: Outcome) -> int:
        """The revision of what is answered; that of a dry run's new object is as it was sent."""
        if outcome.obj is None or (request.dry_run and outcome.code == 201):
            return self.cluster.store.revision
        return meta.revision_of(outcome.obj)

    async def _operate(self, request: Request) -> Outcome:
        """The gates of the operation, the answer."""
        operation = request.operation
        request.gate = operation.refuses_as
        begun = operation.begin(request)
        if begun is not None:
            await begun
        if operation.passes:
            await self.write(request)
        if not self.cluster.etcd.runs and "etcd" not in operation.passes:
            await deadline.until_etcd_runs(request)
        outcome = request.operation.answer(request)
        return outcome if isinstance(outcome, Outcome) else await outcome

    async def write(self, request: Request) -> None:
        """Through the gates of a write; again, when somebody else was faster."""
        passes = self._gates_of(request.operation)
        if request.operation is deletes.DELETE_COLLECTION:
            for _ in deletes.collected(request):
                await gate.run(request, passes)
                given_back = deletes.answered(request)
                if not isinstance(given_back, Outcome):
                    await given_back
                await self.kernel.spend(REQUEST_WORK)
            return
        is_large = self._is_large(request)
        while True:
            try:
                if not is_large:
                    return await gate.run(request, passes)
                for step in passes:  # and others have their turn before the next
                    await gate.run(request, (step,))
                    await self.kernel.pause()
                return None
            except errors.ApiError as error:
                request.attempt += 1
                if request.attempt == RETRIES_MAX:
                    raise
                if not request.operation.tries_again(request, error):
                    raise

    def _is_large(self, request: Request) -> bool:
        """Whether a gate may take long over what was sent, or over what is stored."""
        call, info = request.call, request.info
        if isinstance(call.body, bytes) and len(call.body) > LARGE_BYTES:
            return True
        if not call.name or info is None:
            return False
        stored = self.cluster.store.get(info.etcd_key(request.namespace, call.name))
        return stored is not None and len(stored.value) > LARGE_BYTES

    def _gates_of(self, operation: Operation) -> tuple[Step, ...]:
        """Those of a write's gates that the operation passes."""
        steps = self._passed.get(operation.passes)
        if steps is None:
            steps = tuple(step for name, step in self._write.items() if name in operation.passes)
            self._passed[operation.passes] = steps
        return steps

    async def _log(
        self, request: Request, outcome: Outcome | None, error: errors.ApiError | None
    ) -> None:
        """Write the event of an answered request; a watch stays open, its end is written then."""
        event, now, log = request.audit, self.kernel.now, self.cluster.audit
        assert event is not None
        if outcome is None:
            line = event.complete(now, error=error, annotations=request.annotations)
        else:
            lasts = outcome.selection is not None or outcome.stream is not None
            if lasts:
                event.started(outcome.code, now)
            if outcome.selection is not None:
                return
            obj = self._answered(request, outcome) if event.wants_response else outcome.obj
            line = event.complete(now, code=outcome.code, obj=obj, annotations=request.annotations)
        if line is not None:
            about = auditor.detail(event.finding, request.audit_id)
            logged = Decision("allow", {**about, "word": "logged", "event": line})
            await gate.record(request, "audit", logged)
        if log is not None and log.blocks:
            await log.settle()

    def _answered(self, request: Request, outcome: Outcome) -> Object | None:
        """The object of an answer, or the list of them."""
        page, info = outcome.page, request.call.info
        if page is None or info is None:
            return outcome.obj
        return {
            "kind": f"{info.kind}List",
            "apiVersion": info.api_version,
            "metadata": {"resourceVersion": str(page.revision)},
            "items": self.cluster.storage.objects(info, page),
        }
