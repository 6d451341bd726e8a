"""The client through which every component talks to the API server.

A resource is named by its GroupResource string: "pods", "deployments.apps",
"leases.coordination.k8s.io". Every call passes every gate under the component's own identity and
raises errors.ApiError when it is refused. Returned objects are shared: never change them.

Models kubernetes staging/src/k8s.io/client-go/kubernetes and tools/watch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from apiserver_app.machinery.meta import Object

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class WatchEvent(msgspec.Struct, frozen=True):
    type: str  # ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
    object: Object


class Watch(Protocol):
    """An open watch. `next` waits for the next event and returns None once the watch has ended."""

    async def next(self) -> WatchEvent | None: ...

    def stop(self) -> None: ...

    def fills(self, readers: Sequence[str]) -> None:
        """Names the components that read the cache this watch fills, for the trace. Until called,
        the trace names the client."""
        ...


class Client(Protocol):
    """The verbs. `identity` names the component in logs and lanes; it is not a credential."""

    identity: str

    async def get(
        self, resource: str, namespace: str, name: str, *, subresource: str = ""
    ) -> Object: ...

    async def fetch(
        self,
        group_version: str,
        plural: str,
        namespace: str,
        *,
        name: str = "",
        subresource: str = "",
        params: Mapping[str, str] | None = None,
    ) -> Object:
        """Reads from an aggregated API server by path. A refusal whose body is not a Status is
        worded as client-go words it."""
        ...

    async def list(
        self,
        resource: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        from_cache: bool = False,
    ) -> Object:
        """`from_cache`: as a reflector lists, with what the watch cache has."""
        ...

    async def create(
        self, resource: str, namespace: str, obj: Object, *, name: str = "", subresource: str = ""
    ) -> Object: ...

    async def update(
        self, resource: str, namespace: str, name: str, obj: Object, *, subresource: str = ""
    ) -> Object: ...

    async def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: Any,
        *,
        kind: str = STRATEGIC_PATCH,
        subresource: str = "",
    ) -> Object: ...

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
        """Server-side apply, with force."""
        ...

    async def delete(
        self, resource: str, namespace: str, name: str, *, options: Object | None = None
    ) -> Object: ...

    async def delete_collection(
        self, resource: str, namespace: str, *, options: Object | None = None
    ) -> None: ...

    async def watch(
        self,
        resource: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> Watch: ...
