"""Create, update, patch and delete: the gates decode, mutating, prepare, validation, validating
and etcd, in that order, each told of.

A write is built on a fresh copy and stored by compare-and-swap; when somebody was faster the
whole is done again on the newer object, as long as the client did not name a resourceVersion.
An update notes who set which field, then asks mutating admission, then compares the
resourceVersion: what a plugin changes belongs to nobody, as upstream.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go,
pkg/registry/rest/{create,update}.go and pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import CREATE, UPDATE
from apiserver_app.handlers import (
    allocations,
    bodies,
    conversions,
    deletes,
    escalation,
    gates,
    options,
    paramaccess,
    patching,
)
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import client, errors, meta
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import managedfields
from apiserver_app.registry.validation import objectmeta

REVISED = "resourceVersion should not be set on objects to be created"


async def handle(cluster: ClusterContext, call: Call) -> Outcome:
    """The verbs that change a resource itself or its status."""
    if call.outside and call.verb in ("create", "update", "patch"):
        options.check(call)
    if call.verb == "create":
        return await create(cluster, call)
    if call.verb == "update":
        return await update(cluster, call)
    if call.verb == "patch":
        return await patch(cluster, call)
    if call.verb == "delete":
        return await deletes.delete(cluster, call)
    if call.verb == "deletecollection":
        return await deletes.delete_collection(cluster, call)
    if call.verb == "get":  # of a status subresource
        assert call.info is not None
        obj, value = cluster.storage.get(call.info, call.namespace, call.name)
        return Outcome(200, obj=obj, value=value)
    raise errors.method_not_allowed("", call.path, call.verb)


async def create(cluster: ClusterContext, call: Call) -> Outcome:
    info = _info(call)
    raw = bodies.read(cluster, call, info)
    obj = await gates.decode(cluster, call, info, raw, None)
    return await _create(cluster, call, info, obj)


async def _create(
    cluster: ClusterContext, call: Call, info: ResourceInfo, obj: Object, *, instead: bool = False
) -> Outcome:
    """A decoded, defaulted object through the gates behind `decode`. `instead` of an update or an
    apply of nothing: then its sender must be allowed to create."""
    assert call.user is not None
    dry_run = options.dry_run(call)
    strategy = cluster.strategy(info)
    ctx = cluster.context(call.user, call.namespace)
    gates.wipe(obj)
    attributes = gates.attributes(cluster, call, info, CREATE, obj, None, dry_run)
    obj = await gates.mutate(cluster, call, attributes)
    granted = await escalation.check(cluster, call, info, obj, None)
    call.gate = "prepare"
    metadata = obj["metadata"]
    if not (metadata.get("name") or metadata.get("generateName")):
        nameless = errors.required("metadata.name", "name or generateName is required")
        await gates.validation(cluster, info, "", [nameless])
    generated = not metadata.get("name")
    said = str(metadata.get("resourceVersion") or "")
    revised = said.isascii() and said.isdigit() and int(said[:20]) > 0 and not dry_run
    gates.before_create(cluster, ctx, info, obj)
    strategy.prepare_for_create(ctx, obj)
    detail = {"word": metadata["name"], "uid": metadata["uid"], "name": metadata["name"]}
    if generated:
        detail["generateName"] = metadata["generateName"]
    if granted:
        detail["grants"] = granted
    await cluster.probe.hop("gate", "prepare", "change", detail)
    found = objectmeta.validate_object_meta(obj, info.namespaced, strategy.name_rule)
    found += strategy.validate(ctx, obj)
    found = found or await paramaccess.check(cluster, call, info, obj, None)
    await gates.validation(cluster, info, metadata["name"], found)
    call.warnings += strategy.warnings(ctx, obj, None)
    attributes.name = metadata["name"]
    if instead:
        call.gate = "authorization"
        await gates.check_may_create(cluster, call, info)
    await gates.validating(cluster, attributes)
    await conversions.before_write(cluster, info, obj)
    try:
        if revised:
            raise errors.unclassified(REVISED)
        stored = await _stored(cluster, info, obj, dry_run)
    except errors.ApiError as error:
        await gates.etcd(cluster, dry_run, error, op="create", key=_key(info, obj))
        raise
    await gates.etcd(
        cluster, dry_run, None, op="create", key=_key(info, obj),
        rev=meta.revision_of(stored),
    )  # fmt: skip
    return Outcome(201, obj=stored)


async def _stored(
    cluster: ClusterContext, info: ResourceInfo, obj: Object, dry_run: bool
) -> Object:
    """The object in the store, with what it needs of others."""
    if dry_run:
        return cluster.storage.create(info, obj, dry_run=True)
    cluster.storage.check_new(info, obj)
    await allocations.take(cluster, info, obj)
    try:
        return cluster.storage.create(info, obj)
    except errors.ApiError:
        await allocations.give_back(cluster, info, obj)
        raise


async def update(cluster: ClusterContext, call: Call) -> Outcome:
    info = _info(call)
    raw = bodies.read(cluster, call, info)
    for attempt in range(gates.RETRIES_MAX):
        obj = await gates.decode(cluster, call, info, raw, None)
        _check_name(call, obj)
        call.gate = "etcd"
        named = obj["metadata"].get("resourceVersion") not in (None, "", "0")
        old = cluster.storage.find(info, call.namespace, call.name)
        gates.check_uid(info, call, obj, old)
        if old is None:
            if cluster.strategy(info).create_on_update and not call.subresource:
                gates.track(cluster, call, info, obj, None)
                return await _create(cluster, call, info, obj, instead=True)
            raise errors.not_found(info.group, info.plural, call.name)
        try:
            return await _update(cluster, call, info, obj, old)
        except errors.ApiError as error:
            if named or not gates.is_stale(error) or attempt == gates.RETRIES_MAX - 1:
                raise
    raise AssertionError("unreachable: the loop returns or raises")


async def patch(cluster: ClusterContext, call: Call) -> Outcome:
    """Apply the patch to what is stored, then go on as an update."""
    info = _info(call)
    patching.check_type(call)
    applies = call.content_type == client.APPLY_PATCH
    for attempt in range(gates.RETRIES_MAX):
        old = cluster.storage.find(info, call.namespace, call.name)
        if old is None and not (applies and not call.subresource):
            call.gate = "etcd"
            raise errors.not_found(info.group, info.plural, call.name)
        if not attempt:
            patching.read(call)
            if call.audit is not None:
                call.audit.patched(call.patch)
        if old is None:
            return await _apply_new(cluster, call, info)
        if applies:
            raw = applied(cluster, call, info, old)
        else:
            raw = patching.patched(cluster, call, info, old)
        obj = await gates.decode(cluster, call, info, raw, old)
        _check_name(call, obj)
        call.gate = "etcd"
        asked = obj["metadata"].get("resourceVersion")
        named = asked not in (None, "", "0", old["metadata"]["resourceVersion"])
        try:
            return await _update(cluster, call, info, obj, old)
        except errors.ApiError as error:
            if named or not gates.is_stale(error) or attempt == gates.RETRIES_MAX - 1:
                raise
            call.gate = "decode"
    raise AssertionError("unreachable: the loop returns or raises")


def applied(cluster: ClusterContext, call: Call, info: ResourceInfo, old: Object | None) -> Object:
    """What a server-side apply makes of the stored object, if there is one."""
    made = managedfields.apply(
        old, call.patch, manager=gates.manager_of(call), force=call.param("force") == "true",
        subresource=call.subresource, now=meta.rfc3339(cluster.kernel.now),
        schema=cluster.types.schema(info.definition),
    )  # fmt: skip
    patching.check_applied(call)
    return made


async def _apply_new(cluster: ClusterContext, call: Call, info: ResourceInfo) -> Outcome:
    raw = applied(cluster, call, info, None)
    obj = await gates.decode(cluster, call, info, raw, None)
    _check_name(call, obj)
    call.gate = "etcd"
    uid = obj["metadata"].get("uid")
    if uid:
        raise errors.conflict(
            info.group, info.plural, call.name,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was "
            "found",
        )  # fmt: skip
    return await _create(cluster, call, info, obj, instead=True)


async def _update(
    cluster: ClusterContext, call: Call, info: ResourceInfo, obj: Object, old: Object
) -> Outcome:
    assert call.user is not None
    dry_run = options.dry_run(call)
    strategy = cluster.strategy(info)
    ctx = cluster.context(call.user, call.namespace, call.subresource)
    gates.track(cluster, call, info, obj, old)
    attributes = gates.attributes(cluster, call, info, UPDATE, obj, old, dry_run)
    obj = await gates.mutate(cluster, call, attributes)
    granted = await escalation.check(cluster, call, info, obj, old)
    call.gate = "etcd"
    gates.check_revision(info, strategy, obj, old)
    call.gate = "prepare"
    gates.before_update(obj, old)
    on_status = call.subresource == "status"
    if on_status:
        strategy.prepare_for_status_update(ctx, obj, old)
    else:
        strategy.prepare_for_update(ctx, obj, old)
    detail = {**_PREPARED, "grants": granted} if granted else _PREPARED
    await cluster.probe.hop("gate", "prepare", "allow", detail)
    found = objectmeta.validate_object_meta_update(obj, old)
    if on_status:
        found += strategy.validate_status_update(ctx, obj, old)
    else:
        found += strategy.validate_update(ctx, obj, old)
        found = found or await paramaccess.check(cluster, call, info, obj, old)
    await gates.validation(cluster, info, call.name, found)
    if not on_status:
        call.warnings += strategy.warnings(ctx, obj, old)
    await gates.validating(cluster, attributes)
    call.gate = "etcd"
    if gates.is_finished(info, obj, old):
        gone = cluster.storage.remove(info, old) if not dry_run else old
        await gates.etcd(
            cluster, dry_run, None, op="delete", key=_key(info, old),
            rev=meta.revision_of(gone),
        )  # fmt: skip
        if not dry_run:
            await allocations.give_back(cluster, info, old)
        return Outcome(200, obj=gone)
    await conversions.before_write(cluster, info, obj)
    try:
        if not dry_run:
            await allocations.take(cluster, info, obj, old)
        stored = cluster.storage.update(
            info, obj, old, subresource=call.subresource, dry_run=dry_run
        )
    except errors.ApiError as error:
        await gates.etcd(cluster, dry_run, error, op="update", key=_key(info, old))
        raise
    if not dry_run:
        await allocations.give_back(cluster, info, old, stored)
    unchanged = stored is old
    await gates.etcd(
        cluster, dry_run, None, op="update", key=_key(info, old),
        rev=meta.revision_of(stored), unchanged=unchanged,
    )  # fmt: skip
    return Outcome(200, obj=stored)


_PREPARED = {"word": "unchanged name"}


def _check_name(call: Call, obj: Object) -> None:
    name = obj["metadata"].get("name", "")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != call.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )


def _info(call: Call) -> ResourceInfo:
    assert call.info is not None, "writes are routed to a resource"
    return call.info


def _key(info: ResourceInfo, obj: Object) -> str:
    metadata = obj["metadata"]
    return info.etcd_key(metadata.get("namespace", ""), metadata["name"])
