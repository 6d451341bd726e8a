"""The endpoint slice controller: the addresses behind each service, at most 100 to a slice.

Pods that serve a service on the same ports share slices. A slice that exists is kept and changed
as little as possible, since every change goes to every node.

Models kubernetes staging/src/k8s.io/endpointslice/reconciler.go and
pkg/controller/endpointslice/endpointslice_controller.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.endpoints import servicepods
from controllers_app.controllers.workload import ownership, podcontrol, podstate
from controllers_app.runtime.controller import Result
from controllers_app.runtime.watches import Reads

SLICES = servicepods.SLICES
ENDPOINTS_MAX = 100
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
ZONE = "topology.kubernetes.io/zone"

# (address type, the ports as comparable values)
Group = tuple[str, tuple[Any, ...]]


class EndpointSliceController(servicepods.ServiceController):
    """Reconciles services."""

    source = "pkg/controller/endpointslice/endpointslice_controller.go syncService"
    drawn_at_rest = True
    watches = (
        *servicepods.ServiceController.watches,
        Reads("nodes"),
        # somebody else's change is undone; our own leaves the endpoints as we want them
        servicepods.slices("service", lambda item: _service_of(item)),
    )

    async def reconcile(self, key: str) -> Result | None:
        service = self.services.get(key)
        if service is None:
            self.triggers.forget(key)
            return Result("is gone")
        if not servicepods.is_managed(service):
            return Result("has no selector: does nothing")
        pods = self.selected(service)
        wanted = self._wanted(service, pods)
        slices = self.caches[SLICES].by("service", key).values()
        known = [item for item in slices if not meta.is_deleting(item)]
        trigger = self.triggers.earliest_change(key, service, pods)
        count = sum(len(endpoints) for endpoints in wanted.values())
        try:
            made, changed, deleted = await self._apply(service, wanted, known, trigger)
        except errors.ApiError as error:
            if not podcontrol.is_namespace_terminating(error):
                raise
            return Result("namespace is going: does nothing")
        return Result(
            f"selects {len(pods)} pods, has {count} endpoints: creates {made}, updates {changed}, "
            f"deletes {deleted} slices"
        )

    # -- what is wanted -------------------------------------------------------------------------

    def _wanted(self, service: Object, pods: list[Object]) -> dict[Group, list[Object]]:
        """Ports -> endpoints, per address family of the service."""
        wanted: dict[Group, list[Object]] = {}
        for family in service["spec"].get("ipFamilies") or ["IPv4"]:
            for pod in pods:
                if not servicepods.belongs(pod, terminating=True):
                    continue
                address = _address(pod, family)
                if address:
                    group = (family, _ports(service, pod))
                    wanted.setdefault(group, []).append(self._endpoint(service, pod, address))
        return wanted

    def _endpoint(self, service: Object, pod: Object, address: str) -> Object:
        ready = podstate.is_ready(pod)
        going = meta.is_deleting(pod)
        publish = bool(service["spec"].get("publishNotReadyAddresses"))
        endpoint: Object = {
            "addresses": [address],
            "conditions": {
                "ready": publish or (ready and not going),
                "serving": ready,
                "terminating": going,
            },
        }
        spec = pod["spec"]
        if spec.get("hostname") and spec.get("subdomain") == meta.name_of(service):
            endpoint["hostname"] = spec["hostname"]
        endpoint["targetRef"] = servicepods.target(pod)
        node_name = spec.get("nodeName")
        if node_name:
            endpoint["nodeName"] = node_name
            node = self.caches["nodes"].get(node_name)
            zone = meta.labels_of(node).get(ZONE) if node is not None else None
            if zone:
                endpoint["zone"] = zone
        return endpoint

    # -- what is done ---------------------------------------------------------------------------

    async def _apply(
        self, service: Object, wanted: dict[Group, list[Object]], known: list[Object], trigger: str
    ) -> tuple[int, int, int]:
        """Make the slices show what is wanted; how many were created, updated and deleted."""
        by_group: dict[Group, list[Object]] = {}
        for item in known:
            by_group.setdefault((item["addressType"], _ports_of(item)), []).append(item)
        creates: list[Object] = []
        updates: list[Object] = []
        spare: list[Object] = [
            item for group, items in by_group.items() if group not in wanted for item in items
        ]
        for group, endpoints in wanted.items():
            changed, new, empty = _distribute(by_group.get(group, []), endpoints)
            updates += changed
            spare += empty
            for part in new:
                slice_ = _new_slice(service, group, part)
                if spare:  # another takes the name of one that would be deleted
                    updates.append(_named(slice_, spare.pop()))
                else:
                    creates.append(slice_)
        if not wanted and not spare and not known:
            creates.append(_new_slice(service, ("IPv4", ()), []))
        elif not wanted and spare:
            placeholder = spare.pop(0)
            if placeholder.get("endpoints") or placeholder.get("ports"):
                group = placeholder["addressType"], ()
                updates.append(_named(_new_slice(service, group, []), placeholder))
            else:
                known = [placeholder]
        updates += _relabelled(service, known, updates, spare)
        await self._write(service, creates, updates, spare, trigger)
        return len(creates), len(updates), len(spare)

    async def _write(
        self,
        service: Object,
        creates: list[Object],
        updates: list[Object],
        deletes: list[Object],
        trigger: str,
    ) -> None:
        namespace = meta.namespace_of(service)
        for item in creates:
            await self.client.create(SLICES, namespace, _stamped(service, item, trigger))
        for item in updates:
            body = _stamped(service, item, trigger)
            await self.client.update(SLICES, namespace, meta.name_of(item), body)
        for item in deletes:
            with errors.ignoring("NotFound"):
                await self.client.delete(SLICES, namespace, meta.name_of(item))


def _service_of(item: Object) -> tuple[str, ...]:
    labels = meta.labels_of(item)
    name = labels.get(SERVICE_NAME)
    if not name or labels.get(MANAGED_BY) != MANAGER:
        return ()
    return (f"{meta.namespace_of(item)}/{name}",)


def _address(pod: Object, family: str) -> str:
    for item in pod["status"].get("podIPs") or [{"ip": pod["status"]["podIP"]}]:
        if (":" in item["ip"]) == (family == "IPv6"):
            return str(item["ip"])
    return ""


def _ports(service: Object, pod: Object) -> tuple[Any, ...]:
    """The endpoint ports of the service in this pod, as comparable values."""
    out = []
    for port in service["spec"].get("ports") or ():
        number = servicepods.port_of(pod, port)
        if number is not None:
            out.append(
                (port.get("name", ""), number, port.get("protocol", "TCP"), port.get("appProtocol"))
            )
    return tuple(out)


def _ports_of(item: Object) -> tuple[Any, ...]:
    return tuple(
        (
            port.get("name", ""),
            port.get("port"),
            port.get("protocol", "TCP"),
            port.get("appProtocol"),
        )
        for port in item.get("ports") or ()
    )


def _port_objects(group: Group) -> list[Object]:
    out = []
    for name, number, protocol, application in group[1]:
        port: Object = {"name": name, "port": number, "protocol": protocol}
        if application:
            port["appProtocol"] = application
        out.append(port)
    return out


def _distribute(
    known: list[Object], endpoints: list[Object]
) -> tuple[list[Object], list[list[Object]], list[Object]]:
    """(changed slices, endpoints for new slices, slices that would be empty)."""
    missing = {_identity(endpoint): endpoint for endpoint in endpoints}
    kept: list[tuple[Object, list[Object], bool]] = []
    for item in known:
        had = item.get("endpoints") or []
        keep = [
            missing.pop(_identity(endpoint)) for endpoint in had if _identity(endpoint) in missing
        ]
        kept.append((item, keep, keep != had))
    changed: list[Object] = []
    empty: list[Object] = []
    rest = list(missing.values())
    # fill slices that must be written anyway first, then the fullest that has room for all
    for item, keep, differs in sorted(kept, key=lambda entry: (not entry[2], -len(entry[1]))):
        room = ENDPOINTS_MAX - len(keep)
        fits = differs and (keep or rest)
        if rest and room > 0 and (fits or len(rest) <= room):
            keep = keep + rest[:room]
            rest = rest[room:]
            differs = True
        if not keep:
            empty.append(item)
        elif differs:
            changed.append({**item, "endpoints": keep})
    parts = [rest[start : start + ENDPOINTS_MAX] for start in range(0, len(rest), ENDPOINTS_MAX)]
    return changed, parts, empty


def _identity(endpoint: Object) -> tuple[str, str]:
    """Pods on the network of their node share its address."""
    return endpoint["addresses"][0], (endpoint.get("targetRef") or {}).get("uid", "")


def _named(new: Object, old: Object) -> Object:
    """A new slice under the name of an old one."""
    return {**new, "metadata": {**new["metadata"], "name": meta.name_of(old)}}


def _new_slice(service: Object, group: Group, endpoints: list[Object]) -> Object:
    owner = {**service, "apiVersion": "v1", "kind": "Service"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{meta.name_of(service)}-",
            "namespace": meta.namespace_of(service),
            "ownerReferences": [ownership.controller_reference(owner)],
        },
        "addressType": group[0],
        "endpoints": endpoints,
        "ports": _port_objects(group),
    }


def _labels(service: Object) -> dict[str, str]:
    labels = {
        name: value
        for name, value in meta.labels_of(service).items()
        if name not in (servicepods.HEADLESS, SERVICE_NAME, MANAGED_BY)
    }
    if servicepods.is_headless(service):
        labels[servicepods.HEADLESS] = ""
    labels[SERVICE_NAME] = meta.name_of(service)
    labels[MANAGED_BY] = MANAGER
    return labels


def _relabelled(
    service: Object, known: list[Object], updates: list[Object], deletes: list[Object]
) -> list[Object]:
    """Slices that stay as they are but for the service's labels."""
    touched = {meta.name_of(item) for item in [*updates, *deletes]}
    labels = _labels(service)
    return [
        item
        for item in known
        if meta.name_of(item) not in touched and meta.labels_of(item) != labels
    ]


def _stamped(service: Object, item: Object, trigger: str) -> Object:
    out = meta.with_path(item, ("metadata", "labels"), _labels(service))
    if trigger:
        return meta.with_path(out, ("metadata", "annotations", servicepods.TRIGGER_TIME), trigger)
    return meta.without_path(out, ("metadata", "annotations", servicepods.TRIGGER_TIME))
