"""The strategy of Namespaces: the finalizer, the name label, and deletion.

A namespace is deleted in two steps: it is Terminating while spec.finalizers has entries; it is
removed once the namespace controller has emptied them through `/finalize`.

Models kubernetes pkg/registry/core/namespace/strategy.go and storage/storage.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import objectmeta

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


class NamespaceStrategy(Strategy):
    name_rule = staticmethod(objectmeta.dns_label)
    selectable = ("status.phase",)
    selects_namespace = False

    def default(self, obj: Object) -> None:
        _set_label(obj)
        if obj.get("spec") is None:
            obj["spec"] = {}
        status = obj.get("status")
        if status is None:
            status = obj["status"] = {}
        if not status.get("phase"):
            status["phase"] = "Active"
            gofields.arrange(status, "core.v1.NamespaceStatus")
        gofields.arrange(obj, "core.v1.Namespace")

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = obj["spec"].get("finalizers") or []
        if FINALIZER not in finalizers:
            obj["spec"]["finalizers"] = [*finalizers, FINALIZER]
        _set_label(obj)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        _finalizers(obj, errs)
        return errs

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """An update changes only the metadata, `/finalize` only spec.finalizers."""
        obj["status"] = old.get("status") or {}
        if ctx.subresource == "finalize":
            obj["metadata"] = {
                **old["metadata"],
                "resourceVersion": obj["metadata"].get("resourceVersion"),
            }
            return
        obj["spec"] = old.get("spec") or {}
        _set_label(obj)

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        if ctx.subresource == "finalize":
            _finalizers(obj, errs, indexed=True)
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        phase = (obj.get("status") or {}).get("phase") or ""
        deleting = meta.is_deleting(obj)
        if not deleting and phase != "Active":
            text = "may only be 'Active' if `deletionTimestamp` is empty"
            return [errors.invalid_value("status.Phase", phase, text)]
        if deleting and phase != "Terminating":
            text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            return [errors.invalid_value("status.Phase", phase, text)]
        return []


def _set_label(obj: Object) -> None:
    name = obj["metadata"].get("name")
    if not name:
        return
    labels = obj["metadata"].get("labels") or {}
    if labels.get(NAME_LABEL) != name:
        obj["metadata"]["labels"] = dict(sorted({**labels, NAME_LABEL: name}.items()))


def _finalizers(obj: Object, errs: list[FieldError], *, indexed: bool = False) -> None:
    for index, finalizer in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
        path = f"spec.finalizers[{index}]" if indexed else "spec.finalizers"
        for text in names.qualified_name_errors(finalizer):
            errs.append(errors.invalid_value(path, finalizer, text))
        if "/" not in finalizer and finalizer not in objectmeta.STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            errs.append(errors.invalid_value(path, finalizer, text))
