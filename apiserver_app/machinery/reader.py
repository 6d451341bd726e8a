"""Read access to the watch cache, for the gates that decide from cluster state.

Authorizers and admission plugins read roles, quotas and the like from informer caches upstream,
never from etcd. This is that cache: current objects, without a request, never to be changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from apiserver_app.machinery.meta import Object


class Reader(Protocol):
    """Resources by GroupResource string ("pods", "roles.rbac.authorization.k8s.io")."""

    def get(self, resource: str, namespace: str, name: str) -> Object | None: ...

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        """All current objects, in key order. An unknown resource gives none."""
        ...

    def generation(self, resource: str) -> int:
        """Grows whenever an object of the resource changes; cheap enough to ask every request."""
        ...

    def pods_on(self, node: str) -> Iterable[Object]:
        """The pods bound to a node."""
        ...
