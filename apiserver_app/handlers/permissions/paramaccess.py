"""Who writes an admission policy must be able to read what parametrises it.

A policy with a `paramKind` takes `get` on all objects of that kind; a binding with a `paramRef`
takes `get` on the object it names, or `list` on those it selects. What was named before is not
asked for again. Members of system:masters are not asked.

Models kubernetes pkg/registry/admissionregistration/{validating,mutating}admissionpolicy/authz.go,
pkg/registry/admissionregistration/{validating,mutating}admissionpolicybinding/authz.go and
pkg/registry/admissionregistration/resolver/resolver.go.
"""

from __future__ import annotations

from apiserver_app import authprotocols as auth
from apiserver_app.auth.authz.always import MASTERS
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo, User

GROUP = "admissionregistration.k8s.io"
_POLICIES = {"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}
# kind of a binding -> resource of the policies it binds
_BINDINGS = {
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicies",
}
_UNKNOWN = ("*", "*", "*")


async def check(request: Request) -> list[FieldError]:
    """What its writer may not read; for objects that are valid otherwise."""
    cluster, user, info = request.cluster, request.user, request.info
    if MASTERS in user.groups:
        return []
    obj, old = request.obj, request.old
    before = {} if old is None else old.get("spec") or {}
    if info.kind in _POLICIES:
        return await _policy(cluster, user, obj["spec"], before)
    if info.kind in _BINDINGS:
        return await _binding(cluster, user, info, obj["spec"], before)
    return []


async def _policy(
    cluster: ClusterContext, user: User, spec: Object, before: Object
) -> list[FieldError]:
    kind = spec.get("paramKind")
    if kind is None or kind == before.get("paramKind"):
        return []
    asked = auth.Attributes(user, "get", "", *_resource(cluster, kind)[0], "", "*", "*")
    if (await cluster.access.authorization.authorize(asked)).allowed:
        return []
    why = (
        f'user {_shown(user)} must have "get" permission on all objects of the referenced '
        f"paramKind (kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')})"
    )
    return [errors.forbidden_value("spec.paramKind", why)]


async def _binding(
    cluster: ClusterContext, user: User, info: ResourceInfo, spec: Object, before: Object
) -> list[FieldError]:
    ref, name = spec.get("paramRef"), spec.get("policyName", "")
    if ref is None or (ref == before.get("paramRef") and name == before.get("policyName")):
        return []
    policy = cluster.cache.get(f"{_BINDINGS[info.kind]}.{GROUP}", "", name)
    kind = None if policy is None else (policy.get("spec") or {}).get("paramKind")
    resource, unclear = _UNKNOWN, "" if policy is not None else f"get policy {name}"
    if kind is not None:
        resource, unclear = _resource(cluster, kind)
    verb = "get" if ref.get("name") else "list"
    asked = auth.Attributes(
        user, verb, "", *resource, "", ref.get("namespace", ""), ref.get("name", "")
    )
    if (await cluster.access.authorization.authorize(asked)).allowed:
        return []
    who = _shown(user)
    if info.kind.startswith("Mutating"):  # upstream has them in each other's place
        who, verb, unclear = verb, who, ""
    why = f'user {who} does not have "{verb}" permission on the object referenced by paramRef'
    if unclear:
        why = (
            f"unable to {unclear} to determine minimum required permissions and user {who} does "
            f'not have "{verb}" permission for all groups, versions and resources'
        )
    return [errors.forbidden_value("spec.paramRef", why)]


def _resource(cluster: ClusterContext, kind: Object) -> tuple[tuple[str, str, str], str]:
    """Group, version and resource of a paramKind, and what could not be done if it has none."""
    group, _, version = kind.get("apiVersion", "").rpartition("/")
    info = cluster.resources.by_gvk(group, version, kind.get("kind", ""))
    if info is not None and info.plural:
        return (group, version, info.plural), ""
    shown = f"&{{{kind.get('apiVersion', '')} {kind.get('kind', '')}}}"
    return (group, version, "*"), f"resolve paramKind {shown}"


def _shown(user: User) -> str:
    """The user as Go prints a pointer to it."""
    extra = " ".join(f"{key}:[{' '.join(user.extra[key])}]" for key in sorted(user.extra))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
