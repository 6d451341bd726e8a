"""RuntimeClass: a pod's runtime class brings its overhead and where it can run.

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
        found = _class(attributes, name)
        ops: Ops = []
        fixed = (found.get("overhead") or {}).get("podFixed")
        if fixed:
            if spec.get("overhead") and not _equal(spec["overhead"], fixed):
                raise _mismatch(attributes)
            ops.append({"op": "add", "path": "/spec/overhead", "value": fixed})
        ops += _scheduling(attributes, spec, found.get("scheduling") or {})
        return Verdict("change" if ops else "allow", f"runtime class {name}", ops)

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        spec = attributes.obj["spec"]
        name, overhead = spec.get("runtimeClassName"), spec.get("overhead")
        if name is None and not overhead:
            return _NONE
        found = _class(attributes, name) if name is not None else {}
        fixed = (found.get("overhead") or {}).get("podFixed")
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
    found = attributes.reader.get(CLASSES, "", name)
    if found is None:
        raise forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
    return found


def _mismatch(attributes: Attributes) -> Exception:
    return forbidden(
        attributes,
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    )


def _equal(one: Object, other: Object) -> bool:
    return one.keys() == other.keys() and all(
        parse(str(one[key])) == parse(str(other[key])) for key in one
    )


def _scheduling(attributes: Attributes, spec: Object, wanted: Object) -> Ops:
    ops: Ops = []
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (wanted.get("nodeSelector") or {}).items():
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
    more = [one for one in wanted.get("tolerations") or () if one not in have]
    if more:
        ops.append({"op": "add", "path": "/spec/tolerations", "value": [*have, *more]})
    return ops
