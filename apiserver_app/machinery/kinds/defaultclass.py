"""Which class of storage an object names, and which class is the default.

Models kubernetes staging/src/k8s.io/component-helpers/storage/volume/helpers.go and
pkg/volume/util/storageclass.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

STORAGE_CLASSES = "storageclasses.storage.k8s.io"
STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DEFAULT_STORAGE_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def storage_class_of(obj: Object) -> str:
    """Returns the storage class of a claim or volume, or ""."""
    annotated = meta.annotations_of(obj).get(STORAGE_CLASS_ANNOTATION)
    return annotated or (obj.get("spec") or {}).get("storageClassName") or ""


def newest_default(classes: Iterable[Object], annotations: Sequence[str]) -> str:
    """Returns the name of the newest class that an annotation makes the default, or ""."""
    defaults = [
        (str(item["metadata"].get("creationTimestamp") or ""), meta.name_of(item))
        for item in classes
        if any(meta.annotations_of(item).get(key) == "true" for key in annotations)
    ]
    newest = max((created for created, _ in defaults), default="")
    return min((name for created, name in defaults if created == newest), default="")
