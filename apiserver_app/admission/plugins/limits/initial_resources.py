"""InitialResources: containers without requests get the past usage of their image.

Only in versions before 1.10. The caller provides the usage; without a source, as in upstream
without `--ir-data-source`, nothing is estimated.

Models kubernetes plugin/pkg/admission/initialresources/admission.go (1.8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver_app.admission.plugin import (
    CREATE,
    RESOURCES,
    SKIP,
    Attributes,
    Given,
    Ops,
    Plugin,
    Verdict,
)
from apiserver_app.apis.podresources import every_container
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.patch.jsonpatch import escape

ANNOTATION = "kubernetes.io/initial-resources"
PERCENTILE = 90
SAMPLES_MIN = 30
# (image, "cpu" or "memory") -> what its containers used: millicores or bytes, oldest first
Usage = Callable[[str, str], Sequence[int]]


class InitialResources(Plugin):
    name = "InitialResources"
    concern = RESOURCES
    handles = (CREATE,)
    resources = ("pods",)
    mutates = True
    source = "plugin/pkg/admission/initialresources/admission.go"

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given.usage)

    def admit(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        ops: Ops = []
        notes: list[str] = []
        for path, container in every_container(pod["spec"], ephemeral=False):
            got = self._estimate(path, container, ops)
            if got:
                kind = "init container" if path.startswith("init") else "container"
                notes.append(f"{', '.join(got)} request for {kind} {container['name']}")
        if not notes:
            return Verdict("allow", "nothing is known of what the images use")
        note = f"Initial Resources plugin set: {'; '.join(notes)}"
        ops.append(_annotated(pod, note))
        return Verdict("change", note, ops)

    def _estimate(self, path: str, container: Object, ops: Ops) -> list[str]:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        estimated: dict[str, str] = {}
        for name, unit in (("cpu", "m"), ("memory", "")):
            if name in requests or name in limits:
                continue
            samples = sorted(self._usage(container.get("image", ""), name))
            if len(samples) >= SAMPLES_MIN:
                rank = min(len(samples) * PERCENTILE // 100, len(samples) - 1)
                estimated[name] = f"{samples[rank]}{unit}"
        if estimated:
            merged = {**resources, "requests": {**requests, **estimated}}
            ops.append({"op": "add", "path": f"/spec/{path}/resources", "value": merged})
        return list(estimated)


def _annotated(pod: Object, note: str) -> dict[str, object]:
    if not pod["metadata"].get("annotations"):
        return {"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: note}}
    return {"op": "add", "path": f"/metadata/annotations/{escape(ANNOTATION)}", "value": note}
