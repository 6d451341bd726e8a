"""Who owns whom: owner references, and claiming children by selector.

An owner adopts what matches its selector and has no controller, and releases what it owns but no
longer matches. It never touches what another controller owns. Before the first adoption it reads
itself again past the cache, so that a deleted owner adopts nothing.

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
    """The owner reference that a controller puts into what it creates or adopts."""
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
    """The cached objects that the owner controls, after adopting and releasing by its selector."""
    selector = watches.label_selector(owner)
    claims = Claims(
        client, cache.resource, owner, owner_resource,
        lambda obj: selector.matches(meta.labels_of(obj)) and may_own(obj),
    )  # fmt: skip
    owned = cache.owned_by(meta.uid_of(owner))
    orphans = cache.orphans(meta.namespace_of(owner))
    return await claims.claim([*owned.values(), *orphans.values()])


class Claims:
    """One owner's claim on objects of one resource, for the time of one reconcile."""

    def __init__(
        self,
        client: clients.Client,
        resource: str,
        owner: Object,
        owner_resource: str,
        matches: Matches,
    ) -> None:
        self.adopted = 0
        self.released = 0
        self._client = client
        self._resource = resource
        self._owner = owner
        self._owner_resource = owner_resource
        self._matches = matches
        self._may_adopt = False

    async def claim(self, candidates: Iterable[Object]) -> list[Object]:
        """Those of the candidates that are the owner's, after adopting and releasing."""
        return [obj for obj in candidates if await self._is_ours(obj)]

    async def _is_ours(self, obj: Object) -> bool:
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
        await self._check_self()
        reference = controller_reference(self._owner)
        patch = {"metadata": {"uid": meta.uid_of(obj), "ownerReferences": [reference]}}
        if not await self._patched(obj, patch, "NotFound"):
            return False
        self.adopted += 1
        return True

    async def _release(self, obj: Object) -> None:
        reference = {"$patch": "delete", "uid": meta.uid_of(self._owner)}
        patch = {"metadata": {"uid": meta.uid_of(obj), "ownerReferences": [reference]}}
        # Invalid: it is another object by now, or has no such owner any more
        if await self._patched(obj, patch, "NotFound", "Invalid"):
            self.released += 1

    async def _patched(self, obj: Object, patch: Object, *ignored: str) -> bool:
        with errors.ignoring(*ignored):
            await self._client.patch(
                self._resource, meta.namespace_of(obj), meta.name_of(obj), patch,
                kind=clients.STRATEGIC_PATCH,
            )  # fmt: skip
            return True
        return False

    async def _check_self(self) -> None:
        """Upstream's canAdopt: the owner must still be there, the same one, and not going."""
        if self._may_adopt:
            return
        owner = self._owner
        namespace, name = meta.namespace_of(owner), meta.name_of(owner)
        fresh = await self._client.get(self._owner_resource, namespace, name)
        kind = owner["kind"]
        if meta.uid_of(fresh) != meta.uid_of(owner):
            raise errors.conflict(
                "", self._owner_resource, name,
                f"original {kind} {namespace}/{name} is gone: got uid {meta.uid_of(fresh)}, "
                f"wanted {meta.uid_of(owner)}",
            )  # fmt: skip
        if meta.is_deleting(fresh):
            raise errors.conflict(
                "", self._owner_resource, name,
                f"{namespace}/{name} has just been deleted at "
                f"{fresh['metadata']['deletionTimestamp']}",
            )  # fmt: skip
        self._may_adopt = True
