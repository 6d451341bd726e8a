"""The options of a write: dryRun, fieldManager, fieldValidation, force, and those of a delete.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go and
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.input import bodies, listoptions
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import client, errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.kinds import features
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import bodies as serialized

MANAGER_BYTES_MAX = 128
_UNREAD = "the object provided is unrecognized (must be of type DeleteOptions): "
_CONVERTING = "error converting YAML to JSON: "
_DELETE = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
_KINDS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
_OPERATIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


def check(call: Call, release: Release) -> None:
    """Refuse what upstream refuses in the query of a create, update or patch."""
    errs: list[FieldError] = []
    if call.verb == "patch":
        errs += _of_patch(call)
    errs += _of_manager(call.param("fieldManager"))
    errs += _of_dry_run(call.params.get("dryRun") or ())
    validation = call.param("fieldValidation")
    if validation not in _VALIDATIONS and release.has("FieldValidationParameter"):
        errs.append(errors.not_supported("fieldValidation", validation, _VALIDATIONS))
    if errs:
        raise errors.invalid("meta.k8s.io", _KINDS[call.verb], "", errs)


def dry_run(call: Call) -> bool:
    """Whether nothing shall be stored. Only `All` is known."""
    values = call.params.get("dryRun") or ()
    errs = _of_dry_run(values)
    if errs:
        raise errors.invalid("meta.k8s.io", _KINDS.get(call.verb, "DeleteOptions"), "", errs)
    return bool(values)


def of_operation(call: Call, operation: str) -> Object:
    """The options of a create or update as admission sees them; a patch is one of these by then."""
    kind = _OPERATIONS.get(operation)
    if kind is None:
        return {}
    options: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    for name in ("fieldManager", "fieldValidation"):
        value = call.param(name)
        if value:
            options[name] = value
    if call.params.get("dryRun"):
        options["dryRun"] = ["All"]
    return options


IGNORE_READ_ERROR = "ignoreStoreReadErrorWithClusterBreakingPotential"
_NOT_WITH_IT = (
    "dryRun",
    "propagationPolicy",
    "orphanDependents",
    "gracePeriodSeconds",
    "preconditions",
)


def of_delete(request: Request) -> Object:
    """DeleteOptions from the body, or, when there is none, from the query."""
    call = request.call
    if isinstance(call.body, dict):
        options = dict(call.body)
    elif call.body:
        options = _of_body(request)
    else:
        options = _of_query(call)
    if features.UNSAFE_DELETION not in request.cluster.options.features:
        options.pop(IGNORE_READ_ERROR, None)
    errs = _of_deletion(options) + _of_dry_run(options.get("dryRun") or ())
    if errs:
        raise errors.invalid("meta.k8s.io", "DeleteOptions", "", errs)
    if options.pop("dryRun", ()):
        options["dryRun"] = ["All"]
    return options


def _of_body(request: Request) -> Object:
    """Nothing makes a Status of what is wrong in it, as in upstream's handlers/delete.go."""
    try:
        options = bodies.read_as(request, _DELETE, "DeleteOptions")
    except errors.ApiError as error:
        if error.code != 400:
            raise
        body = request.call.body
        assert isinstance(body, bytes), "a component's is read already"
        why = error.message.removeprefix(_UNREAD).removeprefix(_CONVERTING)
        why = why.removesuffix(f" ({serialized.summary(body)})")
        if isinstance(error, errors.Undecodable):
            why = error.json_error
        raise errors.unclassified(why) from error
    kind, version = options.get("kind"), options.get("apiVersion") or "meta.k8s.io/v1"
    if version.count("/") > 1:
        raise errors.unclassified(f"unexpected GroupVersion string: {version}")
    if kind and kind != "DeleteOptions":
        raise errors.unclassified(
            f'no kind "{kind}" is registered for version "{version}" in scheme '
            '"pkg/runtime/scheme.go:110"'
        )
    return options


def _of_query(call: Call) -> Object:
    options: Object = {}
    grace = listoptions.integer(call, "gracePeriodSeconds")
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if call.param("propagationPolicy"):
        options["propagationPolicy"] = call.param("propagationPolicy")
    if "orphanDependents" in call.params:
        orphan = call.param("orphanDependents").lower() not in listoptions.FALSE
        options["orphanDependents"] = orphan
    if call.params.get("dryRun"):
        options["dryRun"] = list(call.params["dryRun"])
    wanted = {key: call.param(key) for key in ("uid", "resourceVersion") if call.name}
    wanted = {key: value for key, value in wanted.items() if key in call.params}
    if wanted:
        options["preconditions"] = wanted
    if IGNORE_READ_ERROR in call.params:
        ignore = call.param(IGNORE_READ_ERROR).lower() not in listoptions.FALSE
        options[IGNORE_READ_ERROR] = ignore
    return options


def _of_patch(call: Call) -> list[FieldError]:
    if call.content_type.split(";", 1)[0].strip() == client.APPLY_PATCH:
        if not call.param("fieldManager"):
            return [errors.required("fieldManager", "is required for apply patch")]
    elif "force" in call.params:
        return [errors.forbidden_value("force", "may not be specified for non-apply patch")]
    return []


def _of_manager(manager: str) -> list[FieldError]:
    errs = []
    if len(manager.encode()) > MANAGER_BYTES_MAX:
        errs.append(errors.too_long("fieldManager", manager, MANAGER_BYTES_MAX))
    for place, char in enumerate(manager):
        if not char.isprintable():
            why = f"invalid character U+{ord(char):04X} (at position {place})"
            errs.append(errors.invalid_value("fieldManager", manager, why))
    return errs


def _of_dry_run(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [errors.not_supported("dryRun", list(values), ("All",))]


def _of_deletion(options: Object) -> list[FieldError]:
    policy = options.get("propagationPolicy")
    errs = []
    if policy is not None and options.get("orphanDependents") is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errs.append(errors.invalid_value("propagationPolicy", policy, why))
    if policy is not None and policy not in ("Background", "Foreground", "Orphan"):
        allowed = ("Foreground", "Background", "Orphan", "nil")
        errs.append(errors.not_supported("propagationPolicy", policy, allowed))
    if options.get(IGNORE_READ_ERROR):
        errs += [
            errors.invalid_value(IGNORE_READ_ERROR, True, f"cannot be set together with .{name}")
            for name in _NOT_WITH_IT
            if options.get(name) is not None and options[name] != []
        ]
    return errs
