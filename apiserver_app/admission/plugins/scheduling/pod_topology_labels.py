"""PodTopologyLabels: copies zone and region from the node a pod is bound to.

Models kubernetes plugin/pkg/admission/podtopologylabels/admission.go.
"""

from __future__ import annotations

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

COPIED = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(Plugin):
    name = "PodTopologyLabels"
    concern = DEFAULTING
    handles = (CREATE,)
    resources = ("pods/binding",)
    mutates = True
    reads = ("nodes",)
    source = "plugin/pkg/admission/podtopologylabels/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        binding = attributes.obj
        if binding is None or (binding.get("target") or {}).get("kind") not in ("Node", "", None):
            return SKIP
        node = attributes.reader.get("nodes", "", (binding.get("target") or {}).get("name", ""))
        if node is None:
            return Verdict("allow", "the node is not known")
        on_node = meta.labels_of(node)
        copied = {key: on_node[key] for key in COPIED if key in on_node}
        if not copied:
            return Verdict("allow", "the node is in no zone")
        labels = {**meta.labels_of(binding), **copied}
        ops: Ops = [{"op": "add", "path": "/metadata/labels", "value": labels}]
        return Verdict("change", "gets the zone of its node", ops)
