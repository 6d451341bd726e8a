"""Describes how this API server was built, in upstream's order, from the built objects.

`summary` is small and goes into the trace when the server starts; `whole` adds every resource with
its storage, the storages of pods, every route and every hook, and is built on request.

Models kubernetes cmd/kube-apiserver/app/server.go (CreateServerChain), pkg/controlplane/apiserver/
config.go (BuildGenericConfig), pkg/controlplane/instance.go (New, the storage providers),
pkg/registry/core/rest/storage_core.go and staging/src/k8s.io/apiserver/pkg/server/config.go
(installAPI).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from apiserver_app import authenticators, flags, gates
from apiserver_app.admission import plugins
from apiserver_app.etcd import lease as leases
from apiserver_app.handlers import routes
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http import health
from apiserver_app.machinery import probe
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.registry import storagecalls, strategynames

NO_INSECURE_PORT = Release(20)

# (name, its group, the first minor version that has it), in the order of installation
PROVIDERS: tuple[tuple[str, str, int], ...] = (
    ("internal.apiserver", "internal.apiserver.k8s.io", 20),
    ("authentication", "authentication.k8s.io", 0),
    ("authorization", "authorization.k8s.io", 0),
    ("autoscaling", "autoscaling", 0),
    ("batch", "batch", 0),
    ("certificates", "certificates.k8s.io", 0),
    ("coordination", "coordination.k8s.io", 0),
    ("discovery", "discovery.k8s.io", 0),
    ("extensions", "extensions", 0),
    ("networking", "networking.k8s.io", 0),
    ("node", "node.k8s.io", 0),
    ("policy", "policy", 0),
    ("rbac", "rbac.authorization.k8s.io", 0),
    ("scheduling", "scheduling.k8s.io", 0),
    ("settings", "settings.k8s.io", 0),
    ("storage", "storage.k8s.io", 0),
    ("storagemigration", "storagemigration.k8s.io", 30),
    ("flowcontrol", "flowcontrol.apiserver.k8s.io", 0),
    ("apps", "apps", 0),
    ("admissionregistration", "admissionregistration.k8s.io", 0),
    ("events", "events.k8s.io", 0),
    ("resource", "resource.k8s.io", 26),
)
_GONE_SINCE = {"extensions": 22, "settings": 20}
_AUTHENTICATION_INFO = "start-cluster-authentication-info-controller"
_LEGACY_ORDER = tuple(
    """
    podtemplates events limitranges resourcequotas secrets persistentvolumes persistentvolumeclaims
    configmaps namespaces endpoints nodes pods serviceaccounts replicationcontrollers services
    bindings componentstatuses
    """.split()
)
# subresource -> the member of PodStorage that serves it
_POD_STORAGES = {
    "": "Pod", "binding": "Binding", "eviction": "Eviction", "status": "Status",
    "ephemeralcontainers": "EphemeralContainers", "log": "Log", "proxy": "Proxy", "exec": "Exec",
    "attach": "Attach", "portforward": "PortForward", "resize": "Resize",
}  # fmt: skip
_METHODS = {
    "get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT",
    "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE",
}  # fmt: skip


def summary(cluster: ClusterContext, options: flags.Flags) -> Object:
    """Returns the start record of the trace."""
    return {
        "authentication": authenticators.describe(cluster.access.authentication),
        "admission": plugins.described(cluster.admission.chain.plugins),
        "plugins": plugins.facts(cluster.admission.chain.plugins),
        "gates": gates.described(),
        "costs": dict(probe.COSTS),
        "kinds": {info.key: info.kind for info in cluster.resources.built_in},
        "version": str(cluster.version),
        "flags": _flags(options),
        "config": _config(cluster, options),
        "servers": _servers(cluster),
        "routes": _base_routes(options),
        "providers": [
            [provider["name"], len(provider["resources"])] for provider in _providers(cluster)
        ],
        "install": _install(cluster),
        "storage": storagecalls.described(),
        "strategies": strategynames.described(cluster.resources.built_in, cluster.strategies),
    }


def whole(cluster: ClusterContext, options: flags.Flags) -> Object:
    """Returns the summary with every resource, storage, route and hook."""
    table = list(_routes(cluster))
    resources = cluster.resources.built_in
    return {
        **summary(cluster, options),
        "providers": _providers(cluster),
        "steps": _steps(cluster, len(table)),
        "hooks": {name: health.hooks(cluster.version, name) for name in reversed(routes.CHAIN)},
        "checks": {root: health.checks(cluster.version, root[1:]) for root in health.ROOTS},
        "storages": [_storage(info) for info in _legacy_first(resources) if info.storage],
        "pod_storages": _pod_storages(cluster),
        "table": table,
    }


def _flags(options: flags.Flags) -> Object:
    """Returns the flags that differ from upstream's defaults; files by their names."""
    out: Object = {}
    for flag in dataclasses.fields(options):
        value = getattr(options, flag.name)
        if value == flag.default:
            continue
        printed = value.name if isinstance(value, flags.FileText) else value
        out[flag.name.replace("_", "-")] = list(printed) if isinstance(printed, tuple) else printed
    return out


