"""Delete: preconditions, grace, finalizers by propagation policy, then gone.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go and
pkg/registry/generic/registry/store.go (Delete, deletionFinalizersForGarbageCollection).
"""

from __future__ import annotations

from apiserver_app.admission.plugin import DELETE
from apiserver_app.handlers import allocations, conversions, gates, listoptions
from apiserver_app.handlers import options as given
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry import generic

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


async def delete(cluster: ClusterContext, call: Call) -> Outcome:
    info = call.info
    assert info is not None
    options = given.of_delete(cluster, call)
    for attempt in range(gates.RETRIES_MAX):
        call.gate = "etcd"
        old = cluster.storage.find(info, call.namespace, call.name)
        if old is None:
            raise errors.not_found(info.group, info.plural, call.name)
        try:
            outcome = await delete_one(cluster, call, info, old, options)
        except errors.ApiError as error:
            if not gates.is_stale(error) or attempt == gates.RETRIES_MAX - 1:
                raise
        else:
            if options.get("orphanDependents") is False and _is_still_there(outcome):
                outcome.code = 202
            return outcome
    raise AssertionError("unreachable: the loop returns or raises")


def _is_still_there(outcome: Outcome) -> bool:
    return outcome.obj is not None and meta.is_deleting(outcome.obj)


async def delete_collection(cluster: ClusterContext, call: Call) -> Outcome:
    """Delete what the selectors match, one by one, as upstream does; the list as it was."""
    info = call.info
    assert info is not None
    asked = listoptions.of_list(call)
    selection = cluster.selection(
        info, call.namespace, call.param("labelSelector"), call.param("fieldSelector")
    )
    options = given.of_delete(cluster, call)
    if call.audit is not None:
        call.audit.patched(options)
    call.gate = "etcd"
    if asked.at_least > cluster.store.revision:
        raise generic.too_new(asked.at_least, cluster.store.revision)
    page = cluster.storage.page(
        info, cluster.strategy(info), selection,
        limit=asked.limit, token=asked.token, revision=asked.revision,
    )  # fmt: skip
    items = cluster.storage.objects(info, page)
    for item in items:
        now = cluster.storage.find(info, meta.namespace_of(item), meta.name_of(item))
        if now is not None:  # what it owned may have gone with another
            await delete_one(cluster, call, info, now, options)
    return Outcome(200, page=page)


async def delete_one(
    cluster: ClusterContext, call: Call, info: ResourceInfo, old: Object, options: Object
) -> Outcome:
    """Through admission; then gone, or marked for whoever must finish it."""
    dry_run = bool(options.get("dryRun"))
    check_preconditions(info, old, options)
    attributes = gates.attributes(cluster, call, info, DELETE, None, old, dry_run)
    attributes.name = meta.name_of(old)
    attributes.options = options
    await gates.mutating(cluster, attributes)
    await gates.validating(cluster, attributes)
    call.gate = "etcd"
    return await finish(cluster, info, old, options)


async def finish(
    cluster: ClusterContext, info: ResourceInfo, old: Object, options: Object
) -> Outcome:
    """The delete itself, behind admission."""
    dry_run = bool(options.get("dryRun"))
    strategy = cluster.strategy(info)
    grace = strategy.grace_seconds(old, options)
    finalizers = _finalizers(old, options)
    key = info.etcd_key(meta.namespace_of(old), meta.name_of(old))
    marked = _marked(cluster, old, grace, finalizers)
    if info.key == "namespaces":
        marked = _terminating(cluster, old, finalizers)
    elif info.key == customresources.DEFINITIONS and not meta.is_deleting(old):
        marked = _pending(cluster, old)
    if marked is not None:
        stored = old
        if marked is not old:
            await conversions.before_write(cluster, info, marked)
            stored = cluster.storage.update(info, marked, old, dry_run=dry_run)
        await gates.etcd(
            cluster, dry_run, None, op="update", key=key,
            rev=meta.revision_of(stored), unchanged=stored is old,
        )  # fmt: skip
        return Outcome(200, obj=stored)
    gone = old if dry_run else cluster.storage.remove(info, old)
    await gates.etcd(cluster, dry_run, None, op="delete", key=key, rev=meta.revision_of(gone))
    if not dry_run:
        await allocations.give_back(cluster, info, old)
    if info.key in RETURNS_OBJECT:
        return Outcome(200, obj=gone)
    return Outcome(200, obj=deleted_status(info, old))


