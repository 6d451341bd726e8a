"""PersistentVolumeLabel: labels cloud disks with their zone. Removed in 1.31.

The simulated cluster has no cloud provider, so cloud disks are refused as upstream refuses them
then; labelled volumes and other kinds of volumes pass.

Models kubernetes plugin/pkg/admission/storage/persistentvolume/label/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import (
    CREATE,
    DEFAULTING,
    SKIP,
    Attributes,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.machinery import meta

ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
TO_COME = "placeholder-for-provisioning"
# (spec field, its field with the disk's name, label in messages, the missing provider)
_CLOUDS = (
    ("awsElasticBlockStore", "volumeID", "AWS EBS volume", "AWS cloud provider for EBS"),
    ("gcePersistentDisk", "pdName", "GCE PD volume", "GCE cloud provider for PD"),
    ("azureDisk", "diskName", "AzureDisk volume", "Azure cloud provider for AzureDisk"),
    ("vsphereVolume", "volumePath", "vSphere Volume", "vSphere cloud provider"),
)


class PersistentVolumeLabel(Plugin):
    name = "PersistentVolumeLabel"
    concern = DEFAULTING
    handles = (CREATE,)
    resources = ("persistentvolumes",)
    mutates = True
    source = "plugin/pkg/admission/storage/persistentvolume/label/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        volume = attributes.obj
        if volume is None:
            return SKIP
        labels = meta.labels_of(volume)
        if any(key in labels for key in ZONES) and any(key in labels for key in REGIONS):
            return Verdict("allow", "the volume has its labels")
        for field, named, label, missing in _CLOUDS:
            disk = (volume.get("spec") or {}).get(field)
            if not disk or disk.get(named) == TO_COME:
                continue
            raise forbidden(
                attributes,
                f"error querying {label} {disk.get(named, '')}: unable to build {missing}",
            )
        return Verdict("allow", "no disk of a cloud")