def _config(cluster: ClusterContext, options: flags.Flags) -> list[list[str]]:
    """Returns [step, result] in the order of the generic configuration."""
    access = cluster.access
    modes = [type(authorizer).__name__ for authorizer in access.authorization.authorizers]
    return [
        ["insecure HTTP", _insecure_port(cluster.version)],
        ["secure HTTPS", "with the client authorities that the flags name"],
        ["OpenAPI", f"definitions of {cluster.version}"],
        ["storageFactory", options.storage_backend or "etcd3"],
        ["authentication", ", ".join(_names(authenticators.describe(access.authentication)))],
        ["authorization", ", ".join(modes)],
        ["admission", f"{len(cluster.admission.chain.plugins)} plugins"],
    ]


def _insecure_port(version: Release) -> str:
    """What became of --insecure-port, which kubeadm has always set to 0."""
    if version < NO_INSECURE_PORT:
        return "off: --insecure-port=0"
    return "none: this version has no insecure port"


def _names(described: list[Any]) -> list[str]:
    """Returns the innermost names of a nested description, each once."""
    out: list[str] = []
    for entry in described:
        out += _names(entry["of"]) if entry.get("of") else [entry["name"]]
    return list(dict.fromkeys(out))


def _servers(cluster: ClusterContext) -> list[Object]:
    """Lists the servers in order of creation: each delegates to the previous."""
    out: list[Object] = []
    delegate = "404"
    for name in reversed(routes.CHAIN):
        groups = dict.fromkeys(
            info.api_version
            for info in cluster.resources.built_in
            if routes.owner(info.group) == name
        )
        out.append(
            {
                "name": name,
                "delegate": delegate,
                "groups": list(groups),
                "hooks": len(health.hooks(cluster.version, name)),
            }
        )
        delegate = name
    return out


def _base_routes(options: flags.Flags) -> list[list[object]]:
    """Returns [path, whether it is served], as every generic server installs them."""
    profiling = options.profiling
    return [
        ["/index.html", True],
        ["/debug/pprof", profiling],
        ["/debug/flags/v", False],
        ["/metrics", True],
        ["DELETE /metrics", profiling],
        ["/version", True],
        ["/apis", True],
        ["/debug/api_priority_and_fairness", options.enable_priority_and_fairness],
    ]


