"""Storage classes, protection finalizers and expansion of claims and volumes.

DefaultStorageClass, StorageObjectInUseProtection and PersistentVolumeClaimResize.

Models kubernetes plugin/pkg/admission/storage/{storageclass/setdefault,
storageobjectinuseprotection,persistentvolume/resize}/admission.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.admission.plugin import (
    CONSISTENCY,
    CREATE,
    DEFAULTING,
    RESOURCES,
    SKIP,
    UPDATE,
    Attributes,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax.quantity import parse

CLASSES = "storageclasses.storage.k8s.io"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
}


class DefaultStorageClass(Plugin):
    name = "DefaultStorageClass"
    concern = DEFAULTING
    handles = (CREATE,)
    resources = ("persistentvolumeclaims",)
    mutates = True
    reads = (CLASSES,)
    source = "plugin/pkg/admission/storage/storageclass/setdefault/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        claim = attributes.obj
        if claim is None:
            return SKIP
        spec = claim.get("spec") or {}
        if spec.get("storageClassName") is not None:
            return Verdict("allow", "the claim names its class")
        if CLASS_ANNOTATION in meta.annotations_of(claim):
            return Verdict("allow", "the claim names its class")
        chosen = newest_default(attributes.reader.list(CLASSES), _DEFAULT_ANNOTATIONS)
        if chosen is None:
            return Verdict("allow", "no default class here")
        name = meta.name_of(chosen)
        op = {"op": "add", "path": "/spec/storageClassName", "value": name}
        return Verdict("change", f"{name} is the default class", [op])


def newest_default(classes: Sequence[Object], annotations: Sequence[str]) -> Object | None:
    """Returns the newest default class, the first by name among equals."""
    defaults = [
        storage_class
        for storage_class in classes
        if any(meta.annotations_of(storage_class).get(key) == "true" for key in annotations)
    ]
    defaults.sort(key=meta.name_of)
    defaults.sort(
        key=lambda storage_class: storage_class["metadata"].get("creationTimestamp", ""),
        reverse=True,
    )
    return defaults[0] if defaults else None


class StorageObjectInUseProtection(Plugin):
    name = "StorageObjectInUseProtection"
    concern = CONSISTENCY
    handles = (CREATE,)
    resources = ("persistentvolumes", "persistentvolumeclaims")
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
    reads = (CLASSES,)
    source = "plugin/pkg/admission/storage/persistentvolume/resize/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        claim, old = attributes.obj, attributes.old
        if claim is None or old is None:
            return SKIP
        if parse(_size(claim)) <= parse(_size(old)):
            return Verdict("allow", "the claim does not grow")
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        name = class_of(claim)
        storage_class = attributes.reader.get(CLASSES, "", name) if name else None
        if name != class_of(old) or not (storage_class or {}).get("allowVolumeExpansion"):
            raise forbidden(
                attributes,
                "only dynamically provisioned pvc can be resized and the storageclass that "
                "provisions the pvc must support resize",
            )
        return Verdict("allow", f"class {name} allows volumes to grow")


def class_of(claim: Object) -> str:
    """Returns the claim's storage class, or ""."""
    annotated = meta.annotations_of(claim).get(CLASS_ANNOTATION)
    return annotated or (claim.get("spec") or {}).get("storageClassName") or ""


def _size(claim: Object) -> str:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return str((resources.get("requests") or {}).get("storage", "0"))
