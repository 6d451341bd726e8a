"""Protection finalizers and expansion of claims and volumes.

StorageObjectInUseProtection and PersistentVolumeClaimResize.

Models kubernetes plugin/pkg/admission/storage/{storageobjectinuseprotection,
persistentvolume/resize}/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import (
    CONSISTENCY,
    CREATE,
    RESOURCES,
    SKIP,
    UPDATE,
    Attributes,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.machinery.kinds.defaultclass import STORAGE_CLASSES, storage_class_of
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax.quantity import parse

_FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(Plugin):
    name = "StorageObjectInUseProtection"
    concern = CONSISTENCY
    handles = (CREATE,)
    resources = tuple(_FINALIZERS)
    mutates = True
    source = "plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        finalizer = _FINALIZERS[attributes.info.key]
        have = attributes.obj["metadata"].get("finalizers")
        if have and finalizer in have:
            return Verdict("allow", "already protected while in use")
        path = "/metadata/finalizers"
        op = {
            "op": "add",
            "path": f"{path}/-" if have else path,
            "value": finalizer if have else [finalizer],
        }
        return Verdict("change", "protected while in use", [op])


class PersistentVolumeClaimResize(Plugin):
    name = "PersistentVolumeClaimResize"
    concern = RESOURCES
    handles = (UPDATE,)
    resources = ("persistentvolumeclaims",)
    validates = True
    reads = (STORAGE_CLASSES,)
    source = "plugin/pkg/admission/storage/persistentvolume/resize/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        claim, old = attributes.obj, attributes.old
        if claim is None or old is None:
            return SKIP
        if parse(_size(claim)) <= parse(_size(old)):
            return Verdict("allow", "the claim does not grow")
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        name = storage_class_of(claim)
        storage_class = attributes.reader.get(STORAGE_CLASSES, "", name) if name else None
        if name != storage_class_of(old) or not (storage_class or {}).get("allowVolumeExpansion"):
            raise forbidden(
                attributes,
                "only dynamically provisioned pvc can be resized and the storageclass that "
                "provisions the pvc must support resize",
            )
        return Verdict("allow", f"class {name} allows volumes to grow")


def _size(claim: Object) -> str:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return str((resources.get("requests") or {}).get("storage", "0"))
