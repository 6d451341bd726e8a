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
from apiserver_app.auth import impersonation
from apiserver_app.auth import protocols as auth
from apiserver_app.auth.authz import forbidden
from apiserver_app.handlers import deprecations, reviews, subresources, writes
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery import probe as probes
from apiserver_app.machinery.meta import User
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

    async def handle(self, call: Call) -> Outcome:
        """Take a request through the gates; the answer, or an ApiError with its Status."""
        task = self.kernel.current
        assert task is not None, "requests are handled inside a task of the kernel"
        parent = task.span
        info = call.info
        task.span = await self.probe.hop(
            "request", parent, call.component or call.agent, call.outside, call.verb, call.path,
            info.key if info else "", call.subresource, call.namespace, call.name,
        )  # fmt: skip
        try:
            outcome = await self._gates(call)
        except errors.ApiError as error:
            await self.probe.hop("response", error.code, error.reason, error.message, 0)
            raise
        else:
            revision = meta.revision_of(outcome.obj) if outcome.obj else self.cluster.store.revision
            await self.probe.hop("response", outcome.code, "", "", revision)
            return outcome
        finally:
            task.span = parent

    async def _gates(self, call: Call) -> Outcome:
        await self._authenticate(call)
        await self._audit(call)
        if call.outside and impersonation.asked(call.credential.headers):
            await self._impersonate(call)
        await self._flow_control(call)
        await self._authorize(call)
        if call.info is None:
            return await self._plain(call)
        await self._route(call)
        verb = call.verb
        if verb == "get" and not call.subresource:
            obj, value = self.cluster.storage.get(call.info, call.namespace, call.name)
            return Outcome(200, obj=obj, value=value)
        if verb == "list":
            return self._list(call)
        if verb == "watch":
            return Outcome(200, selection=self._selection(call))
        if call.subresource and call.subresource != "status":
            return await subresources.handle(self.cluster, call)
        if reviews.is_review(call.info):
            return await reviews.handle(self.cluster, call)
        return await writes.handle(self.cluster, call)

    # -- gates every request passes --------------------------------------------------------------

    async def _authenticate(self, call: Call) -> None:
        user, tries = self.cluster.authentication.authenticate(call.credential, self.kernel.now)
        detail = self._details.authentication(user, tries)
        if user is None:
            await self.probe.hop("gate", "authentication", "deny", detail)
            raise errors.unauthorized()
        call.user = user
        await self.probe.hop("gate", "authentication", "allow", detail)

    async def _audit(self, call: Call) -> None:
        call.audit_id = self.cluster.rand.uuid()
        await self.probe.hop(
            "gate", "audit", "allow", {"word": "recorded", "id": call.audit_id}
        )

    async def _impersonate(self, call: Call) -> None:
        """Go on as somebody else. A refusal is one of authorization."""
        assert call.user is not None
        authorize = self.cluster.authorization.authorize
        try:
            call.user = impersonation.impersonate(call.user, call.credential.headers, authorize)
        except errors.ApiError as error:
            detail = {"word": str(error.code), "message": error.message}
            await self.probe.hop("gate", "authorization", "deny", detail)
            raise

    async def _flow_control(self, call: Call) -> None:
        assert call.user is not None
        flow = self.cluster.flow.classify(call.user, call)
        call.flow = (flow.schema_uid, flow.level_uid)
        await self.probe.hop("gate", "flowcontrol", "allow", flow.detail)

    async def _authorize(self, call: Call) -> None:
        assert call.user is not None
        attributes = attributes_of(call, call.user)
        decision = self.cluster.authorization.authorize(attributes)
        if decision.allowed:
            detail = self._details.authorization(decision)
            await self.probe.hop("gate", "authorization", "allow", detail)
            return
        error = forbidden.forbidden_error(attributes, decision.reason)
        refused = {**gatedetails.authorization(decision), "message": error.message}
        await self.probe.hop("gate", "authorization", "deny", refused)
        raise error

    async def _route(self, call: Call) -> None:
        info = call.info
        assert info is not None
        if call.verb not in self.cluster.verbs_of(info, call.subresource):
            error = errors.method_not_allowed(info.group, info.plural, call.verb)
            await self.probe.hop(
                "gate", "routing", "deny", {"word": "405", "message": error.message}
            )
            raise error
        if call.outside:
            call.warnings += deprecations.warnings(info, self.cluster.version)
        await self.probe.hop("gate", "routing", "allow", ROUTED)

    # -- reads ----------------------------------------------------------------------------------

    async def _plain(self, call: Call) -> Outcome:
        found = None if call.asked[2] else self._paths(call)
        if found is None:
            error = errors.path_not_found()
            detail = {"word": "404", "message": error.message}
            await self.probe.hop("gate", "routing", "deny", detail)
            raise error
        await self.probe.hop("gate", "routing", "allow", ROUTED)
        return found

    def _list(self, call: Call) -> Outcome:
        assert call.info is not None
        selection = self._selection(call)
        limit, revision = list_bounds(call)
        page = self.cluster.storage.page(
            call.info,
            self.cluster.strategy(call.info),
            selection,
            limit=limit,
            token=call.param("continue"),
            revision=revision,
        )
        return Outcome(200, page=page)

    def _selection(self, call: Call) -> Selection:
        assert call.info is not None
        return self.cluster.selection(
            call.info, call.namespace, call.param("labelSelector"), call.param("fieldSelector")
        )


ROUTED = {"word": "kube-apiserver"}


def attributes_of(call: Call, user: User) -> auth.Attributes:
    """What the authorizers are asked."""
    info = call.info
    if info is None:
        group, version, plural = call.asked
        return auth.Attributes(
            user, call.verb, call.path, group, version, plural, call.subresource,
            call.namespace, call.name, call.param("fieldSelector"),
        )  # fmt: skip
    return auth.Attributes(
        user, call.verb, call.path, info.group, info.version, info.plural, call.subresource,
        call.namespace, call.name, call.param("fieldSelector"),
    )  # fmt: skip


def list_bounds(call: Call) -> tuple[int, int]:
    """(limit, exact revision or 0) of a list, refusing what upstream refuses."""
    limit = _number(call, "limit")
    asked = call.param("resourceVersion")
    match = call.param("resourceVersionMatch")
    token = call.param("continue")
    if match and match not in ("Exact", "NotOlderThan"):
        raise errors.invalid("meta.k8s.io", "ListOptions", "", [
            errors.not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", ""))
        ])
    if match and not asked:
        raise errors.invalid("meta.k8s.io", "ListOptions", "", [
            errors.forbidden_value(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            )
        ])
    if token and asked and asked != "0":
        raise errors.bad_request(
            "specifying resource version is not allowed when using continue"
        )
    revision = parse_revision(asked)
    exact = bool(revision) and (match == "Exact" or (limit > 0 and match != "NotOlderThan"))
    return limit, revision if exact else 0


def parse_revision(text: str) -> int:
    if text and not text.isdecimal():
        raise errors.invalid("meta.k8s.io", "ListOptions", "", [
            errors.invalid_value(
                "resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax'
            )
        ])
    return int(text or 0)


def _number(call: Call, name: str) -> int:
    text = call.param(name)
    try:
        return max(0, int(text or 0))
    except ValueError as error:
        raise errors.bad_request(
            f'strconv.ParseInt: parsing "{text}": invalid syntax'
        ) from error
