"""The endpoints controller: one Endpoints object for each service that selects pods.

Models kubernetes pkg/controller/endpoint/endpoints_controller.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.endpoints import servicepods
from controllers_app.controllers.workload import podcontrol, podstate
from controllers_app.runtime.controller import Context, Result
from controllers_app.runtime.watches import DELETED, Watches, own_key

ADDRESSES_MAX = 1000
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
MANAGED_BY = "endpoints.kubernetes.io/managed-by"


class EndpointsController(servicepods.ServiceController):
    """Reconciles services."""

    source = "pkg/controller/endpoint/endpoints_controller.go syncService"
    watches = (
        *servicepods.ServiceController.watches,
        Watches("endpoints", on=DELETED, keys=own_key),
    )

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._endpoints = self.caches["endpoints"]
        self._labelled = ctx.version.has("EndpointsManagedByLabel")

    async def reconcile(self, key: str) -> Result | None:
        service = self.services.get(key)
        namespace, name = meta.split_key(key)
        if service is None:
            self.triggers.forget(key)
            with errors.ignoring("NotFound"):  # the API server deletes them with the service
                await self.client.delete("endpoints", namespace, name)
            return Result("is gone")
        if not servicepods.is_managed(service):
            return Result("has no selector: does nothing")
        pods = self.selected(service)
        trigger = self.triggers.earliest_change(key, service, pods)
        subsets, over = _truncated(_subsets(service, pods))
        known = self._endpoints.get(key)
        annotations = _annotations(known, trigger, over)
        wanted = self._object(service, subsets, annotations)
        if known is not None and _shown(known) == _shown(wanted):
            return Result(f"selects {len(pods)} pods: nothing to do")
        try:
            await self._write(namespace, name, known, wanted)
        except errors.ApiError as error:
            if not podcontrol.is_namespace_terminating(error):
                if known is None:
                    self._tell_failure(service, "create", error)
                raise
        return Result(f"selects {len(pods)} pods: {'updates' if known else 'creates'} endpoints")

    async def _write(self, namespace: str, name: str, known: Object | None, wanted: Object) -> None:
        if known is None:
            await self.client.create("endpoints", namespace, wanted)
            return
        metadata = {**known["metadata"], **wanted["metadata"]}
        await self.client.update("endpoints", namespace, name, {**wanted, "metadata": metadata})

    def _object(
        self, service: Object, subsets: list[Object], annotations: dict[str, str]
    ) -> Object:
        labels = dict(meta.labels_of(service))
        labels.pop(servicepods.HEADLESS, None)
        if servicepods.is_headless(service):
            labels[servicepods.HEADLESS] = ""
        if self._labelled:
            labels[MANAGED_BY] = "endpoint-controller"
        metadata = {"name": meta.name_of(service), "labels": labels, "annotations": annotations}
        out: Object = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
        if subsets:
            out["subsets"] = subsets
        return out

    def _tell_failure(self, service: Object, verb: str, error: errors.ApiError) -> None:
        key = f"{meta.namespace_of(service)}/{meta.name_of(service)}"
        self.recorder.event(
            {**service, "apiVersion": "v1", "kind": "Endpoints"},
            "Warning",
            f"FailedTo{verb.capitalize()}Endpoint",
            f"Failed to {verb} endpoint for service {key}: {error.message}",
        )


def _annotations(known: Object | None, trigger: str, over: bool) -> dict[str, str]:
    """Those that are there, with the time of the last change and whether there are too many."""
    annotations = dict(meta.annotations_of(known)) if known is not None else {}
    wanted_annotations = {
        servicepods.TRIGGER_TIME: trigger,
        OVER_CAPACITY: "truncated" if over else "",
    }
    for name, text in wanted_annotations.items():
        annotations.pop(name, None)
        if text:
            annotations[name] = text
    return annotations


def _shown(endpoints: Object) -> tuple[Any, ...]:
    """What is a reason to write when it differs."""
    is_over = OVER_CAPACITY in meta.annotations_of(endpoints)
    return endpoints.get("subsets") or [], meta.labels_of(endpoints), is_over


def _subsets(service: Object, pods: list[Object]) -> list[Object]:
    """Addresses by the ports they serve, ready apart from not ready, all in order."""
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    groups: dict[tuple[Any, ...], tuple[list[Object], list[Object]]] = {}
    for pod in pods:
        if not servicepods.belongs(pod, terminating=publish):
            continue
        ready = publish or podstate.is_ready(pod)
        address = _address(service, pod)
        for ports in _port_groups(service, pod):
            pair = groups.setdefault(ports, ([], []))
            pair[0 if ready else 1].append(address)
    out = []
    for ports, (ready_ones, waiting) in sorted(groups.items(), key=lambda item: repr(item[0])):
        subset: Object = {}
        if ready_ones:
            subset["addresses"] = sorted(ready_ones, key=_by_address)
        if waiting:
            subset["notReadyAddresses"] = sorted(waiting, key=_by_address)
        if ports:
            subset["ports"] = [dict(port) for port in ports]
        out.append(subset)
    return out


def _by_address(address: Object) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in str(address["ip"]).split("."))


def _address(service: Object, pod: Object) -> Object:
    spec = pod["spec"]
    address: Object = {"ip": pod["status"]["podIP"]}
    if spec.get("hostname") and spec.get("subdomain") == meta.name_of(service):
        address["hostname"] = spec["hostname"]
    if spec.get("nodeName"):
        address["nodeName"] = spec["nodeName"]
    address["targetRef"] = servicepods.target(pod)
    return address


def _port_groups(service: Object, pod: Object) -> list[tuple[Any, ...]]:
    """The ports of the service in this pod; a headless service may have none."""
    groups = []
    for port in service["spec"].get("ports") or ():
        number = servicepods.port_of(pod, port)
        if number is None:
            continue
        item = [("port", number), ("protocol", port.get("protocol", "TCP"))]
        if port.get("name"):
            item.insert(0, ("name", port["name"]))
        if port.get("appProtocol"):
            item.append(("appProtocol", port["appProtocol"]))
        groups.append(tuple(item))
    if not groups:
        return [()] if servicepods.is_headless(service) else []
    return [tuple(groups)]


def _truncated(subsets: list[Object]) -> tuple[list[Object], bool]:
    """At most 1,000 addresses in all, ready ones first."""
    kinds = ("addresses", "notReadyAddresses")
    total = sum(len(subset.get(kind, ())) for subset in subsets for kind in kinds)
    if total <= ADDRESSES_MAX:
        return subsets, False
    left = ADDRESSES_MAX
    out = []
    for subset in subsets:
        slim = dict(subset)
        for kind in kinds:
            if kind in slim:
                slim[kind] = slim[kind][:left]
                left -= len(slim[kind])
                if not slim[kind]:
                    del slim[kind]
        if "addresses" in slim or "notReadyAddresses" in slim:
            out.append(slim)
    return out, True
