"""How much one cluster holds: objects, pods and bytes, in all and in a namespace.

A real cluster's machines set such limits, with a slow API server and a full etcd; here whoever may
create objects shares one machine with everybody else, so the limits have names and are refused as
a quota is. What the cluster needs for itself is not counted against them. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from apiserver_app.machinery import errors

if TYPE_CHECKING:  # the command line reads the defaults, and nothing else
    from apiserver_app.etcd import mvcc
    from apiserver_app.machinery.meta import Object, ResourceInfo

SYSTEM = ("kube-system", "kube-node-lease", "kube-public")
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
REASON = "exceeded limit of the cluster"


class Limits(msgspec.Struct, frozen=True):
    """`objects`, `pods` and `bytes` hold for the whole cluster; those of a namespace for the
    objects of one resource, for its pods, and for the bytes of all its values; that of a pod for
    all its containers."""

    objects: int = 50_000
    pods: int = 3_000
    bytes: int = 128 << 20
    namespace_bytes: int = 24 << 20  # decoded they may take twelve times as much
    namespace_objects: int = 5_000
    namespace_pods: int = 1_500
    pod_containers: int = 50  # of all sorts

    def check_new(self, store: mvcc.Store, info: ResourceInfo, namespace: str, name: str) -> None:
        """Whether there is room for another object. Raises 403."""
        if namespace in SYSTEM:
            return
        is_pod = info.storage == "pods"
        if is_pod:
            _check(info, name, "pods", store.count(info.etcd_prefix("")), self.pods)
        if namespace:
            most = self.namespace_pods if is_pod else self.namespace_objects
            limit = "namespace-pods" if is_pod else "namespace-objects"
            _check(info, name, limit, store.count(info.etcd_prefix(namespace)), most)
        _check(info, name, "objects", store.total(), self.objects)

    def check_size(
        self, store: mvcc.Store, info: ResourceInfo, namespace: str, name: str, more: int
    ) -> None:
        """Whether there is room for so many more bytes. Raises 403."""
        if more <= 0 or namespace in SYSTEM:
            return
        limits = [("bytes", store.bytes, self.bytes)]
        if namespace:
            limits.append(("namespace-bytes", store.bytes_in(namespace), self.namespace_bytes))
        for limit, used, most in limits:
            if used + more > most:
                raise errors.forbidden(
                    info.group,
                    info.plural,
                    name,
                    f"{REASON}: {limit}, requested: {more}, used: {used}, limited: {most}",
                )

    def check_pod(self, info: ResourceInfo, pod: Object) -> None:
        """Whether the pod has no more containers than it may. Raises 403."""
        spec = pod.get("spec") or {}
        count = sum(len(spec.get(kind) or ()) for kind in CONTAINERS)
        if count > self.pod_containers:
            raise errors.forbidden(
                info.group,
                info.plural,
                pod["metadata"]["name"],
                f"{REASON}: pod-containers, requested: {count}, limited: {self.pod_containers}",
            )


def _check(info: ResourceInfo, name: str, limit: str, used: int, most: int) -> None:
    if used >= most:
        raise errors.forbidden(
            info.group,
            info.plural,
            name,
            f"{REASON}: {limit}, requested: 1, used: {used}, limited: {most}",
        )


DEFAULTS: dict[str, int] = {
    name.replace("_", "-"): most for name, most in msgspec.structs.asdict(Limits()).items()
}
