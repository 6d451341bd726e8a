"""What volumes and claims are refused and warned for, word for word: persistent ones and pods' own.

The rows are facts of kubernetes pkg/apis/core/validation/validation.go,
pkg/api/persistentvolume/util.go and pkg/api/persistentvolumeclaim/util.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from tests.apiserver_app.registry.kinds import strategies

VOLUMES, CLAIMS = "persistentvolumes", "persistentvolumeclaims"
NFS = {"server": "a", "path": "/"}
CSI = {"driver": "d.example.com", "volumeHandle": "h"}
DIFFERS = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims"
)


def volume(*, name: str = "pv", **spec: object) -> Object:
    plain = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec}
    fields = {key: value for key, value in plain.items() if value is not None}
    return strategies.named("PersistentVolume", "v1", name, namespace=None, spec=fields)


def claim(size: str = "1Gi", **spec: object) -> Object:
    plain = {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec,
    }  # fmt: skip
    return strategies.named("PersistentVolumeClaim", "v1", spec=plain)


def label(what: str = "a lowercase RFC 1123 label") -> str:
    """Where the sentence about a name begins."""
    return f"{what} must consist of"


# source of a volume -> what is said
SOURCES: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"nfs": NFS}, []),
    ({}, ["spec: Required value: must specify a volume type"]),
    (
        {"nfs": {"server": "", "path": "a"}},
        ["spec.nfs.server: Required value",
         'spec.nfs.path: Invalid value: "a": must be an absolute path'],
    ),
    (
        {"nfs": NFS, "hostPath": {"path": "/a/.."}, "cephfs": {"monitors": ["m"]}},
        ['spec.hostPath.path: Invalid value: "/a/..": must not contain \'..\'',
         "spec.nfs: Forbidden: may not specify more than 1 volume type",
         "spec.cephFS: Forbidden: may not specify more than 1 volume type"],
    ),
    (
        {"hostPath": {"path": "/a", "type": "Pipe"}},
        ['spec.hostPath.type: Unsupported value: "Pipe": supported values: "", "BlockDevice", '
         '"CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"'],
    ),
    (
        {"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
        ["spec.persistentVolumeReclaimPolicy: Forbidden: "
         "may not be 'recycle' for a hostPath mount of '/'"],
    ),
    (
        {"local": {"path": "/mnt"}},
        ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    ),
    (
        {"local": {"path": "/mnt"}, "nodeAffinity": {}},
        ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
    ),
    (
        {"csi": {"driver": "", "volumeHandle": "", "nodePublishSecretRef": {"name": "s"}}},
        ["spec.csi.driver: Required value",
         f'spec.csi.driver: Invalid value: "": {label("a lowercase RFC 1123 subdomain")}',
         "spec.csi.volumeHandle: Required value",
         "spec.csi.nodePublishSecretRef.namespace: Required value"],
    ),
    (
        {"iscsi": {"targetPortal": "p", "iqn": "abc", "lun": 256, "chapAuthSession": True}},
        ['spec.iscsi.iqn: Invalid value: "abc": '
         "must be valid format starting with iqn, eui, or naa",
         "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
         "spec.iscsi.secretRef: Required value"],
    ),
    (
        {"iscsi": {"targetPortal": "p", "iqn": "iqn.2015-02.example.com", "lun": 1}},
        ['spec.iscsi.iqn: Invalid value: "iqn.2015-02.example.com": must be valid format'],
    ),
    ({"iscsi": {"targetPortal": "p", "iqn": "iqn.2015-02.example.com:test", "lun": 1}}, []),
    ({"iscsi": {"targetPortal": "p", "iqn": "eui.0123456789ABCDEF", "lun": 1}}, []),
    (
        {"iscsi": {"targetPortal": "p" * 64, "iqn": "eui.0123456789ABCDEF", "lun": 1,
                   "initiatorName": "iqn.2015-02.example.com:init"}},
        [f'spec.iscsi.targetportal: Invalid value: "{"p" * 64}": Total length of '
         "<volume name>:<iscsi.targetPortal> must be under 64 characters if "
         "iscsi.initiatorName is specified."],
    ),
    (
        {"fc": {}},
        ["spec.fc.targetWWNs: Required value: "
         "must specify either targetWWNs or wwids, but not both"],
    ),
    (
        {"fc": {"targetWWNs": ["a"], "wwids": ["b"], "lun": -1}},
        ['spec.fc.targetWWNs: Invalid value: []string{"a"}: '
         "targetWWNs and wwids can not be specified simultaneously",
         "spec.fc.lun: Invalid value: -1: must be between 0 and 255, inclusive"],
    ),
    (
        {"awsElasticBlockStore": {"volumeID": "", "partition": 300}},
        ["spec.awsElasticBlockStore.volumeID: Required value",
         "spec.awsElasticBlockStore.partition: Invalid value: 300: "
         "must be between 1 and 255, inclusive"],
    ),
    (
        {"azureDisk": {"diskName": "d", "diskURI": "blob", "kind": "Managed",
                       "cachingMode": "Some"}},
        ['spec.azureDisk.cachingMode: Unsupported value: "Some": '
         'supported values: "None", "ReadOnly", "ReadWrite"',
         'spec.azureDisk.diskURI: Unsupported value: "blob": supported values: '
         '"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/'
         'disks/{disk-id}"'],
    ),
    (
        {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
        ['spec.flocker: Invalid value: "resource": '
         "datasetName and datasetUUID can not be specified simultaneously",
         "spec.flocker.datasetName: Invalid value: \"a/b\": must not contain '/'"],
    ),
    (
        {"flexVolume": {"driver": "", "options": {"x.kubernetes.io/a": "b"}}},
        ["spec.flexVolume.driver: Required value",
         'spec.flexVolume.options[x.kubernetes.io/a]: Invalid value: "x.kubernetes.io/a": '
         "kubernetes.io and k8s.io namespaces are reserved"],
    ),
    (
        {"quobyte": {"registry": "host", "volume": ""}},
        ['spec.quobyte.registry: Invalid value: "host": '
         "must be a host:port pair or multiple pairs separated by commas",
         "spec.quobyte.volume: Required value"],
    ),
    (
        {"glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": ""}},
        ['spec.glusterfs.endpointsNamespace: Invalid value: "": '
         "if the endpointnamespace is set, it must be a valid namespace name"],
    ),
    (
        {"cinder": {"volumeID": "v", "secretRef": {}}},
        ["spec.cinder.secretRef.name: Required value",
         "spec.cinder.secretRef.namespace: Required value"],
    ),
    (
        {"scaleIO": {"gateway": "", "system": "s", "volumeName": "", "secretRef": {}}},
        ["spec.scaleIO.gateway: Required value", "spec.scaleIO.volumeName: Required value"],
    ),
    (
        {"azureFile": {"secretName": "s", "shareName": "", "secretNamespace": ""}},
        ["spec.azureFile.shareName: Required value",
         "spec.azureFile.secretNamespace: Required value"],
    ),
    (
        {"nfs": NFS, "capacity": {"storage": "-1"}},
        ["spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
         'spec.capacity[storage]: Invalid value: "-1": must be greater than zero'],
    ),
    (
        {"nfs": NFS, "volumeMode": "Raw", "persistentVolumeReclaimPolicy": "Burn"},
        ['spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": '
         'supported values: "Delete", "Recycle", "Retain"',
         'spec.volumeMode: Unsupported value: "Raw": supported values: "Block", "Filesystem"'],
    ),
)  # fmt: skip


def begins(said: list[str], told: list[str]) -> bool:
    return len(said) == len(told) and all(
        one.startswith(word) for one, word in zip(said, told, strict=True)
    )


@pytest.mark.parametrize(("spec", "messages"), SOURCES)
def test_a_volume_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    said = strategies.create_errors(VOLUMES, volume(**spec))

    assert begins(said, messages), said


def test_a_volume_of_a_pod_follows_the_same_rules() -> None:
    volumes = [
        {"name": "a", "gcePersistentDisk": {"pdName": ""}},
        {"name": "b", "gitRepo": {"repository": "r", "directory": "/a"}},
        {"name": "c", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "_"}}},
        {"name": "d", "nfs": NFS, "emptyDir": {}},
        {"name": "e", "ephemeral": {}},
        {"name": "f", "ephemeral": {"volumeClaimTemplate": {
            "metadata": {"name": "x"}, "spec": {"accessModes": ["Once"]}}}},
    ]  # fmt: skip

    said = strategies.create_errors("pods", strategies.pod(volumes=volumes))

    at = "spec.volumes[5].ephemeral.volumeClaimTemplate"
    assert begins(said, [
        "spec.volumes[0].persistentDisk.pdName: Required value",
        'spec.volumes[1].gitRepo.directory: Invalid value: "/a": must be a relative path',
        f'spec.volumes[2].csi.name: Invalid value: "_": {label("a lowercase RFC 1123 subdomain")}',
        "spec.volumes[3].nfs: Forbidden: may not specify more than 1 volume type",
        "spec.volumes[4].ephemeral.volumeClaimTemplate: Required value",
        f"{at}.metadata.name: Forbidden: cannot be set",
        f'{at}.spec.accessModes: Unsupported value: "Once": supported values: "ReadOnlyMany", '
        '"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
        f"{at}.spec.resources[storage]: Required value",
    ]), said  # fmt: skip


def test_the_source_of_a_volume_is_fixed_but_for_one_secret() -> None:
    old = strategies.created(VOLUMES, volume(csi=CSI))
    secret = {"name": "s", "namespace": "n"}
    grown = strategies.with_spec(old, csi={**CSI, "controllerExpandSecretRef": secret})
    other = strategies.with_spec(old, csi={**CSI, "volumeHandle": "i"}, volumeMode="Block")

    assert strategies.update_errors(VOLUMES, grown, old) == []
    said = strategies.update_errors(VOLUMES, other, old)
    assert said[0].startswith("spec.persistentvolumesource: Forbidden: ")
    assert said[1:] == ['volumeMode: Invalid value: "Block": field is immutable']


def test_where_a_volume_lies_is_said_once() -> None:
    def at(key: str) -> dict[str, Any]:
        rule = {"key": key, "operator": "In", "values": ["a"]}
        return {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}

    plain = strategies.created(VOLUMES, volume(nfs=NFS))
    old = strategies.with_spec(plain, nodeAffinity=at("failure-domain.beta.kubernetes.io/zone"))
    renamed = strategies.with_spec(plain, nodeAffinity=at("topology.kubernetes.io/zone"))
    other = strategies.with_spec(plain, nodeAffinity=at("kubernetes.io/hostname"))

    assert strategies.update_errors(VOLUMES, old, plain) == []
    assert strategies.update_errors(VOLUMES, renamed, old) == []
    assert strategies.update_errors(VOLUMES, other, old) == [
        "nodeAffinity: Invalid value: "
        "core.VolumeNodeAffinity{Required:(*core.NodeSelector)(0xc000000000)}: "
        "field is immutable, except for updating from beta label to GA"
    ]


def test_volumes_and_claims_are_warned_of_what_is_old() -> None:
    obj = volume(rbd={"monitors": ["m"], "image": "i"}, persistentVolumeReclaimPolicy="Recycle")
    notes = {"volume.beta.kubernetes.io/storage-class": "a"}
    obj["metadata"]["annotations"] = {**notes, "volume.beta.kubernetes.io/mount-options": "ro"}
    asked = claim("1500m")
    asked["metadata"]["annotations"] = notes
    old_class = (
        "metadata.annotations[volume.beta.kubernetes.io/storage-class]: "
        'deprecated since v1.8; use "storageClassName" attribute instead'
    )

    def told(key: str, obj: Object) -> list[str]:
        return strategies.of(key).warnings(strategies.context(), strategies.decoded(key, obj), None)

    assert told(VOLUMES, obj) == [
        old_class,
        "metadata.annotations[volume.beta.kubernetes.io/mount-options]: "
        'deprecated since v1.31; use "mountOptions" attribute instead',
        "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
        "Instead, the recommended approach is to use dynamic provisioning.",
    ]
    assert told(CLAIMS, asked) == [
        old_class,
        'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, '
        "must be an integer",
    ]


SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
OTHER = {"apiGroup": "example.com", "kind": "Backup", "name": "b"}


@pytest.mark.parametrize(
    ("given", "source", "reference"),
    [
        ({"dataSource": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSourceRef": OTHER}, OTHER, OTHER),
        ({"dataSource": OTHER}, None, None),
        ({"dataSourceRef": {**OTHER, "namespace": "n"}}, None, None),
        ({}, None, None),
    ],
)
def test_both_fields_of_a_claims_source_say_the_same(
    given: dict[str, Any], source: object, reference: object
) -> None:
    spec = strategies.created(CLAIMS, claim(**given))["spec"]

    assert (spec.get("dataSource"), spec.get("dataSourceRef")) == (source, reference)


@pytest.mark.parametrize(
    ("given", "messages"),
    [
        (
            {"dataSourceRef": {"kind": "Backup", "name": ""}},
            [f"{path}{text}" for path in ("spec.dataSource", "spec.dataSourceRef") for text in (
                ".name: Required value",
                ': Invalid value: "Backup": must be \'PersistentVolumeClaim\' when referencing '
                "the default apiGroup",
            )],
        ),
        (
            {"dataSource": SNAPSHOT, "dataSourceRef": OTHER},
            ["spec: Invalid value: spec.dataSource: must match dataSourceRef"],
        ),
        (
            {"accessModes": ["ReadWriteOncePod", "ReadWriteMany"], "storageClassName": "A"},
            ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
             'spec.storageClassName: Invalid value: "A": '
             + label("a lowercase RFC 1123 subdomain")],
        ),
        ({"resources": {"requests": {"storage": "0"}}},
         ['spec.resources[storage]: Invalid value: "0": must be greater than zero']),
    ],
)  # fmt: skip
def test_a_claim_is_told_what_is_wrong(given: dict[str, Any], messages: list[str]) -> None:
    said = strategies.create_errors(CLAIMS, claim(**given))

    assert begins(said, messages), said


def bound(size: str = "2Gi", **spec: object) -> Object:
    obj = strategies.created(CLAIMS, claim(size, **spec))
    return {**obj, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        ({"resources": {"requests": {"storage": "3Gi"}}}, []),
        ({"resources": {"requests": {"storage": "1500Mi"}}}, []),
        (
            {"resources": {"requests": {"storage": "1Gi"}}},
            ["spec.resources.requests.storage: Forbidden: "
             "field can not be less than status.capacity"],
        ),
        (
            {"resources": {"requests": {"storage": "2Gi"}, "limits": {"storage": "4Gi"}}},
            [DIFFERS],
        ),
        ({"volumeMode": "Block"},
         [DIFFERS, 'volumeMode: Invalid value: "Block": field is immutable']),
        ({"storageClassName": "other"}, [DIFFERS]),
    ],
)  # fmt: skip
def test_a_bound_claim_may_ask_for_more_and_for_nothing_else(
    change: dict[str, Any], messages: list[str]
) -> None:
    old = bound(storageClassName="slow")

    said = strategies.update_errors(CLAIMS, strategies.with_spec(old, **change), old)

    assert begins(said, messages), said


def test_a_claim_without_class_may_be_given_one() -> None:
    old = bound()

    assert (
        strategies.update_errors(CLAIMS, strategies.with_spec(old, storageClassName="a"), old) == []
    )


def test_a_class_of_attributes_comes_with_1_34_and_is_then_exchanged() -> None:
    ctx = strategies.context()
    asked = claim(volumeAttributesClassName="gold")
    assert "volumeAttributesClassName" not in strategies.created(CLAIMS, asked, ctx)["spec"]

    ctx.version = Release(34)
    old = strategies.created(CLAIMS, asked, ctx)
    old["status"] = {"phase": "Bound"}
    path = "spec.volumeAttributesClassName: Forbidden: update from non-nil value to"
    for value, messages in (
        ("silver", []),
        ("", [f"{path} an empty string is forbidden"]),
        (None, [DIFFERS, f"{path} nil is forbidden"]),
    ):
        new = strategies.with_spec(old, volumeAttributesClassName=value)
        said = strategies.update_errors(CLAIMS, new, old, ctx)
        assert begins(said, messages), said


def test_the_status_of_a_claim_counts_storage_only() -> None:
    old = bound()
    new = {**old, "status": {
        **old["status"],
        "allocatedResources": {"storage": "1Gi", "memory": "1Gi"},
        "allocatedResourceStatuses": {"storage": "Done", "example.com/x": "NodeResizePending"},
    }}  # fmt: skip

    assert strategies.status_errors(CLAIMS, new, old) == [
        'status.allocatedResourceStatus: Unsupported value: "storage": supported values: '
        '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
        '"NodeResizeInfeasible", "NodeResizePending"',
        'status.allocatedResources: Unsupported value: "memory": supported values: "storage"',
    ]
