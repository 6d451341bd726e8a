"""Delete: preconditions, grace, finalizers by propagation policy, then gone.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go and
pkg/registry/generic/registry/store.go (Delete, deletionFinalizersForGarbageCollection).
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator

from apiserver_app.admission.plugin import DELETE, Attributes
from apiserver_app.handlers import decision
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.input import listoptions, options
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import (
    allocations,
    attributes,
    conversions,
    listing,
    rest,
    unreadable,
)
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry import generic, storagecalls
from apiserver_app.registry.generic import Page

ORPHAN = "orphan"
_SENT_AS = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal"}
FOREGROUND = "foregroundDeletion"


class Delete(Operation):
    """One object goes, or is marked for those who must finalize it."""

    passes = ("current", "mutating", "validating", "etcd")
    admits = DELETE
    call = storagecalls.GET

    def begin(self, request: Request) -> Awaitable[None] | None:
        _take_options(request)
        if request.options.get(options.IGNORE_READ_ERROR):
            request.operation = DELETE_UNREADABLE
            return unreadable.check_may_delete(request)
        return None

    def current(self, request: Request) -> None:
        request.gate = "etcd"
        old = request.cluster.storage.find(request.info, request.namespace, request.name)
        if old is None:
            raise generic.not_found(request.info, request.name)
        self.turn_to(request, old)

    def turn_to(self, request: Request, old: Object) -> None:
        """This is the object that goes."""
        request.old = old
        request.dry_run = bool(request.options.get("dryRun"))
        check_preconditions(request.info, old, request.options)

    def attributes(self, request: Request) -> Attributes:
        attrs = attributes.of(request, None)
        assert request.old is not None, "behind `current`"
        attrs.name, attrs.options = meta.name_of(request.old), request.options
        return attrs

    def store(self, request: Request) -> Decision | Awaitable[Decision]:
        assert request.old is not None, "behind `current`"
        return finish(request, request.info, request.old, request.options)

    def tries_again(self, request: Request, error: ApiError) -> bool:
        return rest.is_stale(error)

    def answer(self, request: Request) -> Outcome | Awaitable[Outcome]:
        outcome = request.outcome
        there = outcome.obj is not None and meta.is_deleting(outcome.obj)
        if request.options.get("orphanDependents") is False and there:
            outcome.code = 202
        return answered(request)


class DeleteUnreadable(Operation):
    """What stands at the key goes, whatever it is: neither admission nor finalizers can be asked.

    Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/generic/registry/
    corrupt_obj_deleter.go.
    """

    passes = ("current", "etcd")
    call = storagecalls.GET

    def current(self, request: Request) -> None:
        request.gate = "etcd"
        if not request.cluster.storage.is_unreadable(request.info, request.namespace, request.name):
            raise unreadable.not_corrupt(request)

    def store(self, request: Request) -> Decision:
        info, name = request.info, request.name
        request.cluster.storage.remove_unreadable(info, request.namespace, name)
        details = {"name": name, "kind": info.kind}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        request.outcome = Outcome(200, obj={**status, "details": details, "code": 200})
        key, revision = info.etcd_key(request.namespace, name), request.cluster.store.revision
        return decision.stored("delete", key, revision, dry_run=False)

    def answer(self, request: Request) -> Outcome:
        return request.outcome


class DeleteCollection(Delete):
    """What the selectors match goes one by one, as upstream does it; the answer is the list as it
    was."""

    def begin(self, request: Request) -> None:
        """`collected` does all that is done once."""

    def current(self, request: Request) -> None:
        """`collected` looked it up."""

    def answer(self, request: Request) -> Outcome:
        return request.outcome


DELETE_OBJECT, DELETE_COLLECTION = Delete(), DeleteCollection()
DELETE_UNREADABLE = DeleteUnreadable()


def collected(request: Request) -> Iterator[Object]:
    """Each that a delete of many finds, with the request turned to it."""
    cluster, info = request.cluster, request.info
    page = _page(request)
    for item in cluster.storage.objects(info, page):
        request.gate, request.gone = "etcd", None
        old = cluster.storage.find(info, meta.namespace_of(item), meta.name_of(item))
        if old is not None:  # what it owned may have gone with another
            DELETE_COLLECTION.turn_to(request, old)
            yield old
    request.outcome = Outcome(200, page=page)


def _take_options(request: Request) -> None:
    """Reads the options, which the audit log has if they were sent as a body."""
    request.options = options.of_delete(request)
    warning = request.cluster.strategy(request.info).orphan_warning
    if warning and not _POLICIES & request.options.keys():
        request.warnings.append(warning)
    if request.audit is not None and request.call.body not in (None, b""):
        request.audit.patched({**_SENT_AS, **request.options})


def _page(request: Request) -> Page:
    asked = listoptions.of_list(request.call)
    selection = listing.select(request)
    _take_options(request)
    if request.options.get(options.IGNORE_READ_ERROR):
        raise unreadable.not_with_collections()
    request.gate = "etcd"
    listing.check_fresh(request, asked.at_least)
    return listing.page(request, selection, asked)


def finish(
    request: Request, info: ResourceInfo, old: Object, options_: Object
) -> Decision | Awaitable[Decision]:
    """The delete itself, behind admission."""
    cluster, dry_run = request.cluster, bool(options_.get("dryRun"))
    strategy = cluster.strategy(info)
    grace = strategy.grace_seconds(old, options_)
    finalizers = _finalizers(old, options_, strategy.orphans_dependents)
    marked = _marked(cluster, old, grace, finalizers, dry_run)
    if info.key == "namespaces":
        marked = _terminating(cluster, old, finalizers)
    elif info.key == customresources.DEFINITIONS and not meta.is_deleting(old):
        marked = _pending(cluster, old)
    if marked is not None:
        if marked is not old and info.custom is not None:
            return _mark_converted(request, info, old, marked, dry_run)
        return _mark(request, info, old, marked, dry_run)
    if grace is not None and not dry_run:
        marked = _with_mark(cluster, old, grace, finalizers)
        if marked is not old:
            return _mark_and_remove(request, info, old, marked)
    return _remove(request, info, old, dry_run)


def _remove(request: Request, info: ResourceInfo, old: Object, dry_run: bool) -> Decision:
    gone = old if dry_run else request.cluster.storage.remove(info, old)
    request.gone = None if dry_run else old
    answer = gone if info.key in RETURNS_OBJECT else deleted_status(info, old)
    request.outcome = Outcome(200, obj=answer)
    key = info.etcd_key(meta.namespace_of(old), meta.name_of(old))
    return decision.stored("delete", key, meta.revision_of(gone), dry_run=dry_run)


async def _mark_and_remove(
    request: Request, info: ResourceInfo, old: Object, marked: Object
) -> Decision:
    """What may have a grace period is seen to have none any more before it goes. Whoever takes it
    away in between does what was asked."""
    cluster = request.cluster
    decided = _mark(request, info, old, marked, dry_run=False)
    synced = cluster.kernel.spend_time(cluster.options.sync)
    if synced is not None:
        await synced
    stored = cluster.storage.find(info, meta.namespace_of(old), meta.name_of(old))
    if stored is None or meta.uid_of(stored) != meta.uid_of(old):
        return decided
    return _remove(request, info, stored, dry_run=False)


def _mark(
    request: Request, info: ResourceInfo, old: Object, marked: Object, dry_run: bool
) -> Decision:
    stored = old
    if marked is not old:
        stored = request.cluster.storage.update(info, marked, old, dry_run=dry_run)
    request.outcome = Outcome(200, obj=stored)
    key = info.etcd_key(meta.namespace_of(old), meta.name_of(old))
    decided = decision.stored(
        "update", key, meta.revision_of(stored), dry_run=dry_run, unchanged=stored is old
    )
    if decided.verdict == "allow":
        decided.detail["end"] = "marked"
    return decided


async def _mark_converted(
    request: Request, info: ResourceInfo, old: Object, marked: Object, dry_run: bool
) -> Decision:
    await conversions.before_write(request.cluster, info, marked)
    return _mark(request, info, old, marked, dry_run)


def answered(request: Request) -> Outcome | Awaitable[Outcome]:
    """The answer, once what is gone has given back what it had of others."""
    if request.gone is None or request.info.key != allocations.SERVICES:
        return request.outcome
    return _given_back(request, request.gone)


async def _given_back(request: Request, gone: Object) -> Outcome:
    allocations.drop_endpoints(request.cluster, gone)
    await allocations.give_back(request.cluster, gone)
    return request.outcome


# kinds whose delete answers the object itself (ReturnDeletedObject)
RETURNS_OBJECT = tuple(
    """
    pods serviceaccounts services persistentvolumes persistentvolumeclaims resourcequotas
    podtemplates csidrivers.storage.k8s.io csinodes.storage.k8s.io storageclasses.storage.k8s.io
    volumeattachments.storage.k8s.io volumeattributesclasses.storage.k8s.io
    deviceclasses.resource.k8s.io resourceclaims.resource.k8s.io
    resourceclaimtemplates.resource.k8s.io resourceslices.resource.k8s.io
    """.split()
)


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
            info.group,
            info.kind,
            name,
            f"the UID in the precondition ({uid}) does not match the UID in record "
            f"({meta.uid_of(old)}). The object might have been deleted and then recreated",
        )
    have = old["metadata"]["resourceVersion"]
    if revision is not None and revision != have:
        raise errors.conflict(
            info.group,
            info.kind,
            name,
            f"the ResourceVersion in the precondition ({revision}) does not match the "
            f"ResourceVersion in record ({have}). The object might have been modified",
        )


_POLICIES = {"propagationPolicy", "orphanDependents"}


def _finalizers(old: Object, options: Object, orphans: bool) -> list[str]:
    """The finalizers after the propagation policy had its say, or else the kind's default."""
    have = list(old["metadata"].get("finalizers") or ())
    policy = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents") is not None:
        policy = "Orphan" if options["orphanDependents"] else "Background"
    if policy is None and orphans and not {ORPHAN, FOREGROUND}.intersection(have):
        policy = "Orphan"
    if policy is None:
        return have
    have = [name for name in have if name not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        have.append(ORPHAN)
    elif policy == "Foreground":
        have.append(FOREGROUND)
    return have


def _marked(
    cluster: ClusterContext, old: Object, grace: int | None, finalizers: list[str], dry_run: bool
) -> Object | None:
    """The object with its deletion marked; None when nothing holds it and it goes at once. A dry
    run of a graceful delete ends with the mark."""
    if not grace and not finalizers and (grace is None or not dry_run):
        return None
    return _with_mark(cluster, old, grace, finalizers)


def _with_mark(
    cluster: ClusterContext, old: Object, grace: int | None, finalizers: list[str]
) -> Object:
    """The object as it is with this grace; the same one where nothing is to be changed. A grace
    period that runs can only be shortened, and its end stays ahead."""
    metadata, now = old["metadata"], cluster.kernel.now
    deleting = metadata.get("deletionTimestamp")
    was = metadata.get("deletionGracePeriodSeconds") or 0
    if deleting and grace is not None and 0 < was <= grace:
        return old
    new = dict(metadata)
    if finalizers:
        new["finalizers"] = finalizers
    else:
        new.pop("finalizers", None)
    if deleting:
        if grace is not None and grace < was:
            end = meta.parse_time(deleting) + (grace - was) * SECOND
            new["deletionGracePeriodSeconds"] = min(grace, 1) if end < now else grace
            new["deletionTimestamp"] = meta.rfc3339(max(end, now))
        elif finalizers == list(metadata.get("finalizers") or ()):
            return old
        return {**old, "metadata": new}
    seconds = grace or 0
    new["deletionTimestamp"] = meta.rfc3339(now + seconds * SECOND)
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
        "type": "Terminating",
        "status": "True",
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will "
        "begin soon",
    }
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
