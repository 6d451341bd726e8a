"""/healthz, /livez and /readyz: every check by its name, each once.

The checks are those of a kube-apiserver: what is installed before all, the hooks that run after its
start, in the order of the three servers that it is made of, and what makes it ready. A hook is done
when the boot is.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go,
pkg/server/{hooks,healthz}.go and the hooks of pkg/controlplane and kube-aggregator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

ROOTS = ("/healthz", "/livez", "/readyz")
_HOOK = "poststarthook/"
_FIRST = ("ping", "log", "etcd")
# what only readyz asks for
_READY = ("etcd-readiness", "informer-sync")
# (name, the first minor version that has it), in order
_HOOKS: tuple[tuple[str, int], ...] = (
    ("start-apiserver-admission-initializer", 24),
    ("generic-apiserver-start-informers", 0),
    ("priority-and-fairness-config-consumer", 0),
    ("priority-and-fairness-filter", 0),
    ("storage-object-count-tracker-hook", 25),
    ("start-apiextensions-informers", 0),
    ("start-apiextensions-controllers", 0),
    ("crd-informer-synced", 0),
    ("start-system-namespaces-controller", 26),
    ("start-cluster-authentication-info-controller", 0),
    ("start-kube-apiserver-identity-lease-controller", 26),
    ("start-kube-apiserver-identity-lease-garbage-collector", 26),
    ("start-legacy-token-tracking-controller", 26),
    ("start-service-ip-repair-controllers", 26),
    ("rbac/bootstrap-roles", 0),
    ("scheduling/bootstrap-system-priority-classes", 0),
    ("priority-and-fairness-config-producer", 0),
    ("bootstrap-controller", 0),
    ("start-kubernetes-service-cidr-controller", 33),
    ("aggregator-reload-proxy-client-cert", 0),
    ("start-kube-aggregator-informers", 0),
    ("apiservice-status-local-available-controller", 32),
    ("apiservice-status-remote-available-controller", 32),
    ("apiservice-registration-controller", 0),
    ("apiservice-discovery-controller", 29),
    ("kube-apiserver-autoregistration", 0),
    ("", 0),  # the one check among them that is no hook
    ("apiservice-openapi-controller", 0),
    ("apiservice-openapiv3-controller", 24),
)


def checks(minor: int, root: str) -> list[str]:
    """The names at one of the three paths, in their order."""
    ready = _READY if root == "readyz" else ()
    hooks = [
        f"{_HOOK}{name}" if name else "autoregister-completion"
        for name, since in _HOOKS
        if minor >= since
    ]
    end = ["shutdown"] if root == "readyz" else []
    return [*_FIRST, *ready, *hooks, *end]


def answer(
    root: str,
    names: Sequence[str],
    params: Mapping[str, Sequence[str]],
    is_ok: Callable[[str], bool],
) -> tuple[int, str]:
    """Status and text of one of the three paths."""
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
