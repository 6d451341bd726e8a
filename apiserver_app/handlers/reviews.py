"""Virtual kinds that are answered, never stored: access reviews, token reviews, who am I.

Models kubernetes pkg/registry/authorization and pkg/registry/authentication.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver_app.auth import protocols as auth
from apiserver_app.auth.authn import union
from apiserver_app.handlers import bodies
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Credential, Object, ResourceInfo, User

_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


def is_review(info: ResourceInfo) -> bool:
    return info.group in _GROUPS


async def handle(cluster: ClusterContext, call: Call) -> Outcome:
    info = call.info
    assert info is not None
    answer = _ANSWERS.get(info.kind)
    if answer is None:
        raise errors.method_not_allowed(info.group, info.plural, call.verb)
    raw = bodies.read(cluster, call, info)
    obj, unknown = bodies.typed(cluster, call, info, raw)
    await cluster.probe.hop("gate", "decode", "allow", {"word": "well formed"})
    call.warnings += unknown
    if call.audit is not None:
        call.audit.requested(obj)
    call.gate = "validation"
    for name in ("managedFields", "resourceVersion"):  # it is in no store
        obj["metadata"].pop(name, None)
    await answer(cluster, call, obj)
    return Outcome(201, obj=obj)


async def _access(cluster: ClusterContext, call: Call, obj: Object) -> None:
    assert call.user is not None
    spec = obj.setdefault("spec", {})
    kind = obj["kind"]
    user = call.user
    if kind != "SelfSubjectAccessReview":
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
        if not user.name and not user.groups:
            why = "at least one of user or group must be specified"
            raise _invalid(obj, "spec.user", why, "")
    if kind == "LocalSubjectAccessReview":
        _check_local(call, obj)
    attributes = _asked(obj, user)
    decision = await cluster.authorization.authorize(attributes)
    obj["status"] = {"allowed": decision.allowed}
    if decision.verdict == "deny":
        obj["status"]["denied"] = True
    if decision.reason:
        obj["status"]["reason"] = decision.reason
    if decision.error:
        obj["status"]["evaluationError"] = decision.error
    await _tell(cluster, f"{user.name}: {'yes' if decision.allowed else 'no'}")


def _asked(obj: Object, user: User) -> auth.Attributes:
    spec = obj["spec"]
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked is not None and path is not None:
        where, said = errors.go_value(path.get("path", "")), errors.go_value(path.get("verb", ""))
        raise _invalid(
            obj, "spec.nonResourceAttributes",
            "cannot be specified in combination with resourceAttributes",
            errors.GoText(f"authorization.NonResourceAttributes{{Path:{where}, Verb:{said}}}"),
        )  # fmt: skip
    if asked is not None:
        _check_selectors(obj, asked)
        return auth.Attributes(
            user, asked.get("verb", ""), "", asked.get("group", ""), asked.get("version", ""),
            asked.get("resource", ""), asked.get("subresource", ""), asked.get("namespace", ""),
            asked.get("name", ""), _selector(asked.get("fieldSelector"), _FIELD_TERMS),
            _selector(asked.get("labelSelector"), _LABEL_TERMS),
        )  # fmt: skip
    if path is None:
        raise _invalid(
            obj, "spec.resourceAttributes",
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )  # fmt: skip
    return auth.Attributes(user, path.get("verb", ""), path.get("path", ""))


_LABEL_TERMS = {
    "In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "Exists": "{key}",
    "DoesNotExist": "!{key}",
}  # fmt: skip
_FIELD_TERMS = {"In": "{key}={values}", "NotIn": "{key}!={values}"}


def _selector(asked: Object | None, terms: dict[str, str]) -> str:
    """A selector as text. What cannot be said of it narrows nothing, as upstream decides."""
    if not asked:
        return ""
    if asked.get("rawSelector"):
        return str(asked["rawSelector"])
    out = []
    for one in asked.get("requirements") or ():
        values = one.get("values") or []
        form = terms.get(one.get("operator", ""))
        if form and not (terms is _FIELD_TERMS and len(values) != 1):
            out.append(form.format(key=one.get("key", ""), values=",".join(values)))
    return ",".join(out)


def _check_selectors(obj: Object, asked: Object) -> None:
    found: list[errors.FieldError] = []
    for name in ("fieldSelector", "labelSelector"):
        selector = asked.get(name)
        if selector is None:
            continue
        path = f"spec.resourceAttributes.{name}"
        raw, listed = selector.get("rawSelector"), selector.get("requirements")
        if raw and listed:
            text = "may not specified at the same time as requirements"
            found.append(errors.invalid_value(f"{path}.rawSelector", raw, text))
        elif not raw and not listed:
            text = f"when {path} is specified, requirements or rawSelector is required"
            found.append(errors.required(f"{path}.requirements", text))
    if found:
        group = obj["apiVersion"].partition("/")[0]
        raise errors.invalid(group, obj["kind"], "", found)


def _check_local(call: Call, obj: Object) -> None:
    """It asks about its own namespace, and about nothing else."""
    if obj["spec"].get("nonResourceAttributes") is not None:
        why = "disallowed on this kind of request"
        raise _invalid(obj, "spec.nonResourceAttributes", why)
    asked = (obj["spec"].get("resourceAttributes") or {}).get("namespace", "")
    if "resourceAttributes" in obj["spec"] and asked != call.namespace:
        why = "must match metadata.namespace"
        raise _invalid(obj, "spec.resourceAttributes.namespace", why, asked)


def _invalid(obj: Object, path: str, why: str, value: str | None = None) -> errors.ApiError:
    group = obj["apiVersion"].partition("/")[0]
    finding = errors.invalid_value(path, value, why)
    return errors.invalid(group, obj["kind"], "", [finding])


async def _rules(cluster: ClusterContext, call: Call, obj: Object) -> None:
    assert call.user is not None
    namespace = (obj.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    found = cluster.authorization.rules_for(call.user, namespace)
    obj["status"] = {
        "resourceRules": found.resources,
        "nonResourceRules": found.paths,
        "incomplete": found.incomplete,
    }
    if found.error:
        obj["status"]["evaluationError"] = found.error
    await _tell(cluster, f"{len(found.resources)} rules")


async def _self(cluster: ClusterContext, call: Call, obj: Object) -> None:
    assert call.user is not None
    obj["status"] = {"userInfo": _user_info(call.user)}
    await _tell(cluster, call.user.name)


async def _token(cluster: ClusterContext, call: Call, obj: Object) -> None:
    spec = obj.get("spec") or {}
    token = spec.get("token") or ""
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    authentication = cluster.authentication
    own = authentication.tokens.audiences if authentication.tokens is not None else ()
    wanted = tuple(spec.get("audiences") or own)
    credential = Credential(bearer=token)
    user, tries = await authentication.authenticate(credential, cluster.kernel.now, wanted)
    if user is None:
        obj["status"] = {"user": {}, "error": union.refusal(tries)}
    else:
        good = list(tries[-1].audiences)
        obj["status"] = {"authenticated": True, "user": _user_info(user)}
        if good:
            obj["status"]["audiences"] = good
    obj["spec"] = {**spec, "token": token}
    await _tell(cluster, user.name if user else "unknown token")


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in sorted(user.extra.items())}
    return info


async def _tell(cluster: ClusterContext, word: str) -> None:
    await cluster.probe.hop("gate", "etcd", "skip", {"word": "not stored", "why": word})


_ANSWERS: dict[str, Callable[[ClusterContext, Call, Object], Awaitable[None]]] = {
    "SelfSubjectAccessReview": _access,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectRulesReview": _rules,
    "SelfSubjectReview": _self,
    "TokenReview": _token,
}
