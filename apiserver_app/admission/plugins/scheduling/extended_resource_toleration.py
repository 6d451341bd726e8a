"""ExtendedResourceToleration: pods that request a device tolerate its nodes' taint.

Models kubernetes plugin/pkg/admission/extendedresourcetoleration/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import DEFAULTING, SKIP, Attributes, Ops, Plugin, Verdict
from apiserver_app.apis.podresources import every_container, is_extended


class ExtendedResourceToleration(Plugin):
    name = "ExtendedResourceToleration"
    concern = DEFAULTING
    resources = ("pods",)
    mutates = True
    source = "plugin/pkg/admission/extendedresourcetoleration/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        spec = attributes.obj["spec"]
        requested = {
            name
            for _, container in every_container(spec, ephemeral=False)
            for name in (container.get("resources") or {}).get("requests") or ()
            if is_extended(name)
        }
        if not requested:
            return Verdict("allow", "asks for no extended resource")
        have = list(spec.get("tolerations") or ())
        needed = [_toleration(name) for name in sorted(requested)]
        missing = [toleration for toleration in needed if toleration not in have]
        if not missing:
            return Verdict("allow", "tolerates the taints of what it asks for")
        ops: Ops = [{"op": "add", "path": "/spec/tolerations", "value": [*have, *missing]}]
        names = ", ".join(toleration["key"] for toleration in missing)
        return Verdict("change", f"tolerates nodes kept for {names}", ops)


def _toleration(name: str) -> dict[str, str]:
    return {"key": name, "operator": "Exists", "effect": "NoSchedule"}
