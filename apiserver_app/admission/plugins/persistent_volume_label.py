"""PersistentVolumeLabel: a cloud's disk gets the labels of its zone. Gone in 1.31.

The simulated cluster has no cloud provider, so a disk of one is refused as upstream refuses it
then; a volume that has its labels already, and any other kind of volume, passes.

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
# (field of the spec, name of the disk in it, the disk's name in words, what is not there)
_CLOUDS = (
    ("awsElasticBlockStore", "volumeID", "AWS EBS volume", "AWS cloud provider for EBS"),
    ("gcePersistentDisk", "pdName", "GCE PD volume", "GCE cloud provider for PD"),
    ("azureDisk", "diskName", "AzureDisk volume", "Azure cloud provider for AzureDisk"),
    ("vsphereVolume", "volumePath", "vSphere Volume", "vSphere cloud provider"),
)  # fmt: skip


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
        for field, named, word, missing in _CLOUDS:
            disk = (volume.get("spec") or {}).get(field)
            if not disk or disk.get(named) == TO_COME:
                continue
            raise forbidden(
                attributes,
                f"error querying {word} {disk.get(named, '')}: unable to build {missing}",
            )
        return Verdict("allow", "no disk of a cloud")
