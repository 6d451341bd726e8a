"""The namespace controller: deletes what a terminating namespace contains, then lets it go.

Five seconds after the deletion it deletes the pods, then, when none is left, everything else, one
collection after the other, and when nothing is left takes the `kubernetes` finalizer off. What
holds it up is said in the namespace's conditions; an aggregated server that does not answer does.

Models kubernetes pkg/controller/namespace/namespace_controller.go and
deletion/namespaced_resources_deleter.go.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object, ResourceInfo
from controllers_app.controllers.workload import podstate
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For, Reads

GRACE_SECONDS = 5.0
FINALIZER = "kubernetes"
SERVICES = "apiservices.apiregistration.k8s.io"
# how long content with finalizers is given
FINALIZER_SECONDS = 15

# condition -> (reason, message) when nothing is wrong
_FINE = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


class Remains(msgspec.Struct):
    """What is still there after a pass."""

    # "pods." -> 2, as upstream writes it
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    finalizers: dict[str, int] = msgspec.field(default_factory=dict)
    undiscovered: str = ""  # the groups whose resources are not known
    failures: list[str] = msgspec.field(default_factory=list)
    seconds: int = 0


class NamespaceController(Controller):
    """Reconciles terminating namespaces, by name."""

    source = "pkg/controller/namespace/namespace_controller.go syncNamespaceFromKey"
    watches = (
        # upstream gives other API servers time to stop creating things in it
        For("namespaces", on=ADDED | UPDATED, when=meta.is_deleting, after=GRACE_SECONDS),
        Reads(customresources.DEFINITIONS),
        Reads(SERVICES, optional=True),
    )
    workers = 10

    async def reconcile(self, key: str) -> Result | None:
        if self.caches["namespaces"].get(key) is None:
            return Result("is gone")
        namespace = await self.live("namespaces", "", key)
        if namespace is None:
            return Result("is gone")
        if not meta.is_deleting(namespace):
            return Result("is not being deleted: does nothing")
        if not namespace["spec"].get("finalizers"):
            return Result("is finalized already")
        remains = Remains(undiscovered=self._undiscovered())
        is_complete = await self._delete_content(key, remains)
        remaining = remains if is_complete else Remains(failures=remains.failures)
        written = await self._write_conditions(namespace, remaining)
        if remains.failures or remains.undiscovered:
            raise errors.internal(
                "; ".join(filter(None, [remains.undiscovered, *remains.failures]))
            )
        if remains.seconds:
            left = ", ".join(f"{name} {count}" for name, count in remains.counts.items())
            # the change of its status brings it back, too
            wait = GRACE_SECONDS if written else remains.seconds / 2 + 1
            return Result(f"waits for what is left: {left}", wait)
        await self._finalize(namespace)
        return Result("nothing is left: finalizes it")

    def _undiscovered(self) -> str:
        """Discovery's message about aggregated servers that do not answer."""
        services = self.caches[SERVICES].list() if SERVICES in self.caches else ()
        stale = []
        for service in services:
            if service["spec"].get("service") and not _is_available(service):
                group_version = f"{service['spec']['group']}/{service['spec']['version']}"
                stale.append(f"{group_version}: stale GroupVersion discovery: {group_version}")
        if not stale:
            return ""
        text = ", ".join(sorted(stale))
        return (
            f"Discovery failed for some groups, {len(stale)} failing: "
            f"unable to retrieve the complete list of server APIs: {text}"
        )

    async def _delete_content(self, namespace: str, remains: Remains) -> bool:
        """Pods first: what else there is (a network policy, say) may protect them to the end.
        Returns whether all were looked at."""
        definitions = self.caches[customresources.DEFINITIONS].list()
        every = _deletable([*self.resources.listed, *customresources.established(definitions)])
        if self.ctx.version.has("OrderedNamespaceDeletion"):
            [pods] = [info for info in every if info.key == "pods"]
            await self._delete_all(pods, namespace, remains)
            if remains.counts:
                return False
            every.remove(pods)
        for info in every:
            await self._delete_all(info, namespace, remains)
            await self.kernel.pause()  # others react while it waits for answers
        return True

    async def _delete_all(self, info: ResourceInfo, namespace: str, remains: Remains) -> None:
        try:
            await self._delete_collection(info, namespace, remains)
        except errors.ApiError as error:
            if error.code not in (404, 405):
                remains.failures.append(error.message)

    async def _delete_collection(
        self, info: ResourceInfo, namespace: str, remains: Remains
    ) -> None:
        """Deletes them with one request, or each of them, and lists what is left."""
        seconds = await self._seconds_of_pods(namespace) if info.key == "pods" else 0
        options = {"propagationPolicy": "Background"}
        if "deletecollection" in info.verbs:
            await self.client.delete_collection(info.key, namespace, options=options)
        else:
            for obj in (await self.client.list(info.key, namespace)).get("items") or ():
                with errors.ignoring("NotFound"):
                    await self.client.delete(
                        info.key, namespace, meta.name_of(obj), options=options
                    )
        left = (await self.client.list(info.key, namespace)).get("items") or ()
        if not left:
            return
        remains.counts[f"{info.plural}.{info.group}"] = len(left)
        for obj in left:
            for name in obj["metadata"].get("finalizers") or ():
                remains.finalizers[name] = remains.finalizers.get(name, 0) + 1
                seconds = seconds or FINALIZER_SECONDS
        if not seconds:
            remains.failures.append(
                f"unexpected items still remain in namespace: {namespace} for gvr: "
                f"{info.group}/{info.version}, Resource={info.plural}"
            )
        remains.seconds = max(remains.seconds, seconds)

    async def _seconds_of_pods(self, namespace: str) -> int:
        """The longest grace period of pods that have not ended."""
        pods = (await self.client.list("pods", namespace)).get("items") or ()
        return max(
            (
                int(pod["spec"].get("terminationGracePeriodSeconds") or 0)
                for pod in pods
                if not podstate.is_finished(pod)
            ),
            default=0,
        )

    async def _write_conditions(self, namespace: Object, remains: Remains) -> bool:
        """Returns whether there was something to write."""
        status = namespace.get("status") or {}
        known = {item["type"]: item for item in status.get("conditions") or ()}
        conditions = []
        for kind in _FINE:
            value, reason, message = _judge(kind, remains)
            before = known.get(kind) or {}
            since = before.get("lastTransitionTime")
            if before.get("status") != value:
                since = meta.rfc3339(self.kernel.now)
            conditions.append(
                {
                    "type": kind,
                    "status": value,
                    "lastTransitionTime": since,
                    "reason": reason,
                    "message": message,
                }
            )
        if conditions == status.get("conditions"):
            return False
        # a refusal is only logged
        with errors.ignoring("Conflict", "NotFound"):
            await self.update_status("namespaces", namespace, {**status, "conditions": conditions})
        return True

    async def _finalize(self, namespace: Object) -> None:
        """Takes its finalizer off; its status is not sent."""
        name = meta.name_of(namespace)
        while True:
            left = [item for item in namespace["spec"]["finalizers"] if item != FINALIZER]
            body = {key: value for key, value in namespace.items() if key != "status"}
            try:
                with errors.ignoring("NotFound"):
                    await self.client.update(
                        "namespaces",
                        "",
                        name,
                        meta.with_path(body, ("spec", "finalizers"), left),
                        subresource="finalize",
                    )
                return
            except errors.ApiError as error:
                if error.reason != "Conflict":
                    raise
            namespace = await self.client.get("namespaces", "", name)


