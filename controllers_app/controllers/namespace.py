"""The namespace controller: deletes what a terminating namespace contains, then lets it go.

Five seconds after the deletion it deletes the pods, then, when none is left, everything else, and
when nothing is left takes the `kubernetes` finalizer off. What holds it up is said in the
namespace's conditions.

Models kubernetes pkg/controller/namespace/namespace_controller.go and
deletion/namespaced_resources_deleter.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kinds import customresources, kinds
from apiserver_app.machinery.meta import Object, ResourceInfo
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For, Reads

GRACE_SECONDS = 5.0
FINALIZER = "kubernetes"
# how long content with finalizers, or with a grace period of its own, is given at least
FINALIZER_SECONDS = 15

# condition -> (reason, message) when nothing is wrong
_FINE = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered", "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions", "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted", "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers", "All content-preserving finalizers finished",
    ),
}  # fmt: skip


@dataclass(slots=True)
class Remains:
    """What is still there after a pass."""

    counts: dict[str, int] = field(default_factory=dict)  # "pods." -> 2, as upstream writes it
    finalizers: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    seconds: int = 0


class NamespaceController(Controller):
    """Reconciles terminating namespaces, by name."""

    source = "pkg/controller/namespace/namespace_controller.go syncNamespaceFromKey"
    watches = (
        # upstream gives other API servers time to stop creating things in it
        For("namespaces", on=ADDED | UPDATED, when=lambda found: _ends(found), after=GRACE_SECONDS),
        Reads(customresources.DEFINITIONS),
    )
    workers = 10

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._resources = _deletable(kinds.resources(ctx.version, ctx.config))

    async def reconcile(self, key: str) -> Result | None:
        namespace = await self.live("namespaces", "", key)
        if namespace is None:
            return Result("is gone")
        if not meta.is_deleting(namespace):
            return Result("is not being deleted: does nothing")
        if FINALIZER not in (namespace["spec"].get("finalizers") or ()):
            return Result("is finalized already")
        remains = await self._delete_content(key)
        await self._write_conditions(namespace, remains)
        if remains.failures:
            raise errors.internal("; ".join(remains.failures))
        if remains.counts:
            left = ", ".join(f"{name} {count}" for name, count in remains.counts.items())
            return Result(f"waits for what is left: {left}", remains.seconds / 2 + 1)
        await self._finalize(key)
        return Result("nothing is left: finalizes it")

    async def _delete_content(self, namespace: str) -> Remains:
        """Pods first: what else there is (a network policy, say) may protect them to the end."""
        remains = Remains()
        definitions = self.caches[customresources.DEFINITIONS].list()
        custom = [info for info in customresources.established(definitions) if info.namespaced]
        pods = [info for info in self._resources if info.key == "pods"]
        others = [info for info in (*self._resources, *custom) if info.key != "pods"]
        for info in pods:
            await self._delete_all(info, namespace, remains)
        if not remains.counts:
            for info in others:
                await self._delete_all(info, namespace, remains)
        return remains

    async def _delete_all(self, info: ResourceInfo, namespace: str, remains: Remains) -> None:
        try:
            found = (await self.client.list(info.key, namespace)).get("items") or ()
        except errors.ApiError as error:
            if error.code != 404 or not info.stored_version:
                raise
            return  # the definition has gone meanwhile
        if not found:
            return
        for obj in found:
            try:
                if not meta.is_deleting(obj):
                    await self.client.delete(
                        info.key, namespace, meta.name_of(obj),
                        options={"propagationPolicy": "Background"},
                    )  # fmt: skip
            except errors.ApiError as error:
                if error.code not in (404, 409):
                    remains.failures.append(error.message)
        left = (await self.client.list(info.key, namespace)).get("items") or ()
        if not left:
            return
        remains.counts[f"{info.plural}.{info.group}"] = len(left)
        for obj in left:
            for name in obj["metadata"].get("finalizers") or ():
                remains.finalizers[name] = remains.finalizers.get(name, 0) + 1
                remains.seconds = max(remains.seconds, FINALIZER_SECONDS)
            grace = int(obj["metadata"].get("deletionGracePeriodSeconds") or 0)
            remains.seconds = max(remains.seconds, grace)

    async def _write_conditions(self, namespace: Object, remains: Remains) -> None:
        known = {
            item["type"]: item for item in (namespace.get("status") or {}).get("conditions") or ()
        }
        conditions = []
        for kind in _FINE:
            status, reason, message = _judge(kind, remains)
            before = known.get(kind)
            if before is not None and (before["status"], before.get("message")) == (
                status, message,
            ):  # fmt: skip
                conditions.append(before)
                continue
            conditions.append(
                {
                    "type": kind,
                    "status": status,
                    "lastTransitionTime": meta.rfc3339(self.kernel.now),
                    "reason": reason,
                    "message": message,
                }
            )
        status_now = {**(namespace.get("status") or {}), "conditions": conditions}
        if status_now != namespace.get("status"):
            await self.client.update(
                "namespaces", "", meta.name_of(namespace),
                {**namespace, "status": status_now}, subresource="status",
            )  # fmt: skip

    async def _finalize(self, name: str) -> None:
        namespace = await self.client.get("namespaces", "", name)
        left = [item for item in namespace["spec"].get("finalizers") or () if item != FINALIZER]
        await self.client.update(
            "namespaces", "", name, meta.with_path(namespace, ("spec", "finalizers"), left),
            subresource="finalize",
        )  # fmt: skip


def _ends(namespace: Object) -> bool:
    return meta.is_deleting(namespace) and bool(namespace["spec"].get("finalizers"))


def _judge(kind: str, remains: Remains) -> tuple[str, str, str]:
    """(status, reason, message) of one condition."""
    if kind == "NamespaceDeletionContentFailure" and remains.failures:
        text = ", ".join(remains.failures)
        return (
            "True", "ContentDeletionFailed",
            f"Failed to delete all resource types, {len(remains.failures)} remaining: {text}",
        )  # fmt: skip
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
            "True", "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {text}",
        )  # fmt: skip
    reason, message = _FINE[kind]
    return "False", reason, message


def _deletable(resources: tuple[ResourceInfo, ...]) -> tuple[ResourceInfo, ...]:
    """Namespaced resources that can be listed and deleted, each stored thing once."""
    by_storage: dict[str, ResourceInfo] = {}
    for info in resources:
        if info.namespaced and "delete" in info.verbs and "list" in info.verbs:
            by_storage.setdefault(info.storage, info)
    return tuple(by_storage.values())
