"""How this API server was built, in upstream's order, told from what was really built.

`summary` is small and goes into the trace when the server starts; `whole` adds every resource with
its storage, the storages of pods, every route and every hook, and is made when somebody asks.

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
from apiserver_app.handlers import routes
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http import health
from apiserver_app.machinery import probe
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry import strategynames

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
EVENT_SECONDS = 3600  # --event-ttl
_AUTHENTICATION_INFO = "start-cluster-authentication-info-controller"
_LEGACY_ORDER = (
    "podtemplates", "events", "limitranges", "resourcequotas", "secrets", "persistentvolumes",
    "persistentvolumeclaims", "configmaps", "namespaces", "endpoints", "nodes", "pods",
    "serviceaccounts", "replicationcontrollers", "services", "bindings", "componentstatuses",
)  # fmt: skip
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


def summary(cluster: ClusterContext, given: flags.Flags) -> Object:
    """What the trace tells of the start."""
    return {
        "authentication": authenticators.describe(cluster.authentication),
        "admission": plugins.described(cluster.chain.plugins),
        "plugins": plugins.facts(cluster.chain.plugins),
        "gates": gates.described(),
        "costs": dict(probe.COSTS),
        "kinds": {one.key: one.kind for one in cluster.resources.built_in},
        "version": str(cluster.version),
        "flags": _flags(given),
        "config": _config(cluster, given),
        "servers": _servers(cluster),
        "routes": _base_routes(given),
        "providers": [[one["name"], len(one["resources"])] for one in _providers(cluster)],
        "install": _install(cluster),
        "strategies": strategynames.described(cluster.resources.built_in, cluster.strategies),
    }


def whole(cluster: ClusterContext, given: flags.Flags) -> Object:
    """The same, with every resource, storage, route and hook."""
    table = list(_routes(cluster))
    resources = cluster.resources.built_in
    return {
        **summary(cluster, given),
        "providers": _providers(cluster),
        "steps": _steps(cluster, len(table)),
        "hooks": {name: health.hooks(cluster.version, name) for name in reversed(routes.CHAIN)},
        "checks": {root: health.checks(cluster.version, root[1:]) for root in health.ROOTS},
        "storages": [_storage(one) for one in _legacy_first(resources) if one.storage],
        "pod_storages": _pod_storages(cluster),
        "table": table,
    }


def _flags(given: flags.Flags) -> Object:
    """Those that are not as upstream has them; files by their names."""
    out: Object = {}
    for one in dataclasses.fields(given):
        value = getattr(given, one.name)
        if value == one.default:
            continue
        shown = value.name if isinstance(value, flags.FileText) else value
        out[one.name.replace("_", "-")] = list(shown) if isinstance(shown, tuple) else shown
    return out


def _config(cluster: ClusterContext, given: flags.Flags) -> list[list[str]]:
    """[step, what came of it], in the order of the generic configuration."""
    modes = [type(one).__name__ for one in cluster.authorization.authorizers]
    return [
        ["insecure HTTP", "none: this version has no insecure port"],
        ["secure HTTPS", "with the client authorities that the flags name"],
        ["OpenAPI", f"definitions of {cluster.version}"],
        ["storageFactory", given.storage_backend or "etcd3"],
        ["authentication", ", ".join(_names(authenticators.describe(cluster.authentication)))],
        ["authorization", ", ".join(modes)],
        ["admission", f"{len(cluster.chain.plugins)} plugins"],
    ]


def _names(described: list[Any]) -> list[str]:
    """Who is asked in the end, of a nested description; each once."""
    out: list[str] = []
    for one in described:
        out += _names(one["of"]) if one.get("of") else [one["name"]]
    return list(dict.fromkeys(out))


def _servers(cluster: ClusterContext) -> list[Object]:
    """In the order in which they are made: each delegates to the one before."""
    out: list[Object] = []
    delegate = "404"
    for name in reversed(routes.CHAIN):
        groups = dict.fromkeys(
            f"{one.group}/{one.version}" if one.group else one.version
            for one in cluster.resources.built_in
            if routes.owner(one.group) == name
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


def _base_routes(given: flags.Flags) -> list[list[object]]:
    """[path, whether it is served], as every generic server installs them."""
    profiling = given.profiling
    return [
        ["/index.html", True],
        ["/debug/pprof", profiling],
        ["/debug/flags/v", False],
        ["/metrics", True],
        ["DELETE /metrics", profiling],
        ["/version", True],
        ["/apis", True],
        ["/debug/api_priority_and_fairness", given.enable_priority_and_fairness],
    ]


def _providers(cluster: ClusterContext) -> list[Object]:
    """Those of kube-apiserver, in order, with what each installed."""
    minor = cluster.version.minor
    legacy = (("core", "", 0),)
    out = []
    for name, group, since in (*legacy, *PROVIDERS):
        if minor < since or minor >= _GONE_SINCE.get(name, minor + 1):
            continue
        found = [one for one in cluster.resources.built_in if one.group == group]
        by = "InstallAPIs" if name != "core" or cluster.version.has("LegacyProvider") else "legacy"
        resources = [f"{one.version}/{one.plural}" for one in found]
        out.append({"name": name, "group": group, "by": by, "resources": resources})
    return out


def _install(cluster: ClusterContext) -> list[list[str]]:
    """[step, what came of it] of kube-apiserver's own making, in order."""
    providers = _providers(cluster)
    legacy = [one for one in providers if one["by"] == "legacy"]
    groups = [one for one in providers if one["by"] != "legacy" and one["resources"]]
    out = [["GenericConfig.New", routes.KUBE]]
    out += [["InstallLegacyAPI", f"/api: {len(one['resources'])} resources"] for one in legacy]
    out.append(["InstallAPIs", f"{len(groups)} groups"])
    hooks = health.hooks(cluster.version, routes.KUBE)
    out += [["AddPostStartHook", name] for name in hooks if name == _AUTHENTICATION_INFO]
    return out


