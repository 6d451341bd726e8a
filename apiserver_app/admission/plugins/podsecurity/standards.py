"""The Pod Security Standards: what each level forbids, in upstream's words.

Every check is a function of the pod's metadata and spec that returns a Violation or None. A
namespace may ask for the rules of an older version: later checks are then skipped, and some differ.

Models kubernetes staging/src/k8s.io/pod-security-admission/policy.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

LEVELS = ("privileged", "baseline", "restricted")
LATEST = 33  # later rules are not modelled
_is_minor = re.compile(r"v1\.([0-9]|[1-9][0-9]*)").fullmatch

_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
# the first minor version that calls a sysctl safe
_SYSCTLS = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")
_SELINUX_TYPES_1_31 = (*_SELINUX_TYPES, "container_engine_t")
_VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_PROFILES = ("RuntimeDefault", "Localhost")
_SECCOMP_ANNOTATIONS = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/",
)
_APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


class Violation(NamedTuple):
    reason: str
    detail: str = ""


# (metadata, spec, minor version whose rules count)
Check = Callable[[Object, Object, int], Violation | None]


def is_version(text: str) -> bool:
    return text == "latest" or _is_minor(text) is not None


def violations(level: str, version: str, pod: Object) -> list[Violation]:
    """Returns what the level forbids about the pod or template, in upstream's order."""
    minor = LATEST if version == "latest" else int(version.partition(".")[2])
    metadata, spec = pod.get("metadata") or {}, pod["spec"]
    results = (check(metadata, spec, minor) for check in _checks(level, minor))
    return [violation for violation in results if violation is not None]


def describe(items: Sequence[Violation]) -> str:
    return ", ".join(
        f"{violation.reason} ({violation.detail})" if violation.detail else violation.reason
        for violation in items
    )


# -- how upstream speaks ------------------------------------------------------------------------


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _plural(noun: str, count: int, plural: str = "") -> str:
    return noun if count == 1 else plural or f"{noun}s"


def _containers(spec: Object) -> list[Object]:
    fields = ("initContainers", "containers", "ephemeralContainers")
    return [container for field in fields for container in spec.get(field) or ()]


def _context(holder: Object) -> Object:
    return holder.get("securityContext") or {}


def _named(containers: Sequence[Object]) -> str:
    names = [str(container["name"]) for container in containers]
    return f"{_plural('container', len(names))} {_quoted(names)}"


def _setters(pod_is_bad: bool, containers: Sequence[Object]) -> str:
    parts = ["pod"] if pod_is_bad else []
    if containers:
        parts.append(_named(containers))
    return " and ".join(parts)


def _bad(spec: Object, judge: Callable[[Object], bool]) -> list[Object]:
    return [container for container in _containers(spec) if judge(_context(container))]


def _is_windows(spec: Object, minor: int) -> bool:
    """Reports whether Linux-only rules are skipped, which they are for Windows pods since 1.25."""
    return minor >= 25 and bool((spec.get("os") or {}).get("name") == "windows")


# -- baseline -----------------------------------------------------------------------------------


def _app_armor(metadata: Object, spec: Object, minor: int) -> Violation | None:
    def is_forbidden(context: Object) -> bool:
        profile = context.get("appArmorProfile")
        return profile is not None and profile.get("type") not in _PROFILES

    bad, pod_is_bad = _bad(spec, is_forbidden), is_forbidden(_context(spec))
    holders = [_context(spec)] if pod_is_bad else []
    holders += [_context(container) for container in bad]
    values = sorted({holder["appArmorProfile"].get("type", "") for holder in holders})
    annotated = sorted(
        f'{key}="{value}"'
        for key, value in meta.annotations_of({"metadata": metadata}).items()
        if key.startswith(_APPARMOR_ANNOTATION)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    setters = [_setters(pod_is_bad, bad)] if pod_is_bad or bad else []
    if annotated:
        setters.append(_plural("annotation", len(annotated)))
    if not setters:
        return None
    values += annotated
    return Violation(
        _plural("forbidden AppArmor profile", len(values)),
        f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}",
    )


def _capabilities(metadata: Object, spec: Object, minor: int) -> Violation | None:
    def added(context: Object) -> list[str]:
        names = (context.get("capabilities") or {}).get("add") or ()
        return [name for name in names if name not in _CAPABILITIES]

    bad = _bad(spec, lambda context: bool(added(context)))
    if not bad:
        return None
    names = sorted({name for container in bad for name in added(_context(container))})
    return Violation(
        "non-default capabilities",
        f"{_named(bad)} must not include {_quoted(names)} in securityContext.capabilities.add",
    )


