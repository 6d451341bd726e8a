"""Which kinds have behaviour of their own. Adding one touches its file, this tuple and its test.

Models kubernetes pkg/registry/*/rest/storage_*.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.registry.kinds import (
    configmap,
    deployment,
    event,
    lease,
    namespace,
    node,
    pod,
    replicaset,
    secret,
    service,
    serviceaccount,
)
from apiserver_app.registry.strategy import Strategy

KINDS: tuple[tuple[str, type[Strategy]], ...] = (
    ("configmaps", configmap.ConfigMapStrategy),
    ("events", event.EventStrategy),
    ("namespaces", namespace.NamespaceStrategy),
    ("nodes", node.NodeStrategy),
    ("pods", pod.PodStrategy),
    ("secrets", secret.SecretStrategy),
    ("serviceaccounts", serviceaccount.ServiceAccountStrategy),
    ("services", service.ServiceStrategy),
    ("deployments.apps", deployment.DeploymentStrategy),
    ("replicasets.apps", replicaset.ReplicaSetStrategy),
    ("leases.coordination.k8s.io", lease.LeaseStrategy),
    ("events.events.k8s.io", event.EventStrategy),
)


def strategies(
    resources: Iterable[ResourceInfo],
) -> dict[tuple[str, str, str], Strategy]:
    """A strategy for every resource, by group, version and plural."""
    classes = dict(KINDS)
    return {
        (info.group, info.version, info.plural): classes.get(info.key, Strategy)(info)
        for info in resources
    }