def _judge(kind: str, remains: Remains) -> tuple[str, str, str]:
    """(status, reason, message) of one condition."""
    if kind == "NamespaceDeletionDiscoveryFailure" and remains.undiscovered:
        return "True", "DiscoveryFailed", remains.undiscovered
    if kind == "NamespaceDeletionContentFailure" and remains.failures:
        text = ", ".join(sorted(remains.failures))
        return (
            "True",
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {len(remains.failures)} remaining: {text}",
        )
    if kind == "NamespaceContentRemaining" and remains.counts:
        text = ", ".join(
            f"{name} has {count} resource instances"
            for name, count in sorted(remains.counts.items())
        )
        return "True", "SomeResourcesRemain", f"Some resources are remaining: {text}"
    if kind == "NamespaceFinalizersRemaining" and remains.finalizers:
        text = ", ".join(
            f"{name} in {count} resource instances"
            for name, count in sorted(remains.finalizers.items())
        )
        return (
            "True",
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {text}",
        )
    reason, message = _FINE[kind]
    return "False", reason, message


def _is_available(service: Object) -> bool:
    return conditions.is_true(service.get("status"), "Available")


def _deletable(resources: Iterable[ResourceInfo]) -> list[ResourceInfo]:
    """Namespaced resources that can be deleted, each in the preferred version of its group.

    Upstream's order is that of a Go map. Here groups come as they are served and what is in them
    from its end, so that owned objects go before their owners and their controllers react to that.
    """
    groups: dict[str, dict[str, ResourceInfo]] = {}
    for info in resources:
        if info.namespaced and "delete" in info.verbs:
            groups.setdefault(info.group, {}).setdefault(info.key, info)
    return [info for group in groups.values() for info in reversed(group.values())]
