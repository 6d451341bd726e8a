"""DefaultTolerationSeconds: pods stay five minutes on a lost node unless they tolerate it
otherwise.

Models kubernetes plugin/pkg/admission/defaulttolerationseconds/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import DEFAULTING, SKIP, Attributes, Ops, Plugin, Verdict

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
SECONDS = 300
_KEYS = (NOT_READY, UNREACHABLE)
_TOLERATIONS = {
    key: {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}
    for key in _KEYS
}
_BOTH_OPS: Ops = [{"op": "add", "path": "/spec/tolerations", "value": list(_TOLERATIONS.values())}]
_BOTH = Verdict("change", f"leaves a lost node after {SECONDS} s", _BOTH_OPS)


class DefaultTolerationSeconds(Plugin):
    name = "DefaultTolerationSeconds"
    concern = DEFAULTING
    resources = ("pods",)
    mutates = True
    source = "plugin/pkg/admission/defaulttolerationseconds/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        tolerations = attributes.obj["spec"].get("tolerations")
        if not tolerations:
            return _BOTH
        missing = [
            key
            for key in _KEYS
            if not any(
                toleration.get("key", "") in (key, "")
                and toleration.get("effect", "") in ("NoExecute", "")
                for toleration in tolerations
            )
        ]
        if not missing:
            return Verdict("allow", "the pod says itself how long it stays")
        ops: Ops = [
            {"op": "add", "path": "/spec/tolerations/-", "value": _TOLERATIONS[key]}
            for key in missing
        ]
        return Verdict("change", f"leaves a lost node after {SECONDS} s", ops)
