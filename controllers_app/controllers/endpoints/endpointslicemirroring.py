"""The endpoint slice mirroring controller: slices of Endpoints that somebody wrote by hand.

Services without a selector have no slices of their own; those that look at slices find their
addresses here. At most 1000 addresses of a subset are mirrored, in one slice.

Models kubernetes pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go and
reconciler.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.endpoints import endpointslice, servicepods
from controllers_app.controllers.workload import ownership, podcontrol
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Watches, own_key

SLICES = servicepods.SLICES
MANAGER = "endpointslicemirroring-controller.k8s.io"
SKIP = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ADDRESSES_MAX = 1000
GENERATED_NAME_MAX = 253

# address type, and the ports as comparable values
Group = tuple[str, tuple[Any, ...]]


class EndpointSliceMirroringController(Controller):
    """Reconciles Endpoints of services without a selector."""

    source = (
        "pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go syncEndpoints"
    )
    watches = (
        For("endpoints", on=ADDED | DELETED, when=lambda item: not _is_managed(item)),
        Watches(
            "endpoints",
            on=UPDATED,
            changed=lambda old, item: not (_is_managed(old) and _is_managed(item)),
            keys=own_key,
        ),
        Watches("services", on=ADDED | DELETED, when=lambda item: not _selects(item), keys=own_key),
        Watches(
            "services",
            on=UPDATED,
            changed=lambda old, service: _selects(old) != _selects(service),
            keys=own_key,
        ),
        servicepods.slices("mirrored", lambda item: _endpoints_of(item)),
    )

    async def reconcile(self, key: str) -> Result | None:
        endpoints = self.caches["endpoints"].get(key)
        service = self.caches["services"].get(key)
        known = list(self.caches[SLICES].by("mirrored", key).values())
        if endpoints is None or not _is_mirrored(endpoints) or service is None or _selects(service):
            await self._delete(known)
            return Result(f"is not mirrored: deletes {len(known)} slices")
        wanted = self._wanted(endpoints)
        try:
            written = await self._apply(endpoints, wanted, known)
        except errors.ApiError as error:
            if not podcontrol.is_namespace_terminating(error):
                raise
            return Result("namespace is going: does nothing")
        return Result(f"is mirrored in {len(wanted)} slices: writes {written}")

    def _wanted(self, endpoints: Object) -> dict[Group, tuple[list[Object], list[Object]]]:
        """Ports and endpoints of each slice."""
        wanted: dict[Group, tuple[list[Object], list[Object]]] = {}
        invalid = skipped = 0
        for subset in endpoints.get("subsets") or ():
            ports = [_port(port) for port in subset.get("ports") or ()]
            added = 0
            for ready, field in ((True, "addresses"), (False, "notReadyAddresses")):
                for address in subset.get(field) or ():
                    if added >= ADDRESSES_MAX:
                        skipped += 1
                        continue
                    item = _endpoint(address, ready)
                    if item is None:
                        invalid += 1
                        continue
                    added += 1
                    family, endpoint = item
                    group = (family, _comparable(ports))
                    wanted.setdefault(group, (ports, []))[1].append(endpoint)
        if invalid:
            self.recorder.event(
                endpoints,
                "Warning",
                "InvalidIPAddress",
                f"Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices",
            )
        if skipped:
            self.recorder.event(
                endpoints,
                "Warning",
                "TooManyAddressesToMirror",
                f"A max of {ADDRESSES_MAX} addresses can be mirrored to EndpointSlices per "
                f"Endpoints subset. {skipped} addresses were skipped",
            )
        return wanted

    async def _apply(
        self,
        endpoints: Object,
        wanted: dict[Group, tuple[list[Object], list[Object]]],
        known: list[Object],
    ) -> int:
        """Makes the slices show what is wanted; those that are not needed any more are used again
        for new ones. How many were written."""
        by_group: dict[Group, list[Object]] = {}
        for item in known:
            group = (item["addressType"], _comparable(item.get("ports") or ()))
            by_group.setdefault(group, []).append(item)
        spare = [item for group in by_group if group not in wanted for item in by_group[group]]
        spare += [item for group in wanted for item in by_group.get(group, [])[1:]]
        created, updated = [], []
        for group, (ports, items) in wanted.items():
            have = by_group.get(group, [None])[0]
            body = _slice(endpoints, group[0], ports, items)
            if have is None:
                created.append(body)
            elif not _same(have, body):
                updated.append((body, have))
        while created and spare:
            updated.append((created.pop(0), spare.pop(0)))
        for body in created:
            await self._write(body, None)
        for body, have in updated:
            await self._write(body, have)
        await self._delete(spare)
        return len(created) + len(updated) + len(spare)

    async def _write(self, body: Object, have: Object | None) -> None:
        metadata = body["metadata"]
        namespace = metadata["namespace"]
        if have is None:
            named = {**metadata, "generateName": _prefix(metadata["labels"])}
            await self.client.create(SLICES, namespace, {**body, "metadata": named})
            return
        name = meta.name_of(have)
        named = {**metadata, "name": name}
        await self.client.update(SLICES, namespace, name, {**body, "metadata": named})

    async def _delete(self, slices: Iterable[Object]) -> None:
        for item in slices:
            with errors.ignoring("NotFound"):
                await self.client.delete(SLICES, meta.namespace_of(item), meta.name_of(item))


def _is_managed(endpoints: Object) -> bool:
    """Whether the endpoint controller or a leader election writes it: nothing to look at."""
    labels = meta.labels_of(endpoints)
    return "endpoints.kubernetes.io/managed-by" in labels or not _is_mirrored(endpoints)


def _selects(service: Object) -> bool:
    return bool(service["spec"].get("selector"))


def _is_mirrored(endpoints: Object) -> bool:
    is_skipped = meta.labels_of(endpoints).get(SKIP) == "true"
    return not is_skipped and LEADER not in meta.annotations_of(endpoints)


def _endpoints_of(item: Object) -> tuple[str, ...]:
    """The key of the Endpoints that a slice mirrors."""
    labels = meta.labels_of(item)
    name = labels.get(endpointslice.SERVICE_NAME)
    if labels.get(endpointslice.MANAGED_BY) != MANAGER or not name:
        return ()
    return (f"{meta.namespace_of(item)}/{name}",)


def _endpoint(address: Object, ready: bool) -> tuple[str, Object] | None:
    """Address type and endpoint; None when the address is not valid."""
    try:
        ip = ipaddress.ip_address(address["ip"])
    except ValueError:
        return None
    endpoint: Object = {"addresses": [str(ip)], "conditions": {"ready": ready}}
    for name in ("hostname", "targetRef", "nodeName"):
        if address.get(name):
            endpoint[name] = address[name]
    return f"IPv{ip.version}", endpoint


def _port(port: Object) -> Object:
    out: Object = {
        "name": port.get("name") or "",
        "port": port.get("port"),
        "protocol": port.get("protocol") or "TCP",
    }
    if port.get("appProtocol"):
        out["appProtocol"] = port["appProtocol"]
    return out


def _comparable(ports: Iterable[Object]) -> tuple[Any, ...]:
    return tuple(sorted(str(sorted(_port(port).items())) for port in ports))


def _slice(endpoints: Object, family: str, ports: list[Object], items: list[Object]) -> Object:
    annotations = {
        name: text
        for name, text in meta.annotations_of(endpoints).items()
        if name not in (servicepods.TRIGGER_TIME, LAST_APPLIED)
    }
    labels = {
        **meta.labels_of(endpoints),
        endpointslice.SERVICE_NAME: meta.name_of(endpoints),
        endpointslice.MANAGED_BY: MANAGER,
    }
    metadata: Object = {"namespace": meta.namespace_of(endpoints), "labels": labels}
    if annotations:
        metadata["annotations"] = annotations
    metadata["ownerReferences"] = [ownership.controller_reference(endpoints)]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": family,
        "endpoints": items,
        "ports": ports,
    }


def _same(have: Object, wanted: Object) -> bool:
    """Whether a slice shows what is wanted, and belongs to these Endpoints."""

    def shown(item: Object) -> tuple[Any, ...]:
        owners = [owner["uid"] for owner in item["metadata"].get("ownerReferences") or ()]
        return (
            sorted(
                map(
                    str,
                    (sorted(endpoint.items(), key=str) for endpoint in item.get("endpoints") or ()),
                )
            ),
            meta.labels_of(item),
            meta.annotations_of(item),
            owners,
        )

    return shown(have) == shown(wanted)


def _prefix(labels: dict[str, str]) -> str:
    name = labels[endpointslice.SERVICE_NAME]
    return f"{name}-" if len(name) < GENERATED_NAME_MAX else name
