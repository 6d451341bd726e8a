"""The replica set controller: keeps the desired number of matching pods.

It reads counts that the informer updates at each change of a pod, and walks the pods only to adopt,
release or delete. After its own writes it waits until the cache shows them (expectations).

Models kubernetes pkg/controller/replicaset/replica_set.go and replica_set_utils.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.controllers.workload import ownership, podcontrol, podstate
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import For, Owns, Watch, label_selector

BURST_REPLICAS = 500
STATUS_RETRIES = 1
_CENSUS, _OWNERS = "replicas", "labels"


class Tally(msgspec.Struct):
    """Counts of a replica set's active pods."""

    active: int = 0
    fully_labeled: int = 0
    ready: int = 0
    available: int = 0
    # seconds until a ready pod becomes available, 0 when none is waiting
    wait: float = 0.0


class ReplicaSetController(Controller):
    """Reconciles the objects of `resource`, by default replica sets."""

    source = "pkg/controller/replicaset/replica_set.go syncReplicaSet"
    drawn_at_rest = True
    resource = "replicasets.apps"
    selector_of: Callable[[Object], labels.Selector] = staticmethod(label_selector)
    watches: tuple[Watch, ...] = (
        For(resource, index=indexes.BY_CONTROLLER),
        Owns("pods", "ReplicaSet"),
    )
    pace = (5, 30)

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._pod_control = podcontrol.PodControl(ctx.kernel, ctx.client, ctx.recorder)
        self._sets, self._pods = self.caches[self.resource], self.caches["pods"]
        self._pods.census(_CENSUS, indexes.controller_uid, podstate.replica_facts)
        self._pods.census(_OWNERS, podstate.place_and_labels, podstate.owner_facts)

    async def reconcile(self, key: str) -> Result | None:
        owner = self._sets.get(key)
        if owner is None:
            self.expectations.forget(key)
            return Result("is gone")
        selector = self.selector_of(owner)
        needs_sync = self.expectations.satisfied(key)
        await self._claim(owner, selector)
        tally = self._tally(owner, selector)
        failure: errors.ApiError | None = None
        summary = _idle_summary(owner, tally, needs_sync)
        if needs_sync and not meta.is_deleting(owner):
            summary, failure = await self._manage(key, owner, tally)
        status = self._status(owner, tally, failure)
        if await self._write_status(owner, status):
            summary += "; writes its status"
        summary += self._skipped(owner, selector)
        if failure is not None:
            raise failure
        return Result(summary, requeue_after=tally.wait)

    # -- actual state ---------------------------------------------------------------------------

    async def _claim(self, owner: Object, selector: labels.Selector) -> None:
        """Adopts and releases pods, if the counts show that there are any.

        The counts follow later, with the cache; until then `_tally` checks the selector itself.
        """
        namespace = meta.namespace_of(owner)
        uid = meta.uid_of(owner)
        strays = any(
            active and not selector.matches(dict(pod_labels))
            for active, _, pod_labels in self._pods.count(_CENSUS, uid)
        )
        orphans = indexes.ORPHANS + namespace
        adoptable = not meta.is_deleting(owner) and any(
            active and selector.matches(dict(pod_labels))
            for active, _, pod_labels in self._pods.count(_CENSUS, orphans)
        )
        if not (strays or adoptable):
            return
        claims = ownership.Claims(
            self.client,
            "pods",
            owner,
            self.resource,
            lambda pod: selector.matches(meta.labels_of(pod)),
        )
        groups = [self._pods.owned_by(uid)] if strays else []
        if adoptable:
            groups.append(self._pods.orphans(namespace))
        for group in groups:
            await claims.claim([pod for pod in list(group.values()) if podstate.is_active(pod)])

    def _skipped(self, owner: Object, selector: labels.Selector) -> str:
        """Pods that look like its own and belong to another: it does not act on them."""
        template = (owner["spec"].get("template") or {}).get("metadata") or {}
        wanted = template.get("labels") or {}
        if not selector.matches(wanted):
            return ""
        where = podstate.place_and_labels_of(meta.namespace_of(owner), wanted)
        skipped: dict[str, int] = {}
        for (uid, other), count in self._pods.count(_OWNERS, where).items():
            if uid and uid != meta.uid_of(owner):
                skipped[other] = skipped.get(other, 0) + count
        return "".join(
            f"; {count} skipped: owned by {other}" for other, count in sorted(skipped.items())
        )

    def _tally(self, owner: Object, selector: labels.Selector) -> Tally:
        """Counts the owner's pods, and matching orphans, which have just been adopted."""
        tally = Tally()
        template_labels = ((owner["spec"].get("template") or {}).get("metadata") or {}).get(
            "labels"
        ) or {}
        uid = meta.uid_of(owner)
        groups = [uid]
        if not meta.is_deleting(owner):
            groups.append(indexes.ORPHANS + meta.namespace_of(owner))
        for group in groups:
            counts: Mapping[tuple[bool, bool, tuple[tuple[str, str], ...]], int]
            counts = self._pods.count(_CENSUS, group)
            for (active, ready, pairs), count in counts.items():
                if not active:
                    continue
                pod_labels = dict(pairs)
                if not selector.matches(pod_labels):
                    continue
                tally.active += count
                if ready:
                    tally.ready += count
                if all(pod_labels.get(name) == value for name, value in template_labels.items()):
                    tally.fully_labeled += count
        seconds = owner["spec"].get("minReadySeconds") or 0
        if seconds == 0:
            tally.available = tally.ready
        else:
            self._count_available(tally, uid, seconds)
        return tally

    def _count_available(self, tally: Tally, uid: str, min_ready_seconds: int) -> None:
        """Counts available pods; with minReadySeconds that depends on the time and on each pod."""
        now = self.kernel.now
        soonest: int | None = None
        for pod in self._pods.owned_by(uid).values():
            if not podstate.is_active(pod):
                continue
            available_at = podstate.available_at(pod, min_ready_seconds)
            if available_at is None:
                continue
            if available_at < now:
                tally.available += 1
            elif soonest is None or available_at < soonest:
                soonest = available_at
        if soonest is not None:
            tally.wait = (soonest - now) / SECOND + 0.001

    # -- actions --------------------------------------------------------------------------------

    async def _manage(
        self, key: str, owner: Object, tally: Tally
    ) -> tuple[str, errors.ApiError | None]:
        """Creates or deletes the difference, at most 500 pods at a time."""
        desired = _replicas(owner)
        head = f"wants {desired}, has {tally.active}"
        if tally.active < desired:
            count = min(desired - tally.active, BURST_REPLICAS)
            action, failure = await self._create(key, owner, count)
        elif tally.active > desired:
            count = min(tally.active - desired, BURST_REPLICAS)
            action, failure = await self._delete(key, owner, count)
        else:
            return f"{head}: creates and deletes none", None
        return f"{head}: {action}", failure

    async def _create(
        self, key: str, owner: Object, count: int
    ) -> tuple[str, errors.ApiError | None]:
        pod = podcontrol.pod_from_template(owner["spec"]["template"], owner)
        self.expectations.expect_creations(key, count)

        async def create(_number: int) -> None:
            try:
                await self._pod_control.create(owner, pod)
            except errors.ApiError as error:
                # a terminating namespace accepts no pods; the expectations will expire
                if not podcontrol.is_namespace_terminating(error):
                    raise

        created, failure, batches = await podcontrol.slow_start(self.kernel, count, create)
        if created < count:
            self.expectations.creation_observed(key, count - created)
        sizes = ", ".join(str(size) for size in batches)
        return f"creates {created} (slow start {sizes})", failure

    async def _delete(
        self, key: str, owner: Object, count: int
    ) -> tuple[str, errors.ApiError | None]:
        owned = [
            pod
            for pod in self._pods.owned_by(meta.uid_of(owner)).values()
            if podstate.is_active(pod)
        ]
        victims = podstate.first_to_delete(owned, count, self._related(owner), self.kernel.now)
        self.expectations.expect_deletions(key, [meta.uid_of(pod) for pod in victims])
        deleted, failure = await self._pod_control.delete_all(
            key, owner, victims, self.expectations
        )
        return f"deletes {deleted}", failure

    def _related(self, owner: Object) -> list[Object]:
        """Returns the pods of all sets with the same controller, such as a deployment."""
        controller = meta.controller_of(owner)
        if controller is None:
            return list(self._pods.owned_by(meta.uid_of(owner)).values())
        siblings = self._sets.owned_by(controller["uid"]).values()
        return [
            pod
            for sibling in siblings
            for pod in self._pods.owned_by(meta.uid_of(sibling)).values()
        ]

    # -- the status -----------------------------------------------------------------------------

    def _status(self, owner: Object, tally: Tally, failure: errors.ApiError | None) -> Object:
        """Returns the new status; omits counts of zero, as upstream's encoding does."""
        status: Object = {"replicas": tally.active}
        counts = {
            "fullyLabeledReplicas": tally.fully_labeled,
            "readyReplicas": tally.ready,
            "availableReplicas": tally.available,
            "observedGeneration": owner["metadata"].get("generation", 0),
        }
        status.update({name: count for name, count in counts.items() if count})
        reported = list(conditions.every(owner.get("status")))
        known = conditions.find(owner.get("status"), "ReplicaFailure")
        if failure is not None and known is None:
            short = tally.active < _replicas(owner)
            reported.append(
                {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "lastTransitionTime": meta.rfc3339(self.kernel.now),
                    "reason": "FailedCreate" if short else "FailedDelete",
                    "message": failure.message,
                }
            )
        elif failure is None and known is not None:
            reported.remove(known)
        if reported:
            status["conditions"] = reported
        return status

    async def _write_status(self, owner: Object, status: Object) -> bool:
        """Writes the status if it changed, again on the current object if the cache is stale."""
        if _same_status(owner.get("status") or {}, status):
            return False
        namespace, name = meta.namespace_of(owner), meta.name_of(owner)
        for attempt in range(STATUS_RETRIES + 1):
            try:
                await self.update_status(self.resource, owner, status)
            except errors.ApiError:
                if attempt == STATUS_RETRIES:
                    raise
                owner = await self.client.get(self.resource, namespace, name)
            else:
                await self.kernel.pause()  # the cache shows it before the key comes again
                break
        return True


def _replicas(owner: Object) -> int:
    replicas = owner["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def _same_status(old: Object, new: Object) -> bool:
    """Whether the statuses are equal; a missing count is zero."""
    return {k: v for k, v in old.items() if v} == {k: v for k, v in new.items() if v}


def _idle_summary(owner: Object, tally: Tally, needs_sync: bool) -> str:
    head = f"wants {_replicas(owner)}, has {tally.active}"
    if not needs_sync:
        return f"{head}: waits until the cache shows what it did"
    return f"{head}: is being deleted"
