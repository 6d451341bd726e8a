"""DefaultIngressClass: an Ingress without a class gets the default one.

Models kubernetes plugin/pkg/admission/network/defaultingressclass/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import (
    CREATE,
    DEFAULTING,
    SKIP,
    Attributes,
    Plugin,
    Verdict,
)
from apiserver_app.admission.plugins.storage.storage import newest_default
from apiserver_app.machinery import meta

CLASSES = "ingressclasses.networking.k8s.io"
_DEFAULT = ("ingressclass.kubernetes.io/is-default-class",)
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


class DefaultIngressClass(Plugin):
    name = "DefaultIngressClass"
    concern = DEFAULTING
    handles = (CREATE,)
    resources = ("ingresses.networking.k8s.io",)
    mutates = True
    reads = (CLASSES,)
    source = "plugin/pkg/admission/network/defaultingressclass/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        ingress = attributes.obj
        if ingress is None:
            return SKIP
        if (ingress.get("spec") or {}).get("ingressClassName") is not None:
            return Verdict("allow", "the ingress names its class")
        if _CLASS_ANNOTATION in meta.annotations_of(ingress):
            return Verdict("allow", "the ingress names its class")
        chosen = newest_default(attributes.reader.list(CLASSES), _DEFAULT)
        if chosen is None:
            return Verdict("allow", "no default class here")
        name = meta.name_of(chosen)
        op = {"op": "add", "path": "/spec/ingressClassName", "value": name}
        return Verdict("change", f"{name} is the default class", [op])
