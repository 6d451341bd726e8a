"""Read access to the watch cache for authorizers and admission plugins.

Upstream they read roles, quotas and the like from informer caches, never from etcd. Here they read
current objects through this interface, without a request; the objects must not be changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from apiserver_app.machinery.meta import Object


class Mark:
    """`revision` grows whenever an object of certain resources changes."""

    __slots__ = ("revision",)

    def __init__(self) -> None:
        self.revision = 0


class Reader(Protocol):
    """Resources by GroupResource string ("pods", "roles.rbac.authorization.k8s.io")."""

    def get(self, resource: str, namespace: str, name: str) -> Object | None: ...

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        """All current objects in key order; none for an unknown resource."""
        ...

    def generation(self, resource: str) -> int:
        """Grows whenever an object of the resource changes; cheap enough for every request."""
        ...

    def mark(self, resources: Iterable[str]) -> Mark:
        """What costs less to look at than the generations of the resources."""
        ...

    def pods_on(self, node: str) -> Iterable[Object]:
        """The pods bound to a node."""
        ...
