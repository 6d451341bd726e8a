"""What the kinds of storage.k8s.io, node.k8s.io, RBAC and revisions are refused for, word for word.

The rows are facts of kubernetes pkg/apis/storage/validation/validation.go,
pkg/apis/node/validation/validation.go, pkg/apis/rbac/validation/validation.go and
pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.registry.kinds import strategies

STORAGE = "storage.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"
Row = tuple[str, Object, list[str]]


def plain(kind: str, **fields: object) -> Object:
    return strategies.named(kind, STORAGE, "web", namespace=None, **fields)


def driver(**fields: object) -> Object:
    one = {"name": "disk.example.com", "nodeID": "n1", "topologyKeys": [], **fields}
    return plain("CSINode", spec={"drivers": [one]})


def attachment(**spec: object) -> Object:
    fields = {
        "attacher": "disk.example.com",
        "nodeName": "n1",
        "source": {"persistentVolumeName": "pv"},
        **spec,
    }
    return plain("VolumeAttachment", spec=fields)


def runtime(**fields: object) -> Object:
    parts = {"handler": "gvisor", **fields}
    return strategies.named("RuntimeClass", "node.k8s.io/v1", "web", namespace=None, **parts)


def role(kind: str = "ClusterRole", **fields: object) -> Object:
    namespace = None if kind == "ClusterRole" else "default"
    return strategies.named(kind, RBAC, "web", namespace=namespace, **fields)


def tolerating(*tolerations: object) -> Object:
    return runtime(scheduling={"tolerations": list(tolerations)})


CLASSES, DRIVERS = "storageclasses.storage.k8s.io", "csidrivers.storage.k8s.io"
NODES, ATTACHMENTS = "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io"
RUNTIMES, ROLES = "runtimeclasses.node.k8s.io", "clusterroles.rbac.authorization.k8s.io"
LOCAL_ROLES = "roles.rbac.authorization.k8s.io"
ROWS: tuple[Row, ...] = (
    (CLASSES, plain("StorageClass", provisioner="a.b/c"), []),
    (CLASSES, plain("StorageClass"), ["provisioner: Required value"]),
    (
        CLASSES,
        plain("StorageClass", provisioner="a", reclaimPolicy="Recycle", volumeBindingMode="Late"),
        ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
         'volumeBindingMode: Unsupported value: "Late": '
         'supported values: "Immediate", "WaitForFirstConsumer"'],
    ),
    (
        CLASSES,
        plain("StorageClass", provisioner="a", allowedTopologies=[
            {"matchLabelExpressions": [{"key": "zone", "values": []},
                                       {"key": "zone", "values": ["a", "a"]}]}]),
        ["allowedTopologies[0].matchLabelExpressions[0].values: Required value",
         'allowedTopologies[0].matchLabelExpressions[1].values[1]: Duplicate value: "a"',
         'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"'],
    ),
    (DRIVERS, plain("CSIDriver", spec={}), []),
    (
        DRIVERS,
        plain("CSIDriver", spec={"fsGroupPolicy": "All", "volumeLifecycleModes": ["Forever"],
                                 "tokenRequests": [{"audience": "a", "expirationSeconds": 1},
                                                   {"audience": "a"}]}),
        ['spec.fsGroupPolicy: Unsupported value: "All": '
         'supported values: "File", "None", "ReadWriteOnceWithFSType"',
         "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: "
         "may not specify a duration less than 10 minutes",
         'spec.tokenRequests[1].audience: Duplicate value: "a"',
         'spec.volumeLifecycleModes: Unsupported value: "Forever": '
         'supported values: "Persistent", "Ephemeral"'],
    ),
    (NODES, driver(), []),
    (NODES, driver(nodeID=""), ["spec.drivers[0].nodeID: Required value"]),
    (
        NODES,
        driver(allocatable={"count": -1}, topologyKeys=["zone", "zone"]),
        ["spec.drivers[0].allocatable.count: Invalid value: -1: "
         "must be greater than or equal to 0",
         'spec.drivers[0]: Duplicate value: "zone"'],
    ),
    (ATTACHMENTS, attachment(), []),
    (
        ATTACHMENTS,
        attachment(source={}),
        ["spec.source: Required value: "
         "must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
    ),
    (RUNTIMES, runtime(), []),
    (
        RUNTIMES,
        runtime(handler="g_visor"),
        ['handler: Invalid value: "g_visor": a lowercase RFC 1123 label must consist of lower '
         "case alphanumeric characters or '-', and must start and end with an alphanumeric "
         "character (e.g. 'my-name',  or '123-abc', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"],
    ),
    (
        RUNTIMES,
        tolerating({"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Exists"}),
        ['scheduling.tolerations[1]: Duplicate value: core.Toleration{Key:"a", '
         'Operator:"Exists", Value:"", Effect:"", TolerationSeconds:(*int64)(nil)}'],
    ),
    (ROLES, role(rules=[]), []),
    (
        ROLES,
        role(aggregationRule={}),
        ["aggregationRule.clusterRoleSelectors: Required value: "
         "at least one clusterRoleSelector required if aggregationRule is non-nil"],
    ),
    (
        ROLES,
        role(rules=[{"apiGroups": [""], "resources": ["pods"]}, {"verbs": ["get"]}]),
        ["rules[0].verbs: Required value: verbs must contain at least one value",
         "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
         "rules[1].resources: Required value: resource rules must supply at least one resource"],
    ),
    (
        LOCAL_ROLES,
        role("Role", rules=[{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]),
        ['rules[0].nonResourceURLs: Invalid value: []string{"/healthz"}: '
         "namespaced rules cannot apply to non-resource URLs"],
    ),
    (
        "controllerrevisions.apps",
        strategies.named("ControllerRevision", "apps/v1", revision=-1),
        ["revision: Invalid value: -1: must be greater than or equal to 0",
         "data: Required value: data is mandatory"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("key", "obj", "messages"), ROWS)
def test_an_object_is_told_what_is_wrong(key: str, obj: Object, messages: list[str]) -> None:
    assert strategies.create_errors(key, obj) == messages


FIXED: tuple[tuple[str, Object, dict[str, Any], str], ...] = (
    (
        CLASSES, plain("StorageClass", provisioner="a"), {"provisioner": "b"},
        "provisioner: Forbidden: updates to provisioner are forbidden.",
    ),
    (
        RUNTIMES, runtime(), {"handler": "runc"},
        'handler: Invalid value: "runc": field is immutable',
    ),
    (
        DRIVERS, plain("CSIDriver", spec={}),
        {"spec": {"attachRequired": False}},
        "spec.attachedRequired: Invalid value: false: field is immutable",
    ),
    (
        NODES, driver(), driver(nodeID="n2"),
        'spec.drivers: Invalid value: storage.CSINodeDriver{Name:"disk.example.com", '
        'NodeID:"n2", TopologyKeys:[]string{}, Allocatable:(*storage.VolumeNodeResources)(nil)}: '
        "field is immutable",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("key", "obj", "change", "message"), FIXED)
def test_what_is_fixed_stays(key: str, obj: Object, change: dict[str, Any], message: str) -> None:
    old = strategies.created(key, obj)
    new = {**old, **{field: value for field, value in change.items() if field != "metadata"}}

    assert strategies.update_errors(key, new, old) == [message]


def test_coordinated_election_is_off_and_its_fields_of_a_lease_are_dropped() -> None:
    spec = {"holderIdentity": "a", "strategy": "OldestEmulationVersion", "preferredHolder": "b"}
    lease = strategies.named("Lease", "coordination.k8s.io/v1", spec=spec)

    assert strategies.created("leases.coordination.k8s.io", lease)["spec"] == {
        "holderIdentity": "a"
    }
