"""The default flow schemas and priority levels of 1.33.

Models kubernetes staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery.releases import Release


class Level(NamedTuple):
    """A priority level; `queues` is (queues, hand size, queue length limit), None rejects."""

    shares: int
    lendable_percent: int
    queues: tuple[int, int, int] | None


class Schema(NamedTuple):
    """A flow schema. Rules are `verbs | groups | resources`, `verbs | url | paths`.

    subjects are "Kind name" or "ServiceAccount namespace/name". A resource rule with a trailing
    `| cluster` column covers cluster-scoped requests too.
    """

    level: str
    precedence: int
    distinguisher: str
    subjects: tuple[str, ...]
    rules: tuple[str, ...]


EXEMPT = "exempt"

LEVELS: dict[str, Level] = {
    "catch-all": Level(5, 0, None),
    EXEMPT: Level(0, 0, None),
    "global-default": Level(20, 50, (128, 6, 50)),
    "leader-election": Level(10, 0, (16, 4, 50)),
    "node-high": Level(40, 25, (64, 6, 50)),
    "system": Level(30, 33, (64, 6, 50)),
    "workload-high": Level(40, 50, (128, 6, 50)),
    "workload-low": Level(100, 90, (128, 6, 50)),
}

SINCE = {"endpoint-controller": Release(24)}  # schemas added after 1.20

_EVERYTHING = ("* | * | * | cluster", "* | url | *")
_EVERYBODY = ("Group system:unauthenticated", "Group system:authenticated")
_KUBE_SYSTEM = "ServiceAccount kube-system/*"
_MANAGER = "User system:kube-controller-manager"
_SCHEDULER = "User system:kube-scheduler"
_LEASES = "get create update | coordination.k8s.io | leases"

SCHEMAS: dict[str, Schema] = {
    "catch-all": Schema("catch-all", 10000, "ByUser", _EVERYBODY, _EVERYTHING),
    "endpoint-controller": Schema(
        "workload-high",
        150,
        "ByUser",
        (
            _MANAGER,
            "ServiceAccount kube-system/endpoint-controller",
            "ServiceAccount kube-system/endpointslicemirroring-controller",
        ),
        ("get create update | core | endpoints",),
    ),
    EXEMPT: Schema(EXEMPT, 1, "", ("Group system:masters",), _EVERYTHING),
    "global-default": Schema("global-default", 9900, "ByUser", _EVERYBODY, _EVERYTHING),
    "kube-controller-manager": Schema(
        "workload-high", 800, "ByNamespace", (_MANAGER,), _EVERYTHING
    ),
    "kube-scheduler": Schema("workload-high", 800, "ByNamespace", (_SCHEDULER,), _EVERYTHING),
    "kube-system-service-accounts": Schema(
        "workload-high", 900, "ByNamespace", (_KUBE_SYSTEM,), _EVERYTHING
    ),
    "probes": Schema(EXEMPT, 2, "", _EVERYBODY, ("get | url | /healthz /readyz /livez",)),
    "service-accounts": Schema(
        "workload-low", 9000, "ByUser", ("Group system:serviceaccounts",), _EVERYTHING
    ),
    "system-leader-election": Schema(
        "leader-election", 100, "ByUser", (_MANAGER, _SCHEDULER, _KUBE_SYSTEM), (_LEASES,)
    ),
    "system-node-high": Schema(
        "node-high",
        400,
        "ByUser",
        ("Group system:nodes",),
        ("* | core | nodes nodes/status | cluster", "* | coordination.k8s.io | leases"),
    ),
    "system-nodes": Schema("system", 500, "ByUser", ("Group system:nodes",), _EVERYTHING),
    "workload-leader-election": Schema(
        "leader-election",
        200,
        "ByUser",
        (_KUBE_SYSTEM,),
        ("get create update | core | endpoints configmaps", _LEASES),
    ),
}
