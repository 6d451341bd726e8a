"""The gates of a write, each telling what it decided: decode, mutating, prepare, validation,
validating, etcd. Called by the handlers in that order; none of them stores anything.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go and
pkg/registry/rest/{create,update,meta}.go.
"""

from __future__ import annotations

from typing import Any

import orjson

from apiserver_app.admission.plugin import CONNECT, Attributes
from apiserver_app.auth import protocols as auth
from apiserver_app.auth.authz import forbidden
from apiserver_app.handlers import bodies, options, patching
from apiserver_app.handlers.call import Call
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import client, errors, meta
from apiserver_app.machinery.errors import ApiError, FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import jsonpatch, managedfields
from apiserver_app.registry import generic
from apiserver_app.registry.strategy import Context, Strategy

GENERATED_NAME_MAX = 58  # what is left of generateName before five random characters
RETRIES_MAX = 5  # of a write that somebody else was faster than
GENERATED_NAMES_MAX = 8  # tried until one is free


async def decode(
    cluster: ClusterContext, call: Call, info: ResourceInfo, raw: Object, old: Object | None
) -> Object:
    """A fresh, pruned, defaulted object of the served type, with its fields' manager noted."""
    probe = cluster.probe
    try:
        obj, unknown = bodies.typed(cluster, call, info, raw)
        _check_place(call, info, obj)
        if unknown:
            unknown = check_strict(cluster, call, info, unknown, raw, old)
    except ApiError as error:
        refused = patching.refusal(call, error, old, raw)
        told = {"word": str(refused.code), "message": refused.message}
        await _deny(cluster, "decode", refused, told)
        raise refused from error
    strategy = cluster.strategy(info)
    strategy.default(obj)
    if call.verb != "patch":
        without_twins(call, obj, admitted=False)
    if call.audit is not None and call.verb != "patch":
        call.audit.requested(obj)
    set_: list[Object] = []
    if old is None and call.verb != "update":
        if info.storage != "events":  # many, and nobody asks what was filled in
            set_ = jsonpatch.diff(raw, obj)
        track(cluster, call, info, obj, None)
    verdict = "change" if set_ else "allow"
    word = f"{len(set_)} default{'s' if len(set_) != 1 else ''} set" if set_ else "well formed"
    # encoded now: the values are parts of the object, which goes on changing
    ops = orjson.Fragment(orjson.dumps(set_)) if set_ else []
    detail: Object = {"word": word, "ops": ops}
    if unknown:
        detail["unknown"] = unknown
        if info.custom is not None:
            detail["word"] = f"{len(unknown)} pruned, {word}"
    await probe.hop("gate", "decode", verdict, detail)
    return obj


