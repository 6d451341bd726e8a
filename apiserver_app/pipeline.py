"""The request, top to bottom: every gate in upstream's order, each told of with its reason.

authentication -> audit -> flowcontrol -> authorization -> routing -> decode -> mutating ->
prepare -> validation -> validating -> etcd. Who acts as somebody else is checked behind audit.
Reads stop after routing and are answered from the store. A refusal anywhere ends the request;
nothing was written then. All clients, those inside the cluster and those outside, come through
`handle`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain),
pkg/endpoints/handlers/{create,update,patch,delete,get}.go and pkg/registry/rest.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app import gatedetails
from apiserver_app.aggregator import proxy
from apiserver_app.auditing import auditor
from apiserver_app.auditing.event import Event
from apiserver_app.auditing.policy import Finding
from apiserver_app.auth import impersonation
from apiserver_app.auth import protocols as auth
from apiserver_app.auth.authz import forbidden
from apiserver_app.handlers import (
    bodies,
    componentstatus,
    conversions,
    deprecations,
    listoptions,
    readpath,
    reviews,
    routes,
    subresources,
    writes,
)
from apiserver_app.handlers.call import TRACEPARENT, Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext, Place
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery import probe as probes
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.registry import generic
from apiserver_app.registry.generic import Selection

# answers paths that are no resources: discovery, version, health. (call) -> Outcome or None
PathHandler = Callable[[Call], "Outcome | None"]


class Pipeline:
    """The gates of one cluster's API server."""

    def __init__(self, cluster: ClusterContext, paths: PathHandler) -> None:
        self.cluster = cluster
        self.probe: probes.Probe = cluster.probe
        self.kernel: kernels.Kernel = cluster.kernel
        self._paths = paths
        self._details = gatedetails.Details()
        self._minor = kinds.minor_of(cluster.version)

    async def handle(self, call: Call) -> Outcome:
        """Take a request through the gates; the answer, or an ApiError with its Status."""
        task = self.kernel.current
        assert task is not None, "requests are handled inside a task of the kernel"
        parent = task.span
        info = call.info
        task.span = await self.probe.hop(
            "request", parent, call.component or call.agent, call.outside, call.verb, call.path,
            info.key if info else "", call.subresource, call.namespace, bodies.name_in(call),
        )  # fmt: skip
        call.span = task.span
        answered = False
        code, came = 500, self.kernel.now
        counters = self.cluster.counters
        changes = call.verb not in READS
        counters.in_flight[changes] += 1
        try:
            outcome = await self._gates(call)
            code = outcome.code
            revision = meta.revision_of(outcome.obj) if outcome.obj else self.cluster.store.revision
            answered = True
            if call.audit is not None:
                await self._logged(call, outcome, None)
            await self.probe.hop("response", outcome.code, "", "", revision)
            return outcome
        except errors.ApiError as error:
            if not error.gate:
                detail = {**error.about, "word": str(error.code), "message": error.message}
                await self._deny(call.gate, error, detail)
            answered, code = True, error.code
            if call.audit is not None:
                await self._logged(call, None, error)
            await self.probe.hop("response", error.code, error.reason, error.message, 0)
            raise
        finally:
            if not answered:  # a bug, or the caller was killed: no span stays open
                self.probe.tell("response", 500, "InternalError", UNANSWERED, 0, span=task.span)
            if call.place is not None:
                self.cluster.flow.leave(call.place)
            counters.in_flight[changes] -= 1
            counters.answered(call, code, self.kernel.now - came)
            task.span = parent

    async def _deny(self, gate: str, error: errors.ApiError, detail: Object) -> None:
        error.gate = gate
        await self.probe.hop("gate", gate, "deny", detail)

    async def _gates(self, call: Call) -> Outcome:
        call.audit_id = call.headers.get("audit-id") or self.cluster.rand.uuid()
        await self._authenticate(call)
        await self._audit(call)
        if call.outside and impersonation.asked(call.credential.headers):
            await self._impersonate(call)
        await self._flow_control(call)
        await self._authorize(call)
        if self.cluster.services.remote:
            remote = self.cluster.services.route(call.path)
            if remote is not None:
                return await proxy.pass_on(self.cluster, call, remote)
        if call.info is None:
            return await self._plain(call)
        await self._route(call)
        verb = call.verb
        if verb == "get" and not call.subresource:
            if call.params:
                self._check_fresh(listoptions.parse_revision(call.param("resourceVersion")))
            call.gate = "etcd"
            if call.info.plural == COMPUTED:
                return componentstatus.get(self.cluster, call)
            if not call.params:  # the latest is wanted
                self.cluster.counters.stored("get", call.info.key, 0)
            obj, value = self.cluster.storage.get(call.info, call.namespace, call.name)
            return Outcome(200, obj=obj, value=value)
        if verb == "list":
            return self._list(call)
        if verb == "watch":
            return self._watch(call)
        if call.subresource not in ("", "status") or call.info.kind == "Binding":
            return await subresources.handle(self.cluster, call)
        if reviews.is_review(call.info):
            return await reviews.handle(self.cluster, call)
        return await writes.handle(self.cluster, call)

    # -- gates every request passes --------------------------------------------------------------

    async def _authenticate(self, call: Call) -> None:
        authentication, came = self.cluster.authentication, self.kernel.now
        user, tries = await authentication.authenticate(
            call.credential, self.kernel.now, path=call.path
        )
        dropped = call.drop_credential() if call.outside and user is not None else ()
        detail = self._details.authentication(user, tries, dropped)
        if user is None and authentication.disabled:
            raise errors.internal("no User found in context")
        if user is None:
            self._log_stranger(call)
            refusal = errors.unauthorized()
            refusal.gate = "authentication"
            await self.probe.hop("gate", "authentication", "deny", detail)
            offered = call.credential.bearer or any(one.verdict == "deny" for one in tries)
            said = "error" if offered else "failure"
            self.cluster.counters.passed("authentication", said, self.kernel.now - came)
            raise refusal
        call.user = user
        await self.probe.hop("gate", "authentication", "allow", detail)
        self.cluster.counters.passed("authentication", "success", self.kernel.now - came)
        self.cluster.counters.known(user.name)

    async def _audit(self, call: Call) -> None:
        call.gate = "authorization"  # which checks who acts as somebody else, too
        detail: Object = {"word": "recorded", "id": call.audit_id}
        if self.cluster.audit is not None:
            assert call.user is not None
            finding, call.audit = self._begin(self.cluster.audit, call, call.user, known=True)
            detail = auditor.told(finding, call.audit_id)
            if call.audit is not None:
                call.audit.received()
                if self.cluster.audit.blocks and not await self.cluster.audit.settle():
                    raise errors.plain_internal(call.uri, "failed to store audit event")
        if call.traced:
            detail = {**detail, "traceparent": call.headers[TRACEPARENT]}
        await self.probe.hop("gate", "audit", "allow", detail)

    def _begin(
        self, log: auditor.Auditor, call: Call, user: User, *, known: bool
    ) -> tuple[Finding, Event | None]:
        return log.begin(
            attributes_of(call, user), known=known, audit_id=call.audit_id, uri=call.uri,
            agent=call.agent, headers=call.headers, address=call.address, now=self.kernel.now,
        )  # fmt: skip

    def _log_stranger(self, call: Call) -> None:
        """A request that proved nobody is one event of its own."""
        if self.cluster.audit is None:
            return
        event = self._begin(self.cluster.audit, call, User(""), known=False)[1]
        if event is not None:
            tried = "bearer" if call.headers.get("authorization") else ""
            said = f"attempted: {tried}" if tried else "no credentials provided"
            event.failed_to_authenticate(f"Authentication failed, {said}", self.kernel.now)

    async def _logged(
        self, call: Call, outcome: Outcome | None, error: errors.ApiError | None
    ) -> None:
        """Write the event of an answered request; a watch goes on, its end is written then."""
        event, now = call.audit, self.kernel.now
        assert event is not None
        if outcome is None:
            told = event.complete(now, error=error, annotations=call.annotations)
        else:
            lasts = outcome.selection is not None or outcome.stream is not None
            if lasts:
                event.started(outcome.code, now)
            if outcome.selection is not None:
                return
            obj = self._answered(call, outcome) if event.wants_response else outcome.obj
            told = event.complete(now, code=outcome.code, obj=obj, annotations=call.annotations)
        if told is not None:
            about = auditor.told(event.finding, call.audit_id)
            detail = {**about, "word": "logged", "event": told}
            await self.probe.hop("gate", "audit", "allow", detail)
        if self.cluster.audit is not None and self.cluster.audit.blocks:
            await self.cluster.audit.settle()

    def _answered(self, call: Call, outcome: Outcome) -> Object | None:
        """The object of an answer, or the list of them."""
        page, info = outcome.page, call.info
        if page is None or info is None:
            return outcome.obj
        return {
            "kind": f"{info.kind}List",
            "apiVersion": info.api_version,
            "metadata": {"resourceVersion": str(page.revision)},
            "items": self.cluster.storage.objects(info, page),
        }

    async def _impersonate(self, call: Call) -> None:
        """Go on as somebody else. A refusal is one of authorization."""
        assert call.user is not None
        authorize = self.cluster.authorization.authorize
        call.user = await impersonation.impersonate(call.user, call.credential.headers, authorize)
        if call.audit is not None:
            call.audit.impersonated(call.user)

    async def _flow_control(self, call: Call) -> None:
        assert call.user is not None
        try:
            place = self.cluster.flow.admit(call.user, call)
            if not isinstance(place, Place):
                place = await place
        except errors.ApiError as error:
            await self._deny("flowcontrol", error, {**error.about, "message": error.message})
            raise
        call.place = place
        await self.probe.hop("gate", "flowcontrol", "allow", place.detail)

    async def _authorize(self, call: Call) -> None:
        assert call.user is not None
        attributes, came = attributes_of(call, call.user), self.kernel.now
        decision = await self.cluster.authorization.authorize(attributes)
        if call.audit is not None:
            said = "allow" if decision.allowed else "" if decision.error else "forbid"
            call.audit.authorized(said, decision.reason if said else "internal error")
        if decision.allowed:
            detail = self._details.authorization(decision)
            await self.probe.hop("gate", "authorization", "allow", detail)
            self.cluster.counters.passed("authorization", "allowed", self.kernel.now - came)
            call.gate = "routing"
            return
        error = forbidden.refusal(attributes, decision, call.uri)
        refused = {**gatedetails.authorization(decision), "message": error.message}
        await self._deny("authorization", error, refused)
        denied = any(one.verdict == "deny" for one in decision.tries)
        said = "error" if decision.error else "denied" if denied else "no-opinion"
        self.cluster.counters.passed("authorization", said, self.kernel.now - came)
        raise error

    async def _route(self, call: Call) -> None:
        info = call.info
        assert info is not None
        if call.routed == 404:
            raise self._nowhere()
        served = call.subresource == "proxy" or call.verb in self.cluster.verbs_of(
            info, call.subresource
        )
        if call.routed == 405 or not served:
            if call.verb == "watch":
                raise errors.method_not_allowed(info.group, info.plural, call.verb)
            raise errors.no_such_method()
        if call.check_answer is not None:
            call.check_answer()
        if call.outside:
            said = deprecations.warnings(info, self.cluster.version)
            if said:
                call.warnings += said
                call.annotations[deprecations.AUDIT] = "true"
        if info.custom is not None:
            await self._route_custom(call, info)
        else:
            reads = call.outside and call.verb in READS
            detail = routes.of_resource(info, readpath.of(call, self._minor) if reads else None)
            await self.probe.hop("gate", "routing", "allow", detail)
        call.gate = "decode"

    async def _route_custom(self, call: Call, info: ResourceInfo) -> None:
        """To the part of the server that serves custom resources."""
        assert info.custom is not None
        info.custom.check(call.verb)
        waits = 0.0
        if call.verb == "create" and not call.subresource:
            waits = (info.custom.settled_at() - self.kernel.now) / kernels.SECOND
        detail: Object = {**routes.CUSTOM, "definition": info.key}
        if call.outside and call.verb in READS:
            detail["read"] = readpath.of(call, self._minor)._asdict()
        if waits > 0:  # other API servers may not know of the definition yet
            detail["seconds"] = waits
            await self.kernel.sleep(waits)
        converted = await conversions.before_read(self.cluster, call, info)
        if converted:
            detail["converted"] = converted
        await self.probe.hop("gate", "routing", "allow", detail)

    # -- reads ----------------------------------------------------------------------------------

    async def _plain(self, call: Call) -> Outcome:
        found = None if call.asked[2] else self._paths(call)
        if found is None:
            raise self._nowhere()
        detail = routes.of_path(call.path, self.cluster.resources)
        await self.probe.hop("gate", "routing", "allow", detail)
        return found

    def _nowhere(self) -> errors.ApiError:
        """Each of the three servers was offered the request, and none has the path."""
        error = errors.path_not_found()
        error.about = {"chain": routes.CHAIN}
        return error

    def _list(self, call: Call) -> Outcome:
        assert call.info is not None
        selection = self._selection(call)
        options = listoptions.of_list(call)
        call.gate = "etcd"
        self._check_fresh(options.at_least)
        if call.info.plural == COMPUTED:
            return componentstatus.page(self.cluster, call, selection)
        if readpath.of(call, self._minor).by == readpath.ETCD:
            self.cluster.counters.stored("list", call.info.key, 0)
        page = self.cluster.storage.page(
            call.info,
            self.cluster.strategy(call.info),
            selection,
            limit=options.limit,
            token=options.token,
            revision=options.revision,
        )
        return Outcome(200, page=page)

    def _watch(self, call: Call) -> Outcome:
        """The selection; whoever asked opens the stream with the same options."""
        selection = self._selection(call)
        options = listoptions.of_watch(call, self.cluster.version)
        call.gate = "etcd"
        if options.initial:  # a watch from a revision yet to come waits for it
            self._check_fresh(options.revision)
        return Outcome(200, selection=selection)

    def _check_fresh(self, revision: int) -> None:
        """What is asked for must have happened."""
        current = self.cluster.store.revision
        if revision > current:
            raise generic.too_new(revision, current)

    def _selection(self, call: Call) -> Selection:
        assert call.info is not None
        return self.cluster.selection(
            call.info, call.namespace, call.param("labelSelector"), call.param("fieldSelector")
        )


READS = frozenset(("get", "list", "watch", "head"))
COMPUTED = "componentstatuses"  # not stored
UNANSWERED = "ended without an answer"


def attributes_of(call: Call, user: User) -> auth.Attributes:
    """What the authorizers are asked."""
    info = call.info
    if info is None:
        group, version, plural = call.asked
        return auth.Attributes(
            user, call.verb, call.path, group, version, plural, call.subresource,
            call.namespace, call.name, call.param("fieldSelector"), call.param("labelSelector"),
        )  # fmt: skip
    return auth.Attributes(
        user, call.verb, call.path, info.group, info.version, info.plural, call.subresource,
        call.namespace, call.name, call.param("fieldSelector"), call.param("labelSelector"),
    )  # fmt: skip
