"""The Go types of a pod template, in the order of the internal API, from the table of
`templatehash`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.apis import templatehash
from apiserver_app.machinery.releases import Release

Fields = Sequence[tuple[str, str, str]]

_POD_SPEC = tuple(
    """
    Volumes InitContainers Containers EphemeralContainers RestartPolicy
    TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName
    AutomountServiceAccountToken NodeName SecurityContext ImagePullSecrets Hostname Subdomain
    SetHostnameAsFQDN Affinity SchedulerName Tolerations HostAliases PriorityClassName Priority
    PreemptionPolicy DNSConfig ReadinessGates RuntimeClassName Overhead EnableServiceLinks
    TopologySpreadConstraints OS SchedulingGates ResourceClaims Resources
    """.split()
)
# what a pod cannot name as a volume of its own, and the order of a volume's sources
_VOLUME_ONLY = (
    ("Local", "*LocalVolumeSource", "local"),
    ("CSI", "*CSIPersistentVolumeSource", "csi"),
)
_VOLUMES = tuple(
    """
    GCEPersistentDisk AWSElasticBlockStore HostPath Glusterfs NFS RBD Quobyte ISCSI FlexVolume
    Cinder CephFS FC Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk PortworxVolume
    ScaleIO Local StorageOS CSI
    """.split()
)
_VOLUME_STRUCTS: dict[str, Fields] = {
    "core.v1.LocalVolumeSource": (("Path", "string", "path"), ("FSType", "*string", "fsType")),
    "core.v1.CSIPersistentVolumeSource": (
        ("Driver", "string", "driver"),
        ("VolumeHandle", "string", "volumeHandle"),
        ("ReadOnly", "bool", "readOnly"),
        ("FSType", "string", "fsType"),
        ("VolumeAttributes", "map[string]string", "volumeAttributes"),
    ),
}
_HOST = ("HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers")
_PORT = (("Type", "int", "type"), ("IntVal", "int32", "int"), ("StrVal", "string", "str"))
SCALARS = ("string", "bool", "int32", "int64", "int", "time")


class Types:
    """The Go types of one release, with the structs of the internal API."""

    def __init__(self, version: Release) -> None:
        self._aliases, structs = templatehash.go_structs(version)
        self.structs: dict[str, Fields] = dict(structs)
        spec = {name: (name, kind, key) for name, kind, key in structs["core.v1.PodSpec"]}
        self.structs["core.v1.PodSpec"] = [spec[name] for name in _POD_SPEC if name in spec]
        self.structs["core.v1.PodSecurityContext"] = [
            *(spec[name] for name in _HOST if name in spec),
            *structs["core.v1.PodSecurityContext"],
        ]
        self.structs["intstr.IntOrString"] = _PORT
        self.structs["core.v1.ServiceAccountTokenProjection"] = [
            (name, kind.removeprefix("*"), key)
            for name, kind, key in structs["core.v1.ServiceAccountTokenProjection"]
        ]
        sources = {name: (name, kind, key) for name, kind, key in structs["core.v1.VolumeSource"]}
        volume = list(sources.values())
        volume.insert(volume.index(sources["RBD"]) + 1, sources["Quobyte"])
        volume.pop(len(volume) - 1 - volume[::-1].index(sources["Quobyte"]))
        self.structs["core.v1.VolumeSource"] = volume
        sources |= {name: (name, kind, key) for name, kind, key in _VOLUME_ONLY}
        self.structs["core.v1.PersistentVolumeSource"] = [sources[name] for name in _VOLUMES]
        self.structs.update(_VOLUME_STRUCTS)

    def resolve(self, name: str, package: str) -> tuple[str, str, str]:
        """(kind, package of what is inside, full name) of a type as the table writes it."""
        if name.startswith("*"):
            return "pointer", package, name
        if name.startswith("[]"):
            return "slice", package, name
        if name.startswith("map["):
            return "map", package, name
        if name in SCALARS:
            return "scalar", package, name
        full = name.replace("metav1.", "meta.v1.", 1) if "." in name else f"{package}.{name}"
        full = full.replace("core.", "core.v1.", 1) if full.count(".") == 1 else full
        if full.startswith("core.v1.v1."):
            full = full.replace("core.v1.v1.", "core.v1.", 1)
        if full in self.structs:
            return "struct", full.rpartition(".")[0], full
        if "IntOrString" in full:
            return "struct", package, "intstr.IntOrString"
        target = self._aliases.get(full, "string")
        if "Quantity" in full:
            return "scalar", package, "resource.Quantity"
        if target.startswith(("map[", "[]")):
            kind = "map" if target.startswith("map[") else "slice"
            return kind, package, f"{full}={target}"
        return "scalar", package, target


def fields_of(full: str, value: Any) -> dict[str, Any]:
    """A struct's fields; a port or percentage is one of three."""
    if full != "intstr.IntOrString":
        return value or {}
    if isinstance(value, str):
        return {"type": 1, "str": value}
    return {"type": 0, "int": value or 0}
