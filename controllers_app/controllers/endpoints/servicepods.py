"""What the endpoints and endpoint slice controllers share: which pods belong to which service,
the ports they serve it on, and when the last change began.

Models kubernetes staging/src/k8s.io/endpointslice/util and pkg/controller/util/endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import podstate
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Context, Controller
from controllers_app.runtime.watches import DELETED, UPDATED, For, Watch, Watches

SLICES = "endpointslices.discovery.k8s.io"
HEADLESS = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


def slices(index: str, owner: Callable[[Object], tuple[str, ...]]) -> Watches:
    """Watches the slices of an owner, by an index of them. Somebody else's change is undone."""
    return Watches(
        SLICES,
        on=UPDATED | DELETED,
        index=(index, owner),
        changed=lambda old, item: (
            old["metadata"].get("generation") != item["metadata"].get("generation")
        ),
        keys=lambda self, item: owner(item),
    )


class ServiceController(Controller):
    """Reconciles services: when one changes, and when a pod that it selects does."""

    watches: tuple[Watch, ...] = (
        For("services", index=indexes.BY_NAMESPACE),
        Watches(
            "pods",
            index=indexes.BY_NAMESPACE,
            keys=lambda self, pod: self._services_of(pod),
            update_keys=lambda self, old, pod: self._services_to_update(old, pod),
        ),
    )
    retries_max = 15
    pace = (1, 20)

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.services, self.pods = self.caches["services"], self.caches["pods"]
        self.triggers = Triggers()

    def selected(self, service: Object) -> list[Object]:
        """The pods the service selects, in the order of their names."""
        selector = service["spec"]["selector"]
        pods = self.pods.by("namespace", meta.namespace_of(service))
        return [pod for _, pod in sorted(pods.items()) if _matches(selector, pod)]

    def _services_of(self, pod: Object) -> list[str]:
        services = self.services.by("namespace", meta.namespace_of(pod))
        return [
            key
            for key, service in sorted(services.items())
            if service["spec"].get("selector") and _matches(service["spec"]["selector"], pod)
        ]

    def _services_to_update(self, old: Object, pod: Object) -> Iterable[str]:
        if not self.services.by("namespace", meta.namespace_of(pod)):
            return ()
        if meta.labels_of(old) != meta.labels_of(pod):
            return [*self._services_of(pod), *self._services_of(old)]
        return self._services_of(pod) if _relevant(old) != _relevant(pod) else ()


class Triggers:
    """When the change that an endpoints object shows began: for measuring how long it took."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, str]] = {}
        self._services: dict[str, str] = {}

    def earliest_change(self, key: str, service: Object, pods: Iterable[Object]) -> str:
        """The earliest trigger that is new since the last call; empty when none is."""
        before = self._pods.get(key, {})
        now: dict[str, str] = {}
        changed = []
        for pod in pods:
            condition = conditions.find(pod.get("status"), "Ready")
            moment = (condition or {}).get("lastTransitionTime")
            if not moment:
                continue
            name = meta.name_of(pod)
            now[name] = moment
            if moment > before.get(name, ""):
                changed.append(moment)
        created = service["metadata"].get("creationTimestamp", "")
        if created > self._services.get(key, ""):
            changed.append(created)
        self._pods[key] = now
        self._services[key] = created
        return min(changed, default="")

    def forget(self, key: str) -> None:
        self._pods.pop(key, None)
        self._services.pop(key, None)


def is_managed(service: Object) -> bool:
    """Its endpoints are worked out from a selector."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def is_headless(service: Object) -> bool:
    return bool(service["spec"].get("clusterIP") == "None")


def belongs(pod: Object, *, terminating: bool) -> bool:
    """It may be an endpoint: it has an address and has not ended."""
    if not (pod.get("status") or {}).get("podIP") or podstate.is_finished(pod):
        return False
    return terminating or not meta.is_deleting(pod)


def target(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {
        "kind": "Pod",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def port_of(pod: Object, service_port: Object) -> int | None:
    """The number behind a service's target port in this pod; None when it has no such port."""
    wanted: Any = service_port.get("targetPort") or service_port.get("port")
    if isinstance(wanted, int):
        return wanted
    protocol = service_port.get("protocol", "TCP")
    spec = pod["spec"]
    sidecars = [
        item for item in spec.get("initContainers") or () if item.get("restartPolicy") == "Always"
    ]
    for container in [*spec.get("containers", ()), *sidecars]:
        for port in container.get("ports") or ():
            if port.get("name") == wanted and port.get("protocol", "TCP") == protocol:
                return int(port["containerPort"])
    return None


def _matches(selector: dict[str, str], pod: Object) -> bool:
    labels = meta.labels_of(pod)
    return all(labels.get(name) == value for name, value in selector.items())


def _relevant(pod: Object) -> tuple[Any, ...]:
    """All of a pod that an endpoint shows, or that decides whether there is one."""
    status = pod.get("status") or {}
    spec = pod["spec"]
    return (
        status.get("podIPs"),
        status.get("phase"),
        podstate.is_ready(pod),
        meta.is_deleting(pod),
        spec.get("nodeName"),
        spec.get("hostname"),
        spec.get("subdomain"),
        meta.uid_of(pod),
    )
