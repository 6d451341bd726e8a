"""PodPreset: adds variables, mounts and volumes to selected pods. Removed in 1.20.

Presets that conflict with the pod or each other are not applied, and the pod passes.

Models kubernetes plugin/pkg/admission/podpreset/admission.go (1.19).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from apiserver_app.admission.plugin import (
    CREATE,
    DEFAULTING,
    SKIP,
    Attributes,
    Ops,
    Plugin,
    Verdict,
)
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.patch import jsonpatch
from apiserver_app.machinery.syntax import labels

PRESETS = "podpresets.settings.k8s.io"
PREFIX = "podpreset.admission.kubernetes.io"
_MIRROR = "kubernetes.io/config.mirror"


class _Conflict(Exception):
    """Two different values for one name; the message names both."""


class PodPreset(Plugin):
    name = "PodPreset"
    concern = DEFAULTING
    handles = (CREATE,)
    resources = ("pods",)
    mutates = True
    reads = (PRESETS,)
    source = "plugin/pkg/admission/podpreset/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        annotations = meta.annotations_of(pod)
        if _MIRROR in annotations or annotations.get(f"{PREFIX}/exclude") == "true":
            return Verdict("allow", "the pod is left out")
        presets = [
            item
            for item in attributes.reader.list(PRESETS, attributes.namespace)
            if labels.from_label_selector((item.get("spec") or {}).get("selector")).matches(
                meta.labels_of(pod)
            )
        ]
        if not presets:
            return Verdict("allow", "no preset selects the pod")
        changed = copy.deepcopy(pod)
        names = ", ".join(meta.name_of(item) for item in presets)
        try:
            _apply(changed, presets)
        except _Conflict as conflict:
            return Verdict("allow", f"not applied, {names} do not fit: {conflict}")
        noted = changed["metadata"].setdefault("annotations", {})
        for preset in presets:
            key = f"{PREFIX}/podpreset-{meta.name_of(preset)}"
            noted[key] = preset["metadata"].get("resourceVersion", "")
        ops: Ops = jsonpatch.diff(pod, changed)
        return Verdict("change", f"gets what {names} say", ops)


def _apply(pod: Object, presets: Sequence[Object]) -> None:
    spec = pod["spec"]
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            _merge(container, "env", "name", presets)
            _merge(container, "volumeMounts", "name", presets, also="mountPath")
            sources = [
                source for preset in presets for source in preset["spec"].get("envFrom") or ()
            ]
            if sources:
                container["envFrom"] = [*(container.get("envFrom") or ()), *sources]
    _merge(spec, "volumes", "name", presets)


def _merge(
    target: Object, field: str, key: str, presets: Sequence[Object], *, also: str = ""
) -> None:
    """Appends the presets' entries of `field`; equal names must have equal values."""
    merged: list[Any] = list(target.get(field) or ())
    by = {entry[key]: entry for entry in merged}
    by_other = {entry[also]: entry for entry in merged} if also else {}
    for preset in presets:
        for entry in preset["spec"].get(field) or ():
            existing = by.get(entry[key])
            if also and existing is None:
                existing = by_other.get(entry[also])
            if existing is None:
                merged.append(entry)
                by[entry[key]] = entry
                if also:
                    by_other[entry[also]] = entry
            elif existing != entry:
                where = meta.name_of(preset)
                raise _Conflict(f"merging {field} for {where} has a conflict on {entry[key]}")
    if merged:
        target[field] = merged