def _providers(cluster: ClusterContext) -> list[Object]:
    """Lists kube-apiserver's storage providers, in order, with the resources they installed."""
    minor = cluster.version.minor
    legacy = (("core", "", 0),)
    out = []
    for name, group, since in (*legacy, *PROVIDERS):
        if minor < since or minor >= _GONE_SINCE.get(name, minor + 1):
            continue
        served = [info for info in cluster.resources.built_in if info.group == group]
        by = "InstallAPIs" if name != "core" or cluster.version.has("LegacyProvider") else "legacy"
        resources = [f"{info.version}/{info.plural}" for info in served]
        out.append({"name": name, "group": group, "by": by, "resources": resources})
    return out


def _install(cluster: ClusterContext) -> list[list[str]]:
    """Returns [step, result] of kube-apiserver's own installation, in order."""
    providers = _providers(cluster)
    legacy = [provider for provider in providers if provider["by"] == "legacy"]
    groups = [
        provider for provider in providers if provider["by"] != "legacy" and provider["resources"]
    ]
    out = [["GenericConfig.New", routes.KUBE]]
    out += [
        ["InstallLegacyAPI", f"/api: {len(provider['resources'])} resources"] for provider in legacy
    ]
    out.append(["InstallAPIs", f"{len(groups)} groups"])
    hooks = health.hooks(cluster.version, routes.KUBE)
    out += [["AddPostStartHook", name] for name in hooks if name == _AUTHENTICATION_INFO]
    return out


def _steps(cluster: ClusterContext, table: int) -> list[list[object]]:
    """Returns [step, number of things it created]."""
    resources = cluster.resources.built_in
    groups = {info.group for info in resources}
    versions = {(info.group, info.version) for info in resources}
    creates = sum("create" in info.verbs for info in resources)
    return [
        ["aggregation chain", len(routes.CHAIN)],
        ["generic API servers", len(routes.CHAIN)],
        ["definitions from OpenAPI", len(resources)],
        ["API groups walked", len(groups)],
        ["generic storages", sum(bool(info.storage) for info in resources)],
        ["group versions installed", len(versions)],
        ["routes", table],
        ["create handlers", creates],
    ]


def _legacy_first(resources: tuple[ResourceInfo, ...]) -> list[ResourceInfo]:
    """Orders the core group as its provider does, then the others as in discovery."""
    core = [info for info in resources if not info.group]
    core.sort(key=lambda info: _LEGACY_ORDER.index(info.plural))
    return [*core, *(info for info in resources if info.group)]


def _storage(info: ResourceInfo) -> Object:
    return {
        "resource": info.key,
        "version": info.version,
        "prefix": info.etcd_prefix(),
        "subresources": list(info.subresources),
        "ttl_seconds": leases.EVENT_TTL_SECONDS if info.plural == "events" else 0,
    }


def _pod_storages(cluster: ClusterContext) -> list[list[str]]:
    """Returns [member of PodStorage, path]."""
    pods = cluster.resources.by_key["pods"]
    out = [["Pod", "pods"], ["LegacyBinding", "bindings"]]
    out += [[_POD_STORAGES[name], f"pods/{name}"] for name in pods.subresources]
    return out


def _routes(cluster: ClusterContext) -> Iterator[list[str]]:
    """Yields [method, path, resource, server] of all built-in resources."""
    for info in cluster.resources.built_in:
        server = routes.owner(info.group)
        scoped = f"{info.root}/namespaces/{{namespace}}" if info.namespaced else info.root
        for path, verbs in (
            (f"{scoped}/{info.plural}", ("list", "create", "deletecollection")),
            (f"{scoped}/{info.plural}/{{name}}", ("get", "update", "patch", "delete")),
        ):
            for verb in verbs:
                if verb in info.verbs:
                    yield [_METHODS[verb], path, info.key, server]
        if info.namespaced and "list" in info.verbs:
            yield ["GET", f"{info.root}/{info.plural}", info.key, server]
        for sub in cluster.resources.subresources(info):
            for verb in sub.verbs:
                path = f"{scoped}/{info.plural}/{{name}}/{sub.name}"
                yield [_METHODS.get(verb, verb.upper()), path, f"{info.key}/{sub.name}", server]
