"""An object that names no class gets the newest default one: of storage or of ingresses.

Models kubernetes plugin/pkg/admission/storage/storageclass/setdefault/admission.go and
plugin/pkg/admission/network/defaultingressclass/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import CREATE, DEFAULTING, SKIP, Attributes, Plugin, Verdict
from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import defaultclass

INGRESS_CLASSES = "ingressclasses.networking.k8s.io"


class DefaultClass(Plugin):
    """Subclasses say which classes there are, and where an object names its own."""

    concern = DEFAULTING
    handles = (CREATE,)
    mutates = True
    noun: str
    field: str  # of the spec, where a class is named
    annotation: str  # the older place
    marks: tuple[str, ...]  # annotations that make a class the default

    def admit(self, attributes: Attributes) -> Verdict:
        obj = attributes.obj
        if obj is None:
            return SKIP
        named = (obj.get("spec") or {}).get(self.field) is not None
        if named or self.annotation in meta.annotations_of(obj):
            return Verdict("allow", f"the {self.noun} names its class")
        name = defaultclass.newest_default(attributes.reader.list(self.reads[0]), self.marks)
        if not name:
            return Verdict("allow", "no default class here")
        op = {"op": "add", "path": f"/spec/{self.field}", "value": name}
        return Verdict("change", f"{name} is the default class", [op])


class DefaultStorageClass(DefaultClass):
    name = "DefaultStorageClass"
    resources = ("persistentvolumeclaims",)
    reads = (defaultclass.STORAGE_CLASSES,)
    source = "plugin/pkg/admission/storage/storageclass/setdefault/admission.go"
    noun = "claim"
    field = "storageClassName"
    annotation = defaultclass.STORAGE_CLASS_ANNOTATION
    marks = defaultclass.DEFAULT_STORAGE_CLASS_ANNOTATIONS


class DefaultIngressClass(DefaultClass):
    name = "DefaultIngressClass"
    resources = ("ingresses.networking.k8s.io",)
    reads = (INGRESS_CLASSES,)
    source = "plugin/pkg/admission/network/defaultingressclass/admission.go"
    noun = "ingress"
    field = "ingressClassName"
    annotation = "kubernetes.io/ingress.class"
    marks = ("ingressclass.kubernetes.io/is-default-class",)