def _host_namespaces(metadata: Object, spec: Object, minor: int) -> Violation | None:
    used = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_path(metadata: Object, spec: Object, minor: int) -> Violation | None:
    names = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath")]
    if not names:
        return None
    return Violation("hostPath volumes", f"{_plural('volume', len(names))} {_quoted(names)}")


def _host_ports(metadata: Object, spec: Object, minor: int) -> Violation | None:
    def ports(container: Object) -> list[str]:
        return [str(p["hostPort"]) for p in container.get("ports") or () if p.get("hostPort")]

    bad = [container for container in _containers(spec) if ports(container)]
    if not bad:
        return None
    numbers = sorted({number for container in bad for number in ports(container)})
    return Violation(
        "hostPort",
        f"{_named(bad)} {_plural('uses', len(bad), 'use')} "
        f"{_plural('hostPort', len(numbers))} {', '.join(numbers)}",
    )


def _privileged(metadata: Object, spec: Object, minor: int) -> Violation | None:
    bad = _bad(spec, lambda context: bool(context.get("privileged")))
    if not bad:
        return None
    detail = f"{_named(bad)} must not set securityContext.privileged=true"
    return Violation("privileged", detail)


def _proc_mount(metadata: Object, spec: Object, minor: int) -> Violation | None:
    bad = _bad(spec, lambda context: context.get("procMount", "Default") != "Default")
    if not bad:
        return None
    kinds = sorted({_context(container)["procMount"] for container in bad})
    return Violation(
        "procMount", f"{_named(bad)} must not set securityContext.procMount to {_quoted(kinds)}"
    )


def _se_linux(metadata: Object, spec: Object, minor: int) -> Violation | None:
    known = _SELINUX_TYPES_1_31 if minor >= 31 else _SELINUX_TYPES

    def is_forbidden(context: Object) -> bool:
        options = context.get("seLinuxOptions")
        if options is None:
            return False
        bad_type = options.get("type", "") not in known
        return bad_type or bool(options.get("user") or options.get("role"))

    bad, pod_is_bad = _bad(spec, is_forbidden), is_forbidden(_context(spec))
    if not bad and not pod_is_bad:
        return None
    holders = [spec, *bad] if pod_is_bad else bad
    options = [_context(holder)["seLinuxOptions"] for holder in holders]
    types = sorted({option["type"] for option in options if option.get("type", "") not in known})
    data = [f"{_plural('type', len(types))} {_quoted(types)}"] if types else []
    data += [
        f"{field} may not be set"
        for field in ("user", "role")
        if any(option.get(field) for option in options)
    ]
    return Violation(
        "seLinuxOptions",
        f"{_setters(pod_is_bad, bad)} set forbidden securityContext.seLinuxOptions: "
        f"{'; '.join(data)}",
    )


def _seccomp_is_forbidden(context: Object) -> bool:
    profile = context.get("seccompProfile")
    return profile is not None and profile.get("type") not in _PROFILES


def _seccomp_baseline(metadata: Object, spec: Object, minor: int) -> Violation | None:
    bad, pod_is_bad = _bad(spec, _seccomp_is_forbidden), _seccomp_is_forbidden(_context(spec))
    if not bad and not pod_is_bad:
        return None
    holders = [spec, *bad] if pod_is_bad else bad
    types = sorted({_context(holder)["seccompProfile"].get("type", "") for holder in holders})
    return Violation(
        "seccompProfile",
        f"{_setters(pod_is_bad, bad)} must not set securityContext.seccompProfile.type to "
        f"{_quoted(types)}",
    )


def _seccomp_annotations(metadata: Object, spec: Object, minor: int) -> Violation | None:
    """Checks the annotation that held the profile before 1.19."""
    bad = sorted(
        f'{key}="{value}"'
        for key, value in meta.annotations_of({"metadata": metadata}).items()
        if key.startswith(_SECCOMP_ANNOTATIONS) and value == "unconfined"
    )
    if not bad:
        return None
    label = _plural("forbidden annotation", len(bad))
    return Violation("seccompProfile", f"{label} {', '.join(bad)}")


def _sysctls(metadata: Object, spec: Object, minor: int) -> Violation | None:
    names = [sysctl["name"] for sysctl in _context(spec).get("sysctls") or ()]
    bad = [name for name in names if _SYSCTLS.get(name, LATEST + 1) > minor]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(metadata: Object, spec: Object, minor: int) -> Violation | None:
    def is_forbidden(context: Object) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    bad, pod_is_bad = _bad(spec, is_forbidden), is_forbidden(_context(spec))
    if not bad and not pod_is_bad:
        return None
    return Violation(
        "hostProcess",
        f"{_setters(pod_is_bad, bad)} must not set securityContext.windowsOptions.hostProcess=true",
    )


# -- restricted ---------------------------------------------------------------------------------


