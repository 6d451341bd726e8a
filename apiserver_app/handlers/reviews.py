"""Virtual kinds that are answered, never stored: access reviews, token reviews, who am I.

Models kubernetes pkg/registry/authorization and pkg/registry/authentication.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver_app import authprotocols as auth
from apiserver_app.auth.authn import union
from apiserver_app.handlers import decision
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.decision import WELL_FORMED, Decision
from apiserver_app.handlers.input import bodies
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Credential, Object, ResourceInfo, User

_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


def is_review(info: ResourceInfo) -> bool:
    return info.group in _GROUPS


class Review(Operation):
    """The question comes as an object, the answer is the same object with a status."""

    passes = ("decode", "etcd")

    def begin(self, request: Request) -> None:
        if request.verb != "create" or request.info.kind not in _ANSWERS:
            info = request.info
            raise errors.method_not_allowed(info.group, info.plural, request.verb)

    def decode(self, request: Request) -> Decision:
        raw = bodies.read(request, request.info)
        request.obj, unknown = bodies.typed(request, request.info, raw)
        request.warnings += unknown
        if request.audit is not None:
            request.audit.requested(request.obj)
        return WELL_FORMED

    async def store(self, request: Request) -> Decision:
        request.gate = "validation"
        for name in ("managedFields", "resourceVersion"):  # it is in no store
            request.obj["metadata"].pop(name, None)
        word = await _ANSWERS[request.info.kind](request)
        request.gate = "etcd"
        request.outcome = Outcome(201, obj=request.obj)
        return decision.answered(word)


REVIEW = Review()


async def _access(request: Request) -> str:
    obj = request.obj
    spec = obj.setdefault("spec", {})
    kind = obj["kind"]
    user = request.user
    if kind != "SelfSubjectAccessReview":
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
        if not user.name and not user.groups:
            why = "at least one of user or group must be specified"
            raise _invalid(obj, "spec.user", why, "")
    if kind == "LocalSubjectAccessReview":
        _check_local(request)
    attributes = _asked(obj, user)
    found = await request.cluster.access.authorization.authorize(attributes)
    obj["status"] = {"allowed": found.allowed}
    if found.verdict == "deny":
        obj["status"]["denied"] = True
    if found.reason:
        obj["status"]["reason"] = found.reason
    if found.error:
        obj["status"]["evaluationError"] = found.error
    return f"{user.name}: {'yes' if found.allowed else 'no'}"


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


def _check_local(request: Request) -> None:
    """It asks about its own namespace, and about nothing else."""
    obj = request.obj
    if obj["spec"].get("nonResourceAttributes") is not None:
        why = "disallowed on this kind of request"
        raise _invalid(obj, "spec.nonResourceAttributes", why)
    asked = (obj["spec"].get("resourceAttributes") or {}).get("namespace", "")
    if "resourceAttributes" in obj["spec"] and asked != request.namespace:
        why = "must match metadata.namespace"
        raise _invalid(obj, "spec.resourceAttributes.namespace", why, asked)


def _invalid(obj: Object, path: str, why: str, value: str | None = None) -> errors.ApiError:
    group = obj["apiVersion"].partition("/")[0]
    finding = errors.invalid_value(path, value, why)
    return errors.invalid(group, obj["kind"], "", [finding])


async def _rules(request: Request) -> str:
    obj = request.obj
    namespace = (obj.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    found = request.cluster.access.authorization.rules_for(request.user, namespace)
    obj["status"] = {
        "resourceRules": found.resources,
        "nonResourceRules": found.paths,
        "incomplete": found.incomplete,
    }
    if found.error:
        obj["status"]["evaluationError"] = found.error
    return f"{len(found.resources)} rules"


async def _self(request: Request) -> str:
    request.obj["status"] = {"userInfo": _user_info(request.user)}
    return request.user.name


async def _token(request: Request) -> str:
    cluster, obj = request.cluster, request.obj
    spec = obj.get("spec") or {}
    token = spec.get("token") or ""
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    authentication = cluster.access.authentication
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
    return user.name if user else "unknown token"


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in sorted(user.extra.items())}
    return info


_ANSWERS: dict[str, Callable[[Request], Awaitable[str]]] = {
    "SelfSubjectAccessReview": _access,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectRulesReview": _rules,
    "SelfSubjectReview": _self,
    "TokenReview": _token,
}
