"""What of a pod's object its worker acts on. Pure."""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import status as statuses


def grace(pod: Object) -> int:
    """Grace period of a pod that is being deleted."""
    return int(pod["metadata"].get("deletionGracePeriodSeconds") or 0)


def spec_grace(pod: Object) -> int:
    return int(pod["spec"].get("terminationGracePeriodSeconds", 30))


def goes_at_once(pod: Object) -> bool:
    """Whether the API server removes the pod that is being deleted, and waits for nobody."""
    return not grace(pod) and not pod["metadata"].get("finalizers")


def fields(pod: Object) -> tuple[Object, dict[str, str], list[Object]]:
    """Spec, annotations and the readiness gates' conditions."""
    others: list[Object] = []
    if pod["spec"].get("readinessGates"):
        conditions = (pod.get("status") or {}).get("conditions") or ()
        others = [condition for condition in conditions if condition["type"] not in statuses.OWNED]
    return pod["spec"], meta.annotations_of(pod), others
