"""Maintains the APIServices of this server's own group versions and of custom resources.

Objects that users created, or took over by removing the label, are left alone.

Models kubernetes pkg/controlplane/apiserver/aggregator.go (apiServicesToRegister, the priorities),
staging/src/k8s.io/kube-aggregator/pkg/controllers/autoregister and
pkg/controlplane/controller/crdregistration.
"""

from __future__ import annotations

from collections.abc import Container

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Reader
from apiserver_app.registry.apiregistration.apiservices import CUSTOM_PRIORITIES, KEY, OWN_GROUP

LABEL = "kube-aggregator.kubernetes.io/automanaged"
ON_START, ALWAYS = "onstart", "true"
_VERSION_PRIORITY = 15
_BETA_PRIORITY = 9

# group -> priority of the group among others
_GROUPS = {
    "": 18000, "extensions": 17900, "apps": 17800, "events.k8s.io": 17750,
    "authentication.k8s.io": 17700, "authorization.k8s.io": 17600, "autoscaling": 17500,
    "batch": 17400, "certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100,
    "rbac.authorization.k8s.io": 17000, "storage.k8s.io": 16800, "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700, "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100, "internal.apiserver.k8s.io": 16000,
    "settings.k8s.io": 16700, "resource.k8s.io": 16200, "storagemigration.k8s.io": 15800,
}  # fmt: skip
# versions with an unusual priority
_VERSIONS = {
    ("", "v1"): 1,
    ("admissionregistration.k8s.io", "v1beta1"): 12,
    ("autoscaling", "v2"): 30,
    ("autoscaling", "v2beta2"): 1,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("flowcontrol.apiserver.k8s.io", "v1beta3"): 18,
    ("flowcontrol.apiserver.k8s.io", "v1beta2"): 15,
    ("flowcontrol.apiserver.k8s.io", "v1beta1"): 12,
    ("resource.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1beta2"): 15,
    ("resource.k8s.io", "v1alpha3"): 1,
}


def desired(resources: Resources) -> list[Object]:
    """Returns the APIServices of the server's own group versions, except its own group's."""
    out = []
    for group, version in dict.fromkeys((info.group, info.version) for info in resources.built_in):
        if group != OWN_GROUP and group in _GROUPS:
            is_stable = "beta" not in version and "alpha" not in version
            default = _VERSION_PRIORITY if is_stable else _BETA_PRIORITY
            priority = _VERSIONS.get((group, version), default)
            out.append(_service(group, version, (_GROUPS[group], priority), ON_START))
    return out


async def ensure(client: Client, resources: Resources, reader: Reader) -> None:
    """Reconciles the own APIServices at start-up: creates, repairs and removes them."""
    services = {meta.name_of(service): service for service in desired(resources)}
    for service in services.values():
        await _put(client, reader, service)
    await _remove(client, reader, ON_START, services)


async def follow_definitions(client: Client, reader: Reader) -> None:
    """Reconciles whenever a definition changes."""
    watch = await client.watch(customresources.DEFINITIONS)
    await reconcile_definitions(client, reader)
    while await watch.next() is not None:
        await reconcile_definitions(client, reader)


async def reconcile_definitions(client: Client, reader: Reader) -> None:
    services: dict[str, Object] = {}
    for definition in reader.list(customresources.DEFINITIONS):
        group = definition["spec"]["group"]
        for version in definition["spec"].get("versions") or ():
            if version.get("served"):
                service = _service(group, version["name"], CUSTOM_PRIORITIES, ALWAYS)
                services[meta.name_of(service)] = service
    for name in sorted(services):
        await _put(client, reader, services[name])
    await _remove(client, reader, ALWAYS, services)


async def _remove(client: Client, reader: Reader, managed: str, names: Container[str]) -> None:
    for service in list(reader.list(KEY)):
        name = meta.name_of(service)
        if meta.labels_of(service).get(LABEL) == managed and name not in names:
            with errors.ignoring("NotFound"):
                await client.delete(KEY, "", name)


async def _put(client: Client, reader: Reader, service: Object) -> None:
    name = meta.name_of(service)
    existing = reader.get(KEY, "", name)
    with errors.ignoring("AlreadyExists", "Conflict", "NotFound"):
        if existing is None:
            await client.create(KEY, "", service)
        elif LABEL in meta.labels_of(existing) and existing["spec"] != service["spec"]:
            await client.update(KEY, "", name, {**existing, "spec": service["spec"]})


def _service(group: str, version: str, priorities: tuple[int, int], managed: str) -> Object:
    spec: Object = {"version": version}
    if group:
        spec["group"] = group
    spec["groupPriorityMinimum"], spec["versionPriority"] = priorities
    return {
        "kind": "APIService",
        "apiVersion": f"{OWN_GROUP}/v1",
        "metadata": {"name": f"{version}.{group}", "labels": {LABEL: managed}},
        "spec": spec,
    }
