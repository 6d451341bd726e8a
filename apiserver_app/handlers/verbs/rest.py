"""What the server itself sets, keeps and checks in an object that is created or updated.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update,meta}.go.
"""

from __future__ import annotations

import orjson

from apiserver_app.handlers.input import options
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object, ResourceInfo

GENERATED_NAME_MAX = 58  # what is left of generateName before five random characters
GENERATED_NAMES_MAX = 8  # tried until one is free
MAX_UINT64 = (1 << 64) - 1


def before_create(request: Request) -> None:
    """What only the server knows: uid, creation time, and the generated name."""
    ctx, metadata = request.context, request.obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)
    if not request.dry_run:
        metadata.pop("resourceVersion", None)
    prefix = metadata.get("generateName")
    if prefix and not metadata.get("name"):
        for _ in range(GENERATED_NAMES_MAX):
            metadata["name"] = prefix[:GENERATED_NAME_MAX] + ctx.rand.suffix()
            key = request.info.etcd_key(metadata.get("namespace", ""), metadata["name"])
            if request.cluster.store.get(key) is None:
                break
    metadata["uid"] = ctx.rand.uuid()
    metadata["creationTimestamp"] = meta.rfc3339(ctx.now)


def before_update(obj: Object, old: Object) -> None:
    """Carry over what a client may leave out but never change."""
    metadata, was = obj["metadata"], old["metadata"]
    if not metadata.get("uid"):
        metadata["uid"] = was["uid"]
    for name in ("creationTimestamp", "generation", "deletionTimestamp"):
        if name in was:
            metadata[name] = was[name]
        elif name == "generation":
            metadata.pop(name, None)
    grace = was.get("deletionGracePeriodSeconds")
    if grace is not None and metadata.get("deletionGracePeriodSeconds") is None:
        metadata["deletionGracePeriodSeconds"] = grace


def check_namespace(request: Request, obj: Object) -> None:
    """The body's namespace must be the URL's."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if not request.info.namespaced:
        if namespace:
            del metadata["namespace"]
        return
    if not namespace:
        metadata["namespace"] = request.namespace
    elif namespace != request.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_uid(request: Request) -> None:
    """The uid in the body of a PUT is a precondition: asked for before all else, even before
    whether there is such an object."""
    info, old, uid = request.info, request.old, request.obj["metadata"].get("uid")
    have = meta.uid_of(old) if old is not None else ""
    if uid and uid != have:
        key = info.etcd_key(request.namespace, request.name)
        if options.dry_run(request.call):
            key = key.removeprefix("/registry")  # upstream's dry run is above the storage
        raise errors.conflict(info.group, info.plural, request.name, wrong_uid(key, uid, have))


def check_revision(request: Request, old: Object) -> None:
    """The resourceVersion a client names must be the stored one; some kinds want one named."""
    info, metadata, was = request.info, request.obj["metadata"], old["metadata"]
    name = was["name"]
    asked = metadata.get("resourceVersion")
    if not asked or asked == "0":
        if not request.strategy.unconditional_update:
            why = "must be specified for an update"
            errs = [errors.invalid_value("metadata.resourceVersion", errors.GoText("0x0"), why)]
            as_json = request.cluster.version.has("FieldErrorsAsJSON")
            raise errors.invalid(info.group, info.plural, name, errs, as_json=as_json)
        metadata["resourceVersion"] = was["resourceVersion"]
    elif asked != was["resourceVersion"]:
        if not (asked.isascii() and asked.isdigit()):
            why = "invalid syntax"
        else:
            why = "value out of range" if int(asked[:21]) > MAX_UINT64 else ""
        if why:
            raise errors.unclassified(f"strconv.ParseUint: parsing {errors.quoted(asked)}: {why}")
        raise errors.conflict(info.group, info.plural, name, errors.MODIFIED)


def wipe(obj: Object) -> None:
    """Remove from a new object what only the server knows, before anybody owns it."""
    metadata = obj["metadata"]
    for name in _SYSTEM:
        if name in metadata:
            del metadata[name]


_SYSTEM = (
    "creationTimestamp",
    "uid",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)


def without_twins(request: Request, obj: Object, *, admitted: bool) -> None:
    """Owner references that are there twice are taken once, with a warning."""
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: list[Object] = []
    twins: list[str] = []
    seen: set[bytes] = set()
    for owner in owners:
        form = orjson.dumps(owner, option=orjson.OPT_SORT_KEYS)
        if form in seen:
            twins.append(owner.get("uid", ""))
        else:
            seen.add(form)
            kept.append(owner)
    if twins:
        obj["metadata"]["ownerReferences"] = kept
        when = " after mutating admission happens" if admitted else ""
        text = (
            f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
            "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
            f"requests; duplicate UID(s) observed: {', '.join(twins)}"
        )
        if text not in request.warnings:  # a retry finds the same again
            request.warnings.append(text)


def is_stale(error: ApiError) -> bool:
    """Whether somebody was faster, and the same may be tried on the newer object."""
    return error.reason == "Conflict" and error.message.endswith(errors.MODIFIED)


def wrong_uid(key: str, wanted: str, have: str) -> str:
    """How the storage layer words a precondition that does not hold."""
    return (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, "
        f"UID in object meta: {have}"
    )


def created_status() -> Object:
    """What a subresource answers that has nothing of its own to show."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def is_finished(info: ResourceInfo, obj: Object, old: Object) -> bool:
    """Whether this update took the last finalizer off an object whose grace is over."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if metadata.get("deletionGracePeriodSeconds"):
        return False
    if info.key == "namespaces":  # they have finalizers of their own besides
        return not (obj.get("spec") or {}).get("finalizers")
    return bool(old["metadata"].get("finalizers"))
