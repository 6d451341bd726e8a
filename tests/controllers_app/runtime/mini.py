"""A tiny API of dicts with watches, and a probe that keeps what it is told: for unit tests only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import WatchEvent
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.waiting import Mailbox
from tests import builders

START = 1_750_000_000 * 1_000_000


class RecordingProbe:
    """Keeps (seq, kind, span, fields)."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.records: list[tuple[int, str, int, tuple[Any, ...]]] = []

    def tell(self, kind: str, *fields: Any, span: int | None = None) -> int:
        if span is None:
            task = self._kernel.current
            span = task.span if task is not None else 0
        seq = len(self.records) + 1
        self.records.append((seq, kind, span, fields))
        return seq

    async def hop(self, kind: str, *fields: Any, span: int | None = None) -> int:
        return self.tell(kind, *fields, span=span)

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [fields for _, found, _, fields in self.records if found == kind]


class MiniWatch:
    def __init__(self, kernel: Kernel) -> None:
        self.events: Mailbox[WatchEvent] = Mailbox(kernel)

    async def next(self) -> WatchEvent | None:
        return await self.events.get()

    def stop(self) -> None:
        self.events.close()

    def fills(self, readers: Sequence[str]) -> None:
        self.readers = tuple(readers)


class MiniApi:
    """Implements Client for every resource; `calls` counts verbs, `fail` is raised once if set."""

    identity = "test"

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.revision = 0
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.watches: list[tuple[str, MiniWatch]] = []
        self.calls: list[tuple[str, str, str]] = []
        self.fail: errors.ApiError | None = None

    def _enter(self, verb: str, resource: str, name: str) -> None:
        self.calls.append((verb, resource, name))
        if self.fail is not None:
            failure, self.fail = self.fail, None
            raise failure

    def _store(self, resource: str, obj: Object, event: str) -> Object:
        self.revision += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self.revision)}
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        stored = {**obj, "metadata": metadata}
        key = (resource, metadata.get("namespace", ""), metadata["name"])
        if event == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = stored
        for watched, watch in self.watches:
            if watched == resource:
                watch.events.put(WatchEvent(event, stored))
        return stored

    async def fetch(self, group_version: str, plural: str, namespace: str, **more: Any) -> Object:
        raise errors.path_not_found()

    async def get(
        self, resource: str, namespace: str, name: str, *, subresource: str = ""
    ) -> Object:
        self._enter("get", resource, name)
        try:
            return self.objects[resource, namespace, name]
        except KeyError:
            raise errors.not_found("", resource, name) from None

    async def list(
        self,
        resource: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        from_cache: bool = False,
    ) -> Object:
        self._enter("list", resource, "")
        items = [obj for key, obj in sorted(self.objects.items()) if key[0] == resource]
        return {"metadata": {"resourceVersion": str(self.revision)}, "items": items}

    async def create(
        self, resource: str, namespace: str, obj: Object, *, name: str = "", subresource: str = ""
    ) -> Object:
        self._enter("create", resource, meta.name_of(obj))
        if (resource, namespace, meta.name_of(obj)) in self.objects:
            raise errors.already_exists("", resource, meta.name_of(obj))
        return self._store(resource, obj, "ADDED")

    async def update(
        self, resource: str, namespace: str, name: str, obj: Object, *, subresource: str = ""
    ) -> Object:
        self._enter("update", resource, name)
        old = self.objects[resource, namespace, name]
        if obj["metadata"].get("resourceVersion", "") not in (
            "",
            old["metadata"]["resourceVersion"],
        ):
            raise errors.conflict("", resource, name, errors.MODIFIED)
        return self._store(resource, obj, "MODIFIED")

    async def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: Any,
        *,
        kind: str = "",
        subresource: str = "",
    ) -> Object:
        self._enter("patch", resource, name)
        old = self.objects.get((resource, namespace, name))
        if old is None:
            raise errors.not_found("", resource, name)
        return self._store(resource, {**old, **patch}, "MODIFIED")

    async def apply(
        self,
        resource: str,
        namespace: str,
        name: str,
        body: Object,
        *,
        manager: str,
        subresource: str = "",
    ) -> Object:
        return await self.patch(resource, namespace, name, body)

    async def delete(
        self, resource: str, namespace: str, name: str, *, options: Object | None = None
    ) -> Object:
        self._enter("delete", resource, name)
        return self._store(resource, self.objects[resource, namespace, name], "DELETED")

    async def delete_collection(
        self, resource: str, namespace: str, *, options: Object | None = None
    ) -> None:
        raise NotImplementedError

    async def watch(
        self,
        resource: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> MiniWatch:
        self._enter("watch", resource, resource_version)
        watch = MiniWatch(self.kernel)
        self.watches.append((resource, watch))
        return watch


def settle(kernel: Kernel, steps_max: int = 100_000) -> None:
    """Run everything that is ready; fire no timer."""
    kernel.run_ready(steps_max)
    assert not kernel.has_ready(), "does not settle"


def advance(kernel: Kernel, seconds: float) -> None:
    """Let virtual time pass, with all that happens in it."""
    target = kernel.now + int(seconds * 1_000_000)
    settle(kernel)
    while kernel.fire_timer(target, jump=False):
        settle(kernel)
    kernel.advance(target)


def pod(name: str, *, owner: str = "", namespace: str = "default", **labels: str) -> Object:
    made = builders.pod(name, namespace=namespace, labels=labels)
    if owner:
        made["metadata"]["ownerReferences"] = [{"uid": owner, "controller": True}]
    return made
