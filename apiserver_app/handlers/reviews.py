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
from apiserver_app.handlers.verbs import fieldowners, rest
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Credential, Object, ResourceInfo, User
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.validation import gosyntax

_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


def is_review(info: ResourceInfo) -> bool:
    return info.group in _GROUPS


class Review(Operation):
    """The question comes as an object, the answer is the same object with a status."""

    passes = ("decode", "etcd")

    def asks_etcd(self, request: Request) -> bool:
        return False  # it is stored nowhere

    def begin(self, request: Request) -> None:
        if request.verb != "create" or request.info.kind not in _ANSWERS:
            info = request.info
            raise errors.method_not_allowed(info.group, info.plural, request.verb)

    def decode(self, request: Request) -> Decision:
        raw = bodies.read(request, request.info)
        request.obj, unknown = bodies.typed(request, request.info, raw)
        rest.check_namespace(request, request.obj)
        if unknown:
            bodies.check_strict(request, request.info, unknown, raw, None)
        rest.wipe(request.obj)
        request.obj["metadata"]["creationTimestamp"] = None
        fieldowners.track(request, request.obj, None)
        if request.audit is not None:
            request.audit.requested(request.obj)
        return WELL_FORMED

    async def store(self, request: Request) -> Decision:
        request.gate = "validation"
        word = await _ANSWERS[request.info.kind](request)
        request.obj["metadata"].pop("resourceVersion", None)  # it is in no store
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
    errs = _spec_errors(spec, user) + _metadata_errors(obj, kind)
    if errs:  # of an internal object, which names no kind
        as_json = request.cluster.version.has("FieldErrorsAsJSON")
        raise errors.invalid(request.info.group, "", "", errs, as_json=as_json)
    attributes = _asked(spec, user)
    answer = await request.cluster.access.authorization.authorize(attributes)
    obj["status"] = {"allowed": answer.allowed}
    if answer.verdict == "deny":
        obj["status"]["denied"] = True
    if answer.reason:
        obj["status"]["reason"] = answer.reason
    if answer.error:
        obj["status"]["evaluationError"] = answer.error
    return f"{user.name}: {'yes' if answer.allowed else 'no'}"


def _spec_errors(spec: Object, user: User) -> list[FieldError]:
    errs: list[FieldError] = []
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errs.append(errors.invalid_value("spec.nonResourceAttributes", _path_text(path), why))
    if asked is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errs.append(errors.invalid_value("spec.resourceAttributes", None, why))
    if not user.name and not user.groups:
        why = "at least one of user or group must be specified"
        errs.append(errors.invalid_value("spec.user", "", why))
    if asked is not None:
        _check_selectors(asked, errs)
    return errs


def _metadata_errors(obj: Object, kind: str) -> list[FieldError]:
    """Nothing but the namespace of a local review may be there, which the spec must name."""
    metadata, local = obj["metadata"], kind == "LocalSubjectAccessReview"
    free = ("managedFields", "namespace") if local else ("managedFields",)
    errs: list[FieldError] = []
    if any(value for name, value in metadata.items() if name not in free):
        why = "must be empty except for namespace" if local else "must be empty"
        printed = gosyntax.object_meta(metadata, gosyntax.UTC)
        errs.append(errors.invalid_value("metadata", printed, why))
    asked, path = (obj["spec"].get(f"{word}Attributes") for word in ("resource", "nonResource"))
    if local and asked is not None and asked.get("namespace", "") != metadata["namespace"]:
        why, at = "must match metadata.namespace", "spec.resourceAttributes.namespace"
        errs.append(errors.invalid_value(at, asked.get("namespace", ""), why))
    if local and path is not None:
        why = "disallowed on this kind of request"
        errs.append(errors.invalid_value("spec.nonResourceAttributes", _path_text(path), why))
    return errs


def _path_text(path: Object) -> errors.GoText:
    fields = (("Path", "path"), ("Verb", "verb"))
    return gosyntax.of_words("authorization.NonResourceAttributes", path, fields)


def _asked(spec: Object, user: User) -> auth.Attributes:
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked is None:
        path = path or {}
        return auth.Attributes(user, path.get("verb", ""), path.get("path", ""))
    names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return auth.Attributes(
        user,
        **{name: asked.get(name, "") for name in names},
        fields=_selector(asked.get("fieldSelector"), _FIELD_TERMS),
        labels=_selector(asked.get("labelSelector"), _LABEL_TERMS),
    )


_LABEL_TERMS = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}
_FIELD_TERMS = {"In": "{key}={values}", "NotIn": "{key}!={values}"}


def _selector(asked: Object | None, terms: dict[str, str]) -> str:
    """A selector as text. What cannot be written so narrows nothing, as upstream has it."""
    if not asked:
        return ""
    if asked.get("rawSelector"):
        return str(asked["rawSelector"])
    out = []
    for requirement in asked.get("requirements") or ():
        values = requirement.get("values") or []
        form = terms.get(requirement.get("operator", ""))
        if form and not (terms is _FIELD_TERMS and len(values) != 1):
            out.append(form.format(key=requirement.get("key", ""), values=",".join(values)))
    return ",".join(out)


def _check_selectors(asked: Object, errs: list[FieldError]) -> None:
    for name in ("fieldSelector", "labelSelector"):
        selector = asked.get(name)
        if selector is None:
            continue
        path = f"spec.resourceAttributes.{name}"
        raw, listed = selector.get("rawSelector"), selector.get("requirements")
        if raw and listed:
            text = "may not specified at the same time as requirements"
            errs.append(errors.invalid_value(f"{path}.rawSelector", raw, text))
        elif not raw and not listed:
            text = f"when {path} is specified, requirements or rawSelector is required"
            errs.append(errors.required(f"{path}.requirements", text))


async def _rules(request: Request) -> str:
    obj = request.obj
    namespace = (obj.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    rules = request.cluster.access.authorization.rules_for(request.user, namespace)
    obj["metadata"], obj["spec"] = {"creationTimestamp": None}, {}
    obj["status"] = {
        "resourceRules": rules.resources,
        "nonResourceRules": rules.paths,
        "incomplete": rules.incomplete,
    }
    if rules.error:
        obj["status"]["evaluationError"] = rules.error
    return f"{len(rules.resources)} rules"


async def _self(request: Request) -> str:
    request.obj["metadata"] = {"creationTimestamp": meta.rfc3339(request.cluster.kernel.now)}
    request.obj["status"] = {"userInfo": request.user.info()}
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
    sent: Object = {"user": {}, **(obj.get("status") or {})}  # stays where nothing is known
    sent.pop("authenticated", None)
    if user is None:
        obj["status"] = {**sent, "error": union.refusal(tries)}
    else:
        obj["status"] = {"authenticated": True, **sent, "user": user.info()}
        obj["status"].pop("audiences", None)
        if good := list(tries[-1].audiences):
            obj["status"]["audiences"] = good
    gofields.arrange(obj["status"], "authentication.v1.TokenReviewStatus")
    obj["spec"] = {**spec, "token": token}
    return user.name if user else "unknown token"


_ANSWERS: dict[str, Callable[[Request], Awaitable[str]]] = {
    "SelfSubjectAccessReview": _access,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectRulesReview": _rules,
    "SelfSubjectReview": _self,
    "TokenReview": _token,
}
