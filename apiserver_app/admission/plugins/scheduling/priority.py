"""Priority: resolves a pod's priority class to its value.

Models kubernetes plugin/pkg/admission/priority/admission.go.
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
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Reader

CLASSES = "priorityclasses.scheduling.k8s.io"
LOWER = "PreemptLowerPriority"
_PLAIN_OPS: Ops = [
    {"op": "add", "path": "/spec/priority", "value": 0},
    {"op": "add", "path": "/spec/preemptionPolicy", "value": LOWER},
]
_PLAIN = Verdict("change", "no class: priority 0", _PLAIN_OPS)


class Priority(Plugin):
    name = "Priority"
    concern = DEFAULTING
    resources = ("pods", CLASSES)
    mutates = True
    validates = True
    reads = (CLASSES,)
    source = "plugin/pkg/admission/priority/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        if not attributes.on_pods or attributes.obj is None:
            return SKIP
        spec = attributes.obj["spec"]
        if attributes.operation != CREATE:
            return _keep(spec, (attributes.old or {}).get("spec") or {})
        name = spec.get("priorityClassName")
        priority_class = _class(attributes, name) if name else _default(attributes.reader)
        if priority_class is None:
            value, policy = 0, LOWER
            if "priority" not in spec and "preemptionPolicy" not in spec:
                return _PLAIN
        else:
            value = int(priority_class.get("value") or 0)
            policy = str(priority_class.get("preemptionPolicy") or "")
        _check(attributes, spec, value, policy)
        return _set(spec, priority_class, value, policy)

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.info.key != CLASSES or attributes.obj is None:
            return SKIP
        if not attributes.obj.get("globalDefault"):
            return Verdict("allow", "not a default class")
        other = _default(attributes.reader)
        if other is not None and (
            attributes.operation == CREATE or meta.name_of(other) != meta.name_of(attributes.obj)
        ):
            raise forbidden(
                attributes,
                f"PriorityClass {meta.name_of(other)} is already marked as default. "
                "Only one default can exist",
            )
        return Verdict("allow", "no other class is the default")


def _keep(spec: Object, old: Object) -> Verdict:
    """Keeps the old values when an update omits them."""
    ops: Ops = [
        {"op": "add", "path": f"/spec/{field}", "value": old[field]}
        for field in ("priority", "preemptionPolicy")
        if field in old and field not in spec
    ]
    if not ops:
        return Verdict("allow", "priority stays")
    return Verdict("change", "priority stays as it was", ops)


def _class(attributes: Attributes, name: str) -> Object:
    priority_class = attributes.reader.get(CLASSES, "", name)
    if priority_class is None:
        raise forbidden(attributes, f"no PriorityClass with name {name} was found")
    return priority_class


def _default(reader: Reader) -> Object | None:
    """Returns the default class; the lowest when there are several."""
    defaults = [
        priority_class
        for priority_class in reader.list(CLASSES)
        if priority_class.get("globalDefault")
    ]
    return min(
        defaults, key=lambda priority_class: int(priority_class.get("value") or 0), default=None
    )


def _check(attributes: Attributes, spec: Object, value: int, policy: str) -> None:
    actual = spec.get("priority")
    if actual is not None and actual != value:
        raise forbidden(
            attributes,
            f"the integer value of priority ({actual}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name",
        )
    actual = spec.get("preemptionPolicy")
    if policy and actual is not None and actual != policy:
        raise forbidden(
            attributes,
            f"the string value of PreemptionPolicy ({actual}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )


def _set(spec: Object, priority_class: Object | None, value: int, policy: str) -> Verdict:
    fields: Object = {"priority": value}
    if priority_class is not None:
        fields = {"priorityClassName": meta.name_of(priority_class), **fields}
    if policy:
        fields["preemptionPolicy"] = policy
    ops: Ops = [
        {"op": "add", "path": f"/spec/{field}", "value": item}
        for field, item in fields.items()
        if spec.get(field) != item
    ]
    by = f"class {meta.name_of(priority_class)}" if priority_class is not None else "no class"
    return Verdict("change" if ops else "allow", f"{by}: priority {value}", ops)