# kinds whose delete answers the object itself (ReturnDeletedObject)
RETURNS_OBJECT = ("pods", "serviceaccounts", "services", "persistentvolumes",
                  "persistentvolumeclaims", "resourcequotas", "podtemplates")  # fmt: skip


def deleted_status(info: ResourceInfo, old: Object) -> Object:
    """What most kinds answer to a delete."""
    details: Object = {"name": meta.name_of(old)}
    if info.group:
        details["group"] = info.group
    details["kind"] = info.plural
    details["uid"] = meta.uid_of(old)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def check_preconditions(info: ResourceInfo, old: Object, options: Object) -> None:
    wanted = options.get("preconditions") or {}
    name = meta.name_of(old)
    uid, revision = wanted.get("uid"), wanted.get("resourceVersion")
    if uid is not None and uid != meta.uid_of(old):
        raise errors.conflict(
            info.group, info.kind, name,
            f"the UID in the precondition ({uid}) does not match the UID in record "
            f"({meta.uid_of(old)}). The object might have been deleted and then recreated",
        )  # fmt: skip
    have = old["metadata"]["resourceVersion"]
    if revision is not None and revision != have:
        raise errors.conflict(
            info.group, info.kind, name,
            f"the ResourceVersion in the precondition ({revision}) does not match the "
            f"ResourceVersion in record ({have}). The object might have been modified",
        )  # fmt: skip


def _finalizers(old: Object, options: Object) -> list[str]:
    """The finalizers after the propagation policy had its say."""
    have = list(old["metadata"].get("finalizers") or ())
    policy = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents") is not None:
        policy = "Orphan" if options["orphanDependents"] else "Background"
    if policy is None:
        return have
    have = [name for name in have if name not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        have.append(ORPHAN)
    elif policy == "Foreground":
        have.append(FOREGROUND)
    return have


def _marked(
    cluster: ClusterContext, old: Object, grace: int | None, finalizers: list[str]
) -> Object | None:
    """The object with its deletion marked; None when nothing holds it and it goes at once."""
    metadata = old["metadata"]
    deleting = metadata.get("deletionTimestamp")
    if not grace and not finalizers:
        return None
    new = dict(metadata)
    if finalizers:
        new["finalizers"] = finalizers
    else:
        new.pop("finalizers", None)
    if deleting:
        was = metadata.get("deletionGracePeriodSeconds") or 0
        if grace is not None and grace < was:
            new["deletionGracePeriodSeconds"] = grace
            now = meta.parse_time(deleting) - was * SECOND
            new["deletionTimestamp"] = meta.rfc3339(now + grace * SECOND)
        elif finalizers == list(metadata.get("finalizers") or ()):
            return old
        return {**old, "metadata": new}
    seconds = grace or 0
    new["deletionTimestamp"] = meta.rfc3339(cluster.kernel.now + seconds * SECOND)
    new["deletionGracePeriodSeconds"] = seconds
    if "generation" in new:
        new["generation"] += 1
    return {**old, "metadata": new}


def _pending(cluster: ClusterContext, old: Object) -> Object:
    """A definition stays until its objects are gone.

    Models staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go.
    """
    now = meta.rfc3339(cluster.kernel.now)
    finalizers = list(old["metadata"].get("finalizers") or ())
    if customresources.CLEANUP not in finalizers:
        finalizers.append(customresources.CLEANUP)
    metadata = {**old["metadata"], "deletionTimestamp": now, "finalizers": finalizers}
    wanted = {
        "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will "
        "begin soon",
    }  # fmt: skip
    return customresources.with_condition({**old, "metadata": metadata}, wanted, now)


def _terminating(cluster: ClusterContext, old: Object, finalizers: list[str]) -> Object | None:
    """A namespace stays, Terminating, until its contents are gone and `finalize` was called."""
    if not (old.get("spec") or {}).get("finalizers") and not finalizers:
        return None
    if meta.is_deleting(old):
        return old
    metadata = {**old["metadata"], "deletionTimestamp": meta.rfc3339(cluster.kernel.now)}
    if finalizers:
        metadata["finalizers"] = finalizers
    status = {**(old.get("status") or {}), "phase": "Terminating"}
    return {**old, "metadata": metadata, "status": status}
