"""Warnings about a pod's spec: fields that are valid but most likely a mistake.

Models kubernetes pkg/api/pod/warnings.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery.releases import Release
from apiserver_app.registry.core import persistentvolumeclaim, resources
from apiserver_app.registry.core.pod import apparmor
from apiserver_app.registry.validation import addresswarnings, nodewarnings

Spec = Mapping[str, Any]
# number and protocol -> paths of other ports, with host IP and host port
PORT_WARNINGS_MAX = 1000  # a client receives far fewer
Ports = dict[tuple[int, str], list[tuple[str, str, int]]]

_SYSCTLS = 'non-functional in v1.11+; use the "sysctls" field instead'
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
_OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}


def add(spec: Spec, metadata: Spec, path: str, release: Release, warnings: list[str]) -> None:
    """Appends the warnings. `path` is `spec`, or `spec.template.spec` for a template."""
    if spec.get("nodeSelector"):
        nodewarnings.keys(spec["nodeSelector"], f"{path}.nodeSelector", warnings)
    affinity, annotations = spec.get("affinity") or {}, metadata.get("annotations") or {}
    if affinity:
        _node_affinity(
            affinity.get("nodeAffinity") or {}, f"{path}.affinity.nodeAffinity", warnings
        )
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at = f"{path}.topologySpreadConstraints[{index}]"
        nodewarnings.key(constraint.get("topologyKey") or "", f"{at}.topologyKey", warnings)
        if constraint.get("labelSelector") is None:
            warnings.append(f"{at}.labelSelector: {_NO_SELECTOR}")
    above = f"{path.removesuffix('spec')}metadata.annotations"
    for key in annotations:
        if key in _OLD_ANNOTATIONS:
            warnings.append(f"{above}[{key}]: {_OLD_ANNOTATIONS[key]}")
    if spec.get("volumes"):
        _volumes(spec["volumes"], f"{path}.volumes", warnings)
    aliases = spec.get("hostAliases") or ()
    _duplicates(aliases, "ip", f"{path}.hostAliases", warnings)
    if spec.get("imagePullSecrets"):
        _names(spec["imagePullSecrets"], f"{path}.imagePullSecrets", warnings)
    if spec.get("overhead"):
        _fractions(spec["overhead"], f"{path}.overhead", warnings)
    security = spec.get("securityContext") or {}
    if _SECCOMP_POD in annotations and security.get("seccompProfile") is None:
        warnings.append(f"{above}[{_SECCOMP_POD}]: {_SECCOMP}")
    seen: Ports = {}
    ports: list[str] = []
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            at = f"{path}.{group}[{index}]"
            if annotations:
                _old_profiles(container, security, annotations, above, warnings)
            _container(container, at, warnings)
            for port_index, port in enumerate(container.get("ports") or ()):
                _port(port, f"{at}.ports[{port_index}]", seen, ports)
    warnings += ports
    _port_names(spec, path, warnings)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        warnings.append(
            f"{path}.terminationGracePeriodSeconds: must be >= 0; "
            "negative values are invalid and will be treated as 1"
        )
    for kind in ("podAffinity", "podAntiAffinity") if affinity else ():
        _pod_affinity(affinity.get(kind) or {}, f"{path}.affinity.{kind}", warnings)
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    for index, server in enumerate(servers):
        addresswarnings.ip(server, f"{path}.dnsConfig.nameservers[{index}]", release, warnings)
    for index, alias in enumerate(aliases):
        addresswarnings.ip(
            alias.get("ip") or "", f"{path}.hostAliases[{index}].ip", release, warnings
        )


# -- inside -------------------------------------------------------------------------------------


def _node_affinity(affinity: Spec, path: str, warnings: list[str]) -> None:
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        nodewarnings.term(term, f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]", warnings)
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}].preference"
        nodewarnings.term(term.get("preference") or {}, at, warnings, values=True)


def _pod_affinity(affinity: Spec, path: str, warnings: list[str]) -> None:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        if term.get("labelSelector") is None:
            warnings.append(f"{path}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}")
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
            at = f"{path}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector"
            warnings.append(f"{at}: {_NO_SELECTOR}")


def _volumes(volumes: Sequence[Spec], path: str, warnings: list[str]) -> None:
    tokens = {
        source["serviceAccountToken"].get("path")
        for volume in volumes
        for source in (volume.get("projected") or {}).get("sources") or ()
        if source.get("serviceAccountToken") is not None
    }
    for index, volume in enumerate(volumes):
        for kind in volume:
            if kind in _OLD_VOLUMES:
                word = "storageOS" if kind == "storageos" else kind
                warnings.append(f"{path}[{index}].{word}: {_OLD_VOLUMES[kind]}")
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is not None:
            at = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
            persistentvolumeclaim.warn_of_fractions(template.get("spec") or {}, at, warnings)
    for index, volume in enumerate(volumes):
        sources = (volume.get("projected") or {}).get("sources") or ()
        for source in sources if tokens else ():
            _paths(source, tokens, f"{path}[{index}].projected.sources", warnings)


def _paths(source: Spec, tokens: set[str], path: str, warnings: list[str]) -> None:
    """Warns of files that would overwrite a service account token."""
    text = "has duplicated path with ServiceAccountToken"
    words = (("configMap", "configMap"), ("secret", "secrets"), ("downwardAPI", "downwardAPI"))
    for kind, word in words:
        for index, item in enumerate((source.get(kind) or {}).get("items") or ()):
            if item.get("path") in tokens:
                warnings.append(f'{path}.{word}[{index}]: {text} "{item["path"]}"')
    bundle = source.get("clusterTrustBundle")
    if bundle is not None and bundle.get("path") in tokens:
        warnings.append(f'{path}.ClusterTrustBundle: {text} "{bundle["path"]}"')


def _duplicates(items: Sequence[Spec], field: str, path: str, warnings: list[str]) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(field) or ""
        if value in seen:
            warnings.append(f'{path}[{index}].{field}: duplicate {field} "{value}"')
        seen.add(value)


def _names(secrets: Sequence[Spec], path: str, warnings: list[str]) -> None:
    _duplicates(secrets, "name", path, warnings)
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            warnings.append(f'{path}[{index}].name: invalid empty name ""')


def _old_profiles(
    container: Spec, pod: Spec, annotations: Spec, path: str, warnings: list[str]
) -> None:
    """Warns of annotations that were replaced by fields of the container."""
    name, security = container.get("name") or "", container.get("securityContext") or {}
    seccomp = f"{_SECCOMP_CONTAINER}{name}"
    if seccomp in annotations and security.get("seccompProfile") is None:
        warnings.append(f"{path}[{seccomp}]: {_SECCOMP}")
    armor = f"{apparmor.ANNOTATION}{name}"
    fields = (security.get("appArmorProfile"), pod.get("appArmorProfile"))
    # a pod was warned of when its fields were set
    if armor in annotations and fields == (None, None) and path != "metadata.annotations":
        warnings.append(f"{path}[{armor}]: {apparmor.DEPRECATED}")


def _fractions(amounts: Spec, path: str, warnings: list[str]) -> None:
    for name in ("memory", "ephemeral-storage"):
        resources.fraction_warning(amounts, name, path, warnings)


def _container(container: Spec, path: str, warnings: list[str]) -> None:
    amounts = container.get("resources")
    if amounts:
        for name in ("memory", "ephemeral-storage"):
            for kind in ("limits", "requests"):
                resources.fraction_warning(
                    amounts.get(kind) or {}, name, f"{path}.resources.{kind}", warnings
                )
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        itself = f"$({name})"
        # a later variable that refers to the earlier one extends it
        if name in seen and (itself not in value or value == itself):
            warnings.append(
                f'{path}.env[{index}]: hides previous definition of "{name}", '
                "which may be dropped when using apply"
            )
        seen.add(name)


def _port_names(spec: Spec, path: str, warnings: list[str]) -> None:
    """Warns of a name that ports of several containers have."""
    seen: dict[str, str] = {}
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            for number, port in enumerate(container.get("ports") or ()):
                name, at = port.get("name"), f"{path}.{group}[{index}].ports[{number}]"
                if not name or len(warnings) > PORT_WARNINGS_MAX:
                    continue
                first = seen.setdefault(name, at)
                if first is not at:
                    warnings.append(
                        f'{at}: duplicate port name "{name}" with {first}, services and probes '
                        f"that select ports by name will use {first}"
                    )


def _port(port: Spec, path: str, seen: Ports, warnings: list[str]) -> None:
    number, protocol = port.get("containerPort") or 0, port.get("protocol") or ""
    ip, host = port.get("hostIP") or "", port.get("hostPort") or 0
    if ip and not host:
        struct = f"{{Name:{port.get('name') or ''} HostPort:0 ContainerPort:{number} "
        warnings.append(
            f"{path}: hostIP set without hostPort: {struct}Protocol:{protocol} HostIP:{ip}}}"
        )
    others = seen.setdefault((number, protocol), [])
    if len(warnings) > PORT_WARNINGS_MAX:
        return
    for at, other_ip, other_host in others:
        if (ip, host) == (other_ip, other_host):
            warnings.append(f"{path}: duplicate port definition with {at}")
        elif not host or not other_host:
            warnings.append(f"{path}: overlapping port definition with {at}")
        elif host == other_host and bool(ip) != bool(other_ip):
            warnings.append(f"{path}: dangerously ambiguous port definition with {at}")
    others.append((path, ip, host))
