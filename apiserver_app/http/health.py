"""/healthz, /livez and /readyz: every check by name.

The checks are those of a kube-apiserver: the generic ones, the post-start hooks of its three
servers in order, and the readiness checks. A hook is done when the boot is.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go,
pkg/server/{hooks,healthz}.go and the hooks of pkg/controlplane and kube-aggregator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apiserver_app.handlers import routes
from apiserver_app.machinery.releases import Release

ROOTS = ("/healthz", "/livez", "/readyz")
_HOOK = "poststarthook/"
_FIRST = ("ping", "log", "etcd")
# only in readyz
_READY = ("etcd-readiness", "informer-sync")
_AGGREGATOR, _KUBE, _EXTENSIONS = routes.CHAIN
# (name, the first minor version that has it, the server that adds it), in order
_HOOKS: tuple[tuple[str, int, str], ...] = (
    ("start-apiserver-admission-initializer", 24, _KUBE),
    ("generic-apiserver-start-informers", 0, _KUBE),
    ("priority-and-fairness-config-consumer", 0, _KUBE),
    ("priority-and-fairness-filter", 0, _KUBE),
    ("storage-object-count-tracker-hook", 25, _KUBE),
    ("start-apiextensions-informers", 0, _EXTENSIONS),
    ("start-apiextensions-controllers", 0, _EXTENSIONS),
    ("crd-informer-synced", 0, _EXTENSIONS),
    ("start-system-namespaces-controller", 26, _KUBE),
    ("start-cluster-authentication-info-controller", 0, _KUBE),
    ("start-kube-apiserver-identity-lease-controller", 26, _KUBE),
    ("start-kube-apiserver-identity-lease-garbage-collector", 26, _KUBE),
    ("start-legacy-token-tracking-controller", 26, _KUBE),
    ("start-service-ip-repair-controllers", 26, _KUBE),
    ("rbac/bootstrap-roles", 0, _KUBE),
    ("scheduling/bootstrap-system-priority-classes", 0, _KUBE),
    ("priority-and-fairness-config-producer", 0, _KUBE),
    ("bootstrap-controller", 0, _KUBE),
    ("start-kubernetes-service-cidr-controller", 33, _KUBE),
    ("aggregator-reload-proxy-client-cert", 0, _AGGREGATOR),
    ("start-kube-aggregator-informers", 0, _AGGREGATOR),
    ("apiservice-status-local-available-controller", 32, _AGGREGATOR),
    ("apiservice-status-remote-available-controller", 32, _AGGREGATOR),
    ("apiservice-registration-controller", 0, _AGGREGATOR),
    ("apiservice-discovery-controller", 29, _AGGREGATOR),
    ("kube-apiserver-autoregistration", 0, _AGGREGATOR),
    ("", 0, _AGGREGATOR),  # the only check among them that is no hook
    ("apiservice-openapi-controller", 0, _AGGREGATOR),
    ("apiservice-openapiv3-controller", 24, _AGGREGATOR),
)


def checks(version: Release, root: str) -> list[str]:
    """Returns the names of the checks at one of the three paths, in order."""
    ready = _READY if root == "readyz" else ()
    hooks = [
        f"{_HOOK}{name}" if name else "autoregister-completion"
        for name, since, _ in _HOOKS
        if version.minor >= since
    ]
    end = ["shutdown"] if root == "readyz" else []
    return [*_FIRST, *ready, *hooks, *end]


def hooks(version: Release, server: str) -> list[str]:
    """Returns the post-start hooks of one of the three servers, in order."""
    every = [name for name, since, by in _HOOKS if version.minor >= since and by == server]
    return [name for name in every if name]


def answer(
    root: str,
    names: Sequence[str],
    params: Mapping[str, Sequence[str]],
    is_ok: Callable[[str], bool],
) -> tuple[int, str]:
    """Returns status and text of one of the three paths."""
    excluded = list(dict.fromkeys(params.get("exclude") or ()))
    lines: list[str] = []
    failed = False
    for name in names:
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif is_ok(name):
            lines.append(f"[+]{name} ok")
        else:
            failed = True
            lines.append(f"[-]{name} failed: reason withheld")
    unknown = sorted(set(excluded) - set(names))
    if unknown:
        quoted = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
    if failed:
        return 500, "\n".join([*lines, f"{root} check failed", ""])
    if "verbose" in params:
        return 200, "\n".join([*lines, f"{root} check passed", ""])
    return 200, "ok"