def _steps(cluster: ClusterContext, table: int) -> list[list[object]]:
    """[step, how many things it made]."""
    resources = cluster.resources.built_in
    groups = {one.group for one in resources}
    versions = {(one.group, one.version) for one in resources}
    creates = sum("create" in one.verbs for one in resources)
    return [
        ["aggregation chain", len(routes.CHAIN)],
        ["generic API servers", len(routes.CHAIN)],
        ["definitions from OpenAPI", len(resources)],
        ["API groups walked", len(groups)],
        ["generic storages", sum(bool(one.storage) for one in resources)],
        ["group versions installed", len(versions)],
        ["routes", table],
        ["create handlers", creates],
    ]


def _legacy_first(resources: tuple[ResourceInfo, ...]) -> list[ResourceInfo]:
    """The core group in the order of its provider, then the others as discovery has them."""
    core = [one for one in resources if not one.group]
    core.sort(key=lambda one: _LEGACY_ORDER.index(one.plural))
    return [*core, *(one for one in resources if one.group)]


def _storage(info: ResourceInfo) -> Object:
    return {
        "resource": info.key,
        "version": info.version,
        "prefix": info.etcd_prefix(),
        "subresources": list(info.subresources),
        "ttl_seconds": EVENT_SECONDS if info.plural == "events" else 0,
    }


def _pod_storages(cluster: ClusterContext) -> list[list[str]]:
    """[member of PodStorage, path]."""
    pods = cluster.resources.by_key["pods"]
    out = [["Pod", "pods"], ["LegacyBinding", "bindings"]]
    out += [[_POD_STORAGES[name], f"pods/{name}"] for name in pods.subresources]
    return out


def _routes(cluster: ClusterContext) -> Iterator[list[str]]:
    """[method, path, resource, server] of everything built in."""
    for info in cluster.resources.built_in:
        server = routes.owner(info.group)
        root = f"/apis/{info.group}/{info.version}" if info.group else f"/api/{info.version}"
        scoped = f"{root}/namespaces/{{namespace}}" if info.namespaced else root
        for path, verbs in (
            (f"{scoped}/{info.plural}", ("list", "create", "deletecollection")),
            (f"{scoped}/{info.plural}/{{name}}", ("get", "update", "patch", "delete")),
        ):
            for verb in verbs:
                if verb in info.verbs:
                    yield [_METHODS[verb], path, info.key, server]
        if info.namespaced and "list" in info.verbs:
            yield ["GET", f"{root}/{info.plural}", info.key, server]
        for sub in cluster.resources.subresources(info):
            for verb in sub.verbs:
                path = f"{scoped}/{info.plural}/{{name}}/{sub.name}"
                yield [_METHODS.get(verb, verb.upper()), path, f"{info.key}/{sub.name}", server]
