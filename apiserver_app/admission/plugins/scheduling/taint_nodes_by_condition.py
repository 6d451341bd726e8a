"""TaintNodesByCondition: new nodes are tainted as not ready.

Models kubernetes plugin/pkg/admission/nodetaint/admission.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.admission.plugin import CREATE, DEFAULTING, Attributes, Plugin, Verdict

NOT_READY = "node.kubernetes.io/not-ready"
EFFECT = "NoSchedule"
_TAINT = {"key": NOT_READY, "effect": EFFECT}


class TaintNodesByCondition(Plugin):
    name = "TaintNodesByCondition"
    concern = DEFAULTING
    handles = (CREATE,)
    resources = ("nodes",)
    mutates = True
    source = "plugin/pkg/admission/nodetaint/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        node = attributes.obj or {}
        spec = node.get("spec")
        taints = (spec or {}).get("taints") or ()
        if any(t.get("key") == NOT_READY and t.get("effect") == EFFECT for t in taints):
            return Verdict("allow", "already tainted as not ready")
        if spec is None:
            return _change("/spec", {"taints": [_TAINT]})
        if taints:
            return _change("/spec/taints/-", _TAINT)
        return _change("/spec/taints", [_TAINT])


def _change(path: str, value: Any) -> Verdict:
    op = {"op": "add", "path": path, "value": value}
    return Verdict("change", "a new node is not ready yet", [op])