def _escalation(metadata: Object, spec: Object, minor: int) -> Violation | None:
    bad = _bad(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    if not bad or _is_windows(spec, minor):
        return None
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{_named(bad)} must set securityContext.allowPrivilegeEscalation=false",
    )


def _capabilities_restricted(metadata: Object, spec: Object, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None

    def listed(context: Object, field: str) -> Sequence[str]:
        return (context.get("capabilities") or {}).get(field) or ()

    def added(context: Object) -> list[str]:
        return [name for name in listed(context, "add") if name != "NET_BIND_SERVICE"]

    keeping = _bad(spec, lambda context: "ALL" not in listed(context, "drop"))
    adding = _bad(spec, lambda context: bool(added(context)))
    details: list[str] = []
    if keeping:
        details.append(f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        names = sorted({name for container in adding for name in added(_context(container))})
        details.append(
            f"{_named(adding)} must not include {_quoted(names)} in "
            "securityContext.capabilities.add"
        )
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _volumes(metadata: Object, spec: Object, minor: int) -> Violation | None:
    bad: list[tuple[str, str]] = []
    for volume in spec.get("volumes") or ():
        sources = [field for field in volume if field != "name"]
        if not any(field in _VOLUMES for field in sources):
            bad.append((volume["name"], sources[0] if sources else "unknown"))
    if not bad:
        return None
    kinds = sorted({kind for _, kind in bad})
    return Violation(
        "restricted volume types",
        f"{_plural('volume', len(bad))} {_quoted(name for name, _ in bad)} "
        f"{_plural('uses', len(bad), 'use')} "
        f"{_plural('restricted volume type', len(kinds))} {_quoted(kinds)}",
    )


def _run_as_non_root(metadata: Object, spec: Object, minor: int) -> Violation | None:
    of_pod = _context(spec).get("runAsNonRoot")
    bad = _bad(spec, lambda context: context.get("runAsNonRoot") is False)
    if bad or of_pod is False:
        return Violation(
            "runAsNonRoot != true",
            f"{_setters(of_pod is False, bad)} must not set securityContext.runAsNonRoot=false",
        )
    silent = _bad(spec, lambda context: context.get("runAsNonRoot") is None)
    if of_pod or not silent:
        return None
    return Violation(
        "runAsNonRoot != true",
        f"pod or {_named(silent)} must set securityContext.runAsNonRoot=true",
    )


def _run_as_user(metadata: Object, spec: Object, minor: int) -> Violation | None:
    def is_forbidden(context: Object) -> bool:
        return context.get("runAsUser") == 0

    bad, pod_is_bad = _bad(spec, is_forbidden), is_forbidden(_context(spec))
    if not bad and not pod_is_bad:
        return None
    return Violation("runAsUser=0", f"{_setters(pod_is_bad, bad)} must not set runAsUser=0")


def _seccomp_restricted(metadata: Object, spec: Object, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    violation = _seccomp_baseline(metadata, spec, minor)
    if violation is not None:
        return violation
    silent = _bad(spec, lambda context: context.get("seccompProfile") is None)
    if _context(spec).get("seccompProfile") is not None or not silent:
        return None
    return Violation(
        "seccompProfile",
        f"pod or {_named(silent)} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost"',
    )


class _Row(NamedTuple):
    """A check, the minor versions that make it, and the baseline check it replaces."""

    check: Check
    since: int = 0
    until: int = 999
    replaces: Check | None = None


# upstream's order: baseline checks by id, then restricted ones
_BASELINE: tuple[_Row, ...] = (
    _Row(_app_armor),
    _Row(_capabilities),
    _Row(_host_namespaces),
    _Row(_host_path),
    _Row(_host_ports),
    _Row(_privileged),
    _Row(_proc_mount),
    _Row(_se_linux),
    _Row(_seccomp_annotations, until=19),
    _Row(_seccomp_baseline, since=19),
    _Row(_sysctls),
    _Row(_host_process),
)
_RESTRICTED: tuple[_Row, ...] = (
    _Row(_escalation, since=8),
    _Row(_capabilities_restricted, since=22, replaces=_capabilities),
    _Row(_volumes, replaces=_host_path),
    _Row(_run_as_non_root),
    _Row(_run_as_user, since=23),
    _Row(_seccomp_restricted, since=19, replaces=_seccomp_baseline),
)


@functools.cache
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    """Returns the checks of a level in a version."""
    if level == "privileged":
        return ()
    baseline = [row for row in _BASELINE if row.since <= minor < row.until]
    if level == "baseline":
        return tuple(row.check for row in baseline)
    stricter = [row for row in _RESTRICTED if row.since <= minor < row.until]
    replaced = [row.replaces for row in stricter]
    remaining = [row.check for row in baseline if row.check not in replaced]
    return (*remaining, *(row.check for row in stricter))
