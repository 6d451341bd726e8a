"""The default selector of a pod: the selectors of its services and of its owner, together.

It is answered from caches, in the time it takes to look up the pod's labels.

Models kubernetes pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.runtime.informer import InformerFactory

SELECTORS_MAX = 1024


class SelectorCaches:
    """Caches of services, owners and namespaces."""

    def __init__(self, informers: InformerFactory) -> None:
        self._services = informers.informer("services").index("selected", _first_label)
        self._namespaces = informers.informer("namespaces")
        self._owners = {
            ("apps/v1", "ReplicaSet"): informers.informer("replicasets.apps"),
            ("apps/v1", "StatefulSet"): informers.informer("statefulsets.apps"),
            ("v1", "ReplicationController"): informers.informer("replicationcontrollers"),
        }
        self._selectors: dict[tuple[str, str], labels.Selector] = {}

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        stored = self._namespaces.get(namespace)
        return meta.labels_of(stored) if stored is not None else {}

    def default(self, pod: Object) -> labels.Selector | None:
        """All that the pod's services and its owner select by; None when nothing selects it."""
        namespace = meta.namespace_of(pod)
        merged = self._services_of(namespace, meta.labels_of(pod))
        owned = self._owner_selector(namespace, meta.controller_of(pod))
        if owned is None:
            return labels.from_set(dict(sorted(merged.items()))) if merged else None
        if not merged:
            return owned
        by_services = labels.from_set(dict(sorted(merged.items())))
        key = (str(by_services), str(owned))
        selector = self._selectors.get(key)
        if selector is None:
            if len(self._selectors) >= SELECTORS_MAX:
                self._selectors.clear()
            both = dict.fromkeys((*by_services.requirements, *owned.requirements))
            selector = self._selectors[key] = labels.Selector(tuple(both))
        return selector

    def _services_of(self, namespace: str, mine: Mapping[str, str]) -> dict[str, str]:
        merged: dict[str, str] = {}
        for key, value in mine.items():
            for service in self._services.by("selected", f"{namespace}/{key}={value}").values():
                wanted = service["spec"]["selector"]
                if all(mine.get(name) == text for name, text in wanted.items()):
                    merged.update(wanted)
        return merged

    def _owner_selector(self, namespace: str, owner: Object | None) -> labels.Selector | None:
        if owner is None:
            return None
        cache = self._owners.get((owner["apiVersion"], owner["kind"]))
        workload = cache.get(f"{namespace}/{owner['name']}") if cache is not None else None
        if workload is None:
            return None
        selector = workload["spec"].get("selector")
        if owner["kind"] == "ReplicationController":
            return labels.from_set(selector) if selector else None
        parsed = labels.from_label_selector(selector)
        return None if parsed is labels.NOTHING else parsed


def _first_label(service: Object) -> Sequence[str]:
    """A service is filed under one label of its selector: pods that have it are looked at."""
    selector = service["spec"].get("selector")
    if not selector:
        return ()
    key = min(selector)
    return (f"{meta.namespace_of(service)}/{key}={selector[key]}",)
