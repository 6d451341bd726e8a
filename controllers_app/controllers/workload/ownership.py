"""Owner references, and claiming children by selector.

An owner adopts objects that match its selector and have no controller, and releases those that no
longer match. It never touches another controller's objects. Before the first adoption it is read
from the API server, so that a deleted owner adopts nothing.

Models kubernetes pkg/controller/controller_ref_manager.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apiserver_app.machinery import client as clients
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime import informer, watches

Matches = Callable[[Object], bool]


def controller_reference(owner: Object) -> Object:
    """The owner reference that a controller sets on what it creates or adopts."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def claim(
    client: clients.Client,
    cache: informer.Informer,
    owner: Object,
    owner_resource: str,
    may_own: Matches = lambda obj: True,
) -> list[Object]:
    """Returns the cached objects of the owner, after adopting and releasing by selector."""
    selector = watches.label_selector(owner)
    claims = Claims(
        client,
        cache.resource,
        owner,
        owner_resource,
        lambda obj: selector.matches(meta.labels_of(obj)) and may_own(obj),
    )
    owned = cache.owned_by(meta.uid_of(owner))
    orphans = cache.orphans(meta.namespace_of(owner))
    return await claims.claim([*owned.values(), *orphans.values()])


class Claims:
    """Claims objects of one resource for an owner, during one reconcile."""

    def __init__(
        self,
        client: clients.Client,
        resource: str,
        owner: Object,
        owner_resource: str,
        matches: Matches,
    ) -> None:
        self._client = client
        self._resource = resource
        self._owner = owner
        self._owner_resource = owner_resource
        self._matches = matches
        self._may_adopt = False

    async def claim(self, candidates: Iterable[Object]) -> list[Object]:
        """Returns the candidates that belong to the owner, after adopting and releasing."""
        return [obj for obj in candidates if await self._claim_object(obj)]

    async def _claim_object(self, obj: Object) -> bool:
        deleting = meta.is_deleting(self._owner)
        controller = meta.controller_of(obj)
        if controller is not None:
            if controller["uid"] != meta.uid_of(self._owner):
                return False
            if self._matches(obj):
                return True
            if not deleting:
                await self._release(obj)
            return False
        if deleting or not self._matches(obj) or meta.is_deleting(obj):
            return False
        return await self._adopt(obj)

    async def _adopt(self, obj: Object) -> bool:
        await self._check_can_adopt()
        reference = controller_reference(self._owner)
        patch = {"metadata": {"uid": meta.uid_of(obj), "ownerReferences": [reference]}}
        return await self._try_patch(obj, patch, "NotFound")

    async def _release(self, obj: Object) -> None:
        reference = {"$patch": "delete", "uid": meta.uid_of(self._owner)}
        patch = {"metadata": {"uid": meta.uid_of(obj), "ownerReferences": [reference]}}
        # Invalid: the object was replaced, or has no such owner any more
        await self._try_patch(obj, patch, "NotFound", "Invalid")

    async def _try_patch(self, obj: Object, patch: Object, *ignored: str) -> bool:
        with errors.ignoring(*ignored):
            await self._client.patch(
                self._resource,
                meta.namespace_of(obj),
                meta.name_of(obj),
                patch,
                kind=clients.STRATEGIC_PATCH,
            )
            return True
        return False

    async def _check_can_adopt(self) -> None:
        """Upstream's canAdopt: raises unless the same owner exists and is not being deleted."""
        if self._may_adopt:
            return
        owner = self._owner
        namespace, name = meta.namespace_of(owner), meta.name_of(owner)
        current = await self._client.get(self._owner_resource, namespace, name)
        kind = owner["kind"]
        if meta.uid_of(current) != meta.uid_of(owner):
            raise errors.conflict(
                "",
                self._owner_resource,
                name,
                f"original {kind} {namespace}/{name} is gone: got uid {meta.uid_of(current)}, "
                f"wanted {meta.uid_of(owner)}",
            )
        if meta.is_deleting(current):
            raise errors.conflict(
                "",
                self._owner_resource,
                name,
                f"{namespace}/{name} has just been deleted at "
                f"{current['metadata']['deletionTimestamp']}",
            )
        self._may_adopt = True
