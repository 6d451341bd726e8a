"""PodPreset: pods that a preset selects get its variables, mounts and volumes. Gone in 1.20.

Presets that do not fit the pod, or each other, are not applied at all, and the pod passes.

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
    """Two say different things about one name; the text names both."""


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
            one
            for one in attributes.reader.list(PRESETS, attributes.namespace)
            if labels.from_label_selector((one.get("spec") or {}).get("selector")).matches(
                meta.labels_of(pod)
            )
        ]
        if not presets:
            return Verdict("allow", "no preset selects the pod")
        made = copy.deepcopy(pod)
        names = ", ".join(meta.name_of(one) for one in presets)
        try:
            _apply(made, presets)
        except _Conflict as conflict:
            return Verdict("allow", f"not applied, {names} do not fit: {conflict}")
        noted = made["metadata"].setdefault("annotations", {})
        for preset in presets:
            key = f"{PREFIX}/podpreset-{meta.name_of(preset)}"
            noted[key] = preset["metadata"].get("resourceVersion", "")
        ops: Ops = jsonpatch.diff(pod, made)
        return Verdict("change", f"gets what {names} say", ops)


def _apply(pod: Object, presets: Sequence[Object]) -> None:
    spec = pod["spec"]
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            _merge(container, "env", "name", presets)
            _merge(container, "volumeMounts", "name", presets, also="mountPath")
            sources = [one for preset in presets for one in preset["spec"].get("envFrom") or ()]
            if sources:
                container["envFrom"] = [*(container.get("envFrom") or ()), *sources]
    _merge(spec, "volumes", "name", presets)


def _merge(
    holder: Object, field: str, key: str, presets: Sequence[Object], *, also: str = ""
) -> None:
    """What the presets have under `field` comes behind what is there; no name means two things."""
    merged: list[Any] = list(holder.get(field) or ())
    by = {one[key]: one for one in merged}
    by_other = {one[also]: one for one in merged} if also else {}
    for preset in presets:
        for one in preset["spec"].get(field) or ():
            found = by.get(one[key])
            if also and found is None:
                found = by_other.get(one[also])
            if found is None:
                merged.append(one)
                by[one[key]] = one
                if also:
                    by_other[one[also]] = one
            elif found != one:
                where = meta.name_of(preset)
                raise _Conflict(f"merging {field} for {where} has a conflict on {one[key]}")
    if merged:
        holder[field] = merged