def _check_place(call: Call, info: ResourceInfo, obj: Object) -> None:
    """The body's namespace must be the URL's."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if not info.namespaced:
        if namespace:
            del metadata["namespace"]
        return
    if not namespace:
        metadata["namespace"] = call.namespace
    elif namespace != call.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_strict(
    cluster: ClusterContext,
    call: Call,
    info: ResourceInfo,
    found: list[str],
    raw: Object,
    old: Object | None,
) -> list[str]:
    """What is unknown or doubled, in its order: warned of, or refused, as the client asks."""
    mode = call.param("fieldValidation") or "Warn"
    if mode == "Ignore":
        return found
    if call.verb == "patch":
        found = patching.in_order(cluster, call, info, found, old, raw)
    if mode == "Warn":
        call.warnings += patching.warnings(found)
        return found
    if call.verb == "patch" and call.content_type != client.APPLY_PATCH:
        raise patching.strict_refusal(call, old, raw, found)
    raise errors.bad_request(
        f'{info.kind} in version "{info.version}" cannot be handled as a {info.kind}: '
        f"strict decoding error: {', '.join(found)}"
    )


def manager_of(call: Call) -> str:
    """The field manager: as asked, or the user agent up to its slash."""
    return call.param("fieldManager") or call.agent.split("/", 1)[0][:128] or "unknown"


def track(
    cluster: ClusterContext, call: Call, info: ResourceInfo, obj: Object, old: Object | None
) -> None:
    """Note in metadata.managedFields who set what; an apply has done so itself."""
    if not cluster.manages_fields:
        obj["metadata"].pop("managedFields", None)
        return
    if info.storage == "events" or call.content_type.startswith("application/apply-patch"):
        return
    schema = cluster.types.schema(info.definition)
    if info.custom is not None and not managedfields.fits(schema, obj, old):
        obj["metadata"].pop("managedFields", None)  # validation will say what is wrong
        return
    entries = managedfields.track(
        old, obj, manager=manager_of(call), operation="Update", api_version=info.api_version,
        time=meta.rfc3339(cluster.kernel.now), subresource=call.subresource,
        schema=schema,
    )  # fmt: skip
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


async def check_may_create(cluster: ClusterContext, call: Call, info: ResourceInfo) -> None:
    """403 unless the user could have created it, too."""
    assert call.user is not None
    asked = auth.Attributes(
        call.user, "create", call.path, info.group, info.version, info.plural, call.subresource,
        call.namespace, call.name,
    )  # fmt: skip
    decision = await cluster.authorization.authorize(asked)
    if not decision.allowed:
        raise forbidden.forbidden_error(asked, decision.reason)


def attributes(
    cluster: ClusterContext,
    call: Call,
    info: ResourceInfo,
    operation: str,
    obj: Object | None,
    old: Object | None,
    dry_run: bool,
) -> Attributes:
    """The request as admission sees it."""
    assert call.user is not None
    name = call.name or (meta.name_of(obj) if obj and operation != CONNECT else "")
    return Attributes(
        operation=operation, info=info, subresource=call.subresource, namespace=call.namespace,
        name=name, obj=obj, old=old, user=call.user, reader=cluster.cache, rand=cluster.rand,
        now=cluster.kernel.now, version=cluster.version, dry_run=dry_run, warnings=call.warnings,
        options=options.of_operation(call, operation), means=cluster.means,
        annotations=call.annotations, decide=cluster.decide,
    )  # fmt: skip


async def mutating(cluster: ClusterContext, attributes_: Attributes) -> None:
    await _admit(cluster, "mutating", attributes_)


async def mutate(cluster: ClusterContext, call: Call, attributes_: Attributes) -> Object:
    """The mutating phase of a write that is stored; the object as it leaves it. Entries of
    managedFields that a plugin spoiled are put back, and owners that it doubled are not."""
    assert attributes_.obj is not None, "something is to be stored"
    before = attributes_.obj["metadata"].get("managedFields")
    await _admit(cluster, "mutating", attributes_)
    obj = attributes_.obj
    after = obj["metadata"].get("managedFields")
    if after is not before:
        why = managedfields.finding(after)
        if why:
            obj["metadata"]["managedFields"] = before
            call.warnings.append(f"{_SPOILED}: {why}")
    without_twins(call, obj, admitted=True)
    return obj


_SPOILED = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an "
    "outdated mutating admission controller; please fix your requests"
)


async def validating(cluster: ClusterContext, attributes_: Attributes) -> None:
    await _admit(cluster, "validating", attributes_)


async def _admit(cluster: ClusterContext, phase: str, attributes_: Attributes) -> None:
    probe, counters, kernel = cluster.probe, cluster.counters, cluster.kernel
    operation = attributes_.operation
    passed: list[tuple[str, str, str]] = []
    quiet: list[str] = []  # who decided in no time
    made: list[Object] = []  # calls of webhooks
    began = mark = kernel.now
    refusal = 0

    async def tell(phase: str, plugin: str, verdict: str, why: str, ops: Any) -> None:
        nonlocal passed, mark
        now = kernel.now
        if now == mark and verdict != "deny":
            quiet.append(plugin)
        else:
            counters.asked(plugin, phase, operation, now - mark, rejected=verdict == "deny")
            mark = now
        calls, policies = attributes_.calls, attributes_.policies
        if verdict in ("allow", "skip") and not calls and not policies:
            passed.append((plugin, verdict, why))
            return
        told, passed = passed, []
        detail: Object = {}
        if calls:
            attributes_.calls, detail["calls"] = [], calls
            made.extend(calls)
        if policies:
            attributes_.policies, detail["policies"] = [], policies
        await probe.hop("plugin", phase, plugin, verdict, why, ops, told, detail)

    run = cluster.chain.mutate if phase == "mutating" else cluster.chain.validate
    try:
        changes = await run(attributes_, tell)
    except ApiError as error:
        refusal = error.code
        await _deny(cluster, phase, error, {"word": str(error.code), "message": error.message})
        raise
    finally:
        counters.admitted(
            phase, operation, kernel.now - began, tuple(quiet), rejected=bool(refusal)
        )
        for note in made:
            counters.called(phase, operation, note, refusal)
    if changes:
        word = f"{changes} change{'s' if changes != 1 else ''}"
        await probe.hop("gate", phase, "change", {"word": word, "passed": passed})
    else:
        await probe.hop("gate", phase, "allow", {"word": "agreed", "passed": passed})


def before_create(cluster: ClusterContext, ctx: Context, info: ResourceInfo, obj: Object) -> None:
    """What only the server knows: uid, creation time, and the generated name."""
    metadata = obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
        metadata.pop(name, None)
    if not metadata.get("name"):
        prefix = metadata.get("generateName")
        assert prefix, "an object without any name was refused before"
        for _ in range(GENERATED_NAMES_MAX):
            metadata["name"] = prefix[:GENERATED_NAME_MAX] + ctx.rand.suffix()
            key = info.etcd_key(metadata.get("namespace", ""), metadata["name"])
            if cluster.store.get(key) is None:
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


def check_uid(info: ResourceInfo, call: Call, obj: Object, old: Object | None) -> None:
    """The uid in the body of a PUT is a precondition: asked for before all else, even before
    whether there is such an object."""
    uid = obj["metadata"].get("uid")
    have = meta.uid_of(old) if old is not None else ""
    if uid and uid != have:
        key = info.etcd_key(call.namespace, call.name)
        raise errors.conflict(info.group, info.plural, call.name, wrong_uid(key, uid, have))


def check_revision(info: ResourceInfo, strategy: Strategy, obj: Object, old: Object) -> None:
    """The resourceVersion a client names must be the stored one; some kinds want one named."""
    metadata, was = obj["metadata"], old["metadata"]
    name = was["name"]
    asked = metadata.get("resourceVersion")
    if not asked or asked == "0":
        if not strategy.unconditional_update:
            why = "must be specified for an update"
            found = [errors.invalid_value("metadata.resourceVersion", errors.GoText("0x0"), why)]
            raise errors.invalid(info.group, info.plural, name, found)
        metadata["resourceVersion"] = was["resourceVersion"]
    elif asked != was["resourceVersion"]:
        raise errors.conflict(info.group, info.plural, name, errors.MODIFIED)


def wipe(obj: Object) -> None:
    """What only the server knows is gone from a new object before admission sees it."""
    metadata = obj["metadata"]
    for name in _SYSTEM:
        if name in metadata:
            del metadata[name]


_SYSTEM = (
    "creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
)  # fmt: skip


def without_twins(call: Call, obj: Object, *, admitted: bool) -> None:
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
        if text not in call.warnings:  # a retry finds the same again
            call.warnings.append(text)


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


async def validation(
    cluster: ClusterContext, info: ResourceInfo, name: str, found: list[FieldError]
) -> None:
    if not found:
        await cluster.probe.hop("gate", "validation", "allow", _LEGAL)
        return
    error = errors.invalid(info.group, info.kind, name, found)
    detail = {
        "word": f"{len(found)} error{'s' if len(found) != 1 else ''}",
        "message": error.message,
        "errors": error.details["causes"],
    }
    await _deny(cluster, "validation", error, detail)
    raise error


async def _deny(cluster: ClusterContext, gate: str, error: ApiError, detail: Object) -> None:
    """A refusal that knows more than its sentence; others are told of by the pipeline."""
    error.gate = gate
    await cluster.probe.hop("gate", gate, "deny", detail)


_LEGAL = {"word": "legal"}


async def etcd(
    cluster: ClusterContext,
    dry_run: bool,
    error: ApiError | None,
    *,
    op: str,
    key: str,
    rev: int = 0,
    unchanged: bool = False,
) -> None:
    """Tell how a call of the storage interface went. It was carried out, or not, before this."""
    if error is not None:
        about = {"word": error.reason or str(error.code), "call": generic.CALLS[op], "key": key}
        await _deny(cluster, "etcd", error, {**about, **error.about, "message": error.message})
        return
    detail: Object = {"word": str(rev), "call": generic.CALLS[op], "key": key}
    if dry_run:
        detail.update(word="dry run", why=DRY_RUN)
    elif unchanged:
        detail["word"] = "no change"
    else:
        detail["rev"] = rev
    began = cluster.kernel.now
    await cluster.probe.hop("gate", "etcd", "allow" if "rev" in detail else "skip", detail)
    if "rev" in detail:
        resource = cluster.cache.resource_of(key)
        cluster.counters.stored(op, resource, cluster.kernel.now - began)


# what the storage does then, as upstream's DryRunnableStorage
DRY_RUN = "the key was looked up and the object answered; nothing was written"


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
