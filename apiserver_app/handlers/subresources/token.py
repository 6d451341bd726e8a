"""A service account's token, issued on request.

Models kubernetes pkg/registry/core/serviceaccount/storage/token.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import Attributes
from apiserver_app.auth import jws
from apiserver_app.handlers import decision
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.decision import WELL_FORMED, Decision
from apiserver_app.handlers.input import bodies, options
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import attributes
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo

ISSUED_AUDIT = "authentication.kubernetes.io/issued-credential-id"
TOKEN_SECONDS_MIN, TOKEN_SECONDS_MAX = 600, 1 << 32


class IssueToken(Operation):
    """A signed token of the service account, bound as asked."""

    logs = False
    passes = ("decode", "current", "mutating", "validation", "validating", "etcd")

    def decode(self, request: Request) -> Decision:
        definition = "io.k8s.api.authentication.v1.TokenRequest"
        request.obj = bodies.read_as(request, definition, "TokenRequest")
        if request.audit is not None:
            request.audit.requested(request.obj)
        return WELL_FORMED

    def current(self, request: Request) -> None:
        request.dry_run = options.dry_run(request.call)

    def attributes(self, request: Request) -> Attributes:
        return attributes.of(request, request.obj)

    def findings(self, request: Request) -> list[FieldError]:
        request.gate = "etcd"
        request.old = request.cluster.storage.get(request.info, request.namespace, request.name)[0]
        request.gate = "validation"
        return _misplaced(request) or _bad_duration(_spec_of(request.obj)["expirationSeconds"])

    def subject(self, request: Request) -> tuple[ResourceInfo, str]:
        resources = request.cluster.resources
        info = resources.by_gvk("authentication.k8s.io", "v1", "TokenRequest")
        assert info is not None, "a body that is known by its kind"
        return info, request.name if _misplaced(request) else ""

    def store(self, request: Request) -> Decision:
        cluster, spec = request.cluster, _spec_of(request.obj)
        assert request.old is not None, "behind validation"
        _check_bound(request, spec.get("boundObjectRef"))
        longest, wanted = cluster.tokens.seconds_max, spec["expirationSeconds"]
        if 0 < longest < wanted:
            spec["expirationSeconds"] = longest
            request.warnings.append(
                f"requested expiration of {wanted} seconds shortened to {longest} seconds"
            )
        answer = cluster.tokens.issue(request.old, spec, cluster.kernel.now)
        if request.audit is not None:
            claims = jws.parse(answer["status"]["token"]).claims
            request.annotations[ISSUED_AUDIT] = f"JTI={claims['jti']}"
        request.outcome = Outcome(201, obj=answer)
        return decision.answered()


def _spec_of(request: Object) -> Object:
    """Of a TokenRequest, with its default."""
    spec = dict(request.get("spec") or {})
    seconds = spec.get("expirationSeconds")
    spec["expirationSeconds"] = 3600 if seconds is None else seconds
    return spec


def _misplaced(request: Request) -> list[FieldError]:
    """Name and namespace in the body are the URL's, if they are there."""
    for field, wanted in (("name", request.name), ("namespace", request.namespace)):
        given = (request.obj.get("metadata") or {}).get(field)
        if given and given != wanted:
            why = f"must match the service account {field} if specified"
            return [errors.invalid_value(f"metadata.{field}", given, why)]
    return []


def _bad_duration(seconds: int) -> list[FieldError]:
    why = ""
    if seconds < TOKEN_SECONDS_MIN:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > TOKEN_SECONDS_MAX:
        why = "may not specify a duration larger than 2^32 seconds"
    return [errors.invalid_value("spec.expirationSeconds", seconds, why)] if why else []


def _check_bound(request: Request, bound: Object | None) -> None:
    """What a token is bound to must be there, be meant, and run as the account."""
    if not bound:
        return
    group, _, version = str(bound.get("apiVersion") or "").rpartition("/")
    kind, name, uid = (str(bound.get(field) or "") for field in ("kind", "name", "uid"))
    resource = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}.get(kind)
    if group or resource is None:
        raise errors.bad_request(
            f"cannot bind token to object of type {group}/{version}, Kind={kind}"
        )
    cluster = request.cluster
    obj, _ = cluster.storage.get(cluster.resources.by_key[resource], request.namespace, name)
    if kind == "Pod" and obj["spec"].get("serviceAccountName") != request.name:
        raise errors.bad_request(
            f"cannot bind token for serviceaccount {errors.go_value(request.name)} to pod running "
            "with different serviceaccount name."
        )
    if uid and uid != meta.uid_of(obj):
        raise errors.conflict(
            group,
            kind,
            name,
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )


TOKEN = IssueToken()
