"""LimitPodHardAntiAffinityTopology: anti-affinity may exclude pods from a node, not a zone.

Models kubernetes plugin/pkg/admission/antiaffinity/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import RESOURCES, SKIP, Attributes, Plugin, Verdict, forbidden

HOSTNAME = "kubernetes.io/hostname"
_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


class LimitPodHardAntiAffinityTopology(Plugin):
    name = "LimitPodHardAntiAffinityTopology"
    concern = RESOURCES
    resources = ("pods",)
    validates = True
    source = "plugin/pkg/admission/antiaffinity/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        anti = (attributes.obj["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for term in anti.get(_TERMS) or ():
            key = term.get("topologyKey", "")
            if key != HOSTNAME:
                raise forbidden(
                    attributes,
                    "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey "
                    f"{key} but only key {HOSTNAME} is allowed",
                )
        return Verdict("allow", "keeps others off a node at most")
