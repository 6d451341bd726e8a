"""RuntimeClass: adds a runtime class's overhead and scheduling to the pod.

Models kubernetes plugin/pkg/admission/runtimeclass/admission.go.
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
    forbidden,
)
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax.quantity import parse

CLASSES = "runtimeclasses.node.k8s.io"
_NONE = Verdict("allow", "no runtime class")


class RuntimeClass(Plugin):
    name = "RuntimeClass"
    concern = DEFAULTING
    handles = (CREATE,)
    resources = ("pods",)
    mutates = True
    validates = True
    reads = (CLASSES,)
    source = "plugin/pkg/admission/runtimeclass/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        spec = attributes.obj["spec"]
        name = spec.get("runtimeClassName")
        if name is None:
            return _NONE
        runtime_class = _class(attributes, name)
        ops: Ops = []
        fixed = (runtime_class.get("overhead") or {}).get("podFixed")
        if fixed:
            if spec.get("overhead") and not _equal(spec["overhead"], fixed):
                raise _mismatch(attributes)
            ops.append({"op": "add", "path": "/spec/overhead", "value": fixed})
        ops += _scheduling(attributes, spec, runtime_class.get("scheduling") or {})
        return Verdict("change" if ops else "allow", f"runtime class {name}", ops)

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        spec = attributes.obj["spec"]
        name, overhead = spec.get("runtimeClassName"), spec.get("overhead")
        if name is None and not overhead:
            return _NONE
        runtime_class = _class(attributes, name) if name is not None else {}
        fixed = (runtime_class.get("overhead") or {}).get("podFixed")
        if fixed and not _equal(overhead or {}, fixed):
            raise _mismatch(attributes)
        if not fixed and overhead:
            raise forbidden(
                attributes,
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                "Overhead",
            )
        return Verdict("allow", "the overhead is the class's")


def _class(attributes: Attributes, name: str) -> Object:
    runtime_class = attributes.reader.get(CLASSES, "", name)
    if runtime_class is None:
        raise forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
    return runtime_class


def _mismatch(attributes: Attributes) -> Exception:
    return forbidden(
        attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    )


def _equal(first: Object, second: Object) -> bool:
    return first.keys() == second.keys() and all(
        parse(str(first[key])) == parse(str(second[key])) for key in first
    )


def _scheduling(attributes: Attributes, spec: Object, scheduling: Object) -> Ops:
    ops: Ops = []
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise forbidden(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector != (spec.get("nodeSelector") or {}):
        ops.append({"op": "add", "path": "/spec/nodeSelector", "value": selector})
    have = spec.get("tolerations") or []
    more = [
        toleration for toleration in scheduling.get("tolerations") or () if toleration not in have
    ]
    if more:
        ops.append({"op": "add", "path": "/spec/tolerations", "value": [*have, *more]})
    return ops
