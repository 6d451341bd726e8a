"""What upstream warns of in a pod's spec: legal, but most likely not what was meant.

Models kubernetes pkg/api/pod/warnings.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.registry.kinds import resources

Spec = Mapping[str, Any]

_OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "seccomp.security.alpha.kubernetes.io/pod": (
        'non-functional in v1.27+; use the "seccompProfile" field instead'
    ),
}
_OLD_VOLUMES = {
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}


def add(spec: Spec, metadata: Spec, path: str, told: list[str]) -> None:
    """`path` is `spec`, or `spec.template.spec` for a template."""
    for key in spec.get("nodeSelector") or ():
        if key in _OLD_LABELS:
            told.append(f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}")
    annotations = metadata.get("annotations") or {}
    above = f"{path.removesuffix('spec')}metadata.annotations"
    for key in sorted(annotations):
        if key in _OLD_ANNOTATIONS:
            told.append(f"{above}[{key}]: {_OLD_ANNOTATIONS[key]}")
    for index, volume in enumerate(spec.get("volumes") or ()):
        for kind in volume:
            if kind in _OLD_VOLUMES:
                told.append(f"{path}.volumes[{index}].{kind}: {_OLD_VOLUMES[kind]}")
    _names(spec.get("imagePullSecrets") or (), f"{path}.imagePullSecrets", told)
    for group in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(group) or ()):
            _container(container, f"{path}.{group}[{index}]", told)
    _ports(spec, path, told)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        told.append(
            f"{path}.terminationGracePeriodSeconds: must be >= 0; "
            "negative values are invalid and will be treated as 1"
        )


# -- inside -------------------------------------------------------------------------------------


def _names(secrets: Sequence[Spec], path: str, told: list[str]) -> None:
    seen: set[str] = set()
    for index, secret in enumerate(secrets):
        name = secret.get("name") or ""
        if not name:
            told.append(f'{path}[{index}].name: invalid empty name ""')
        elif name in seen:
            told.append(f'{path}[{index}].name: duplicate name "{name}"')
        seen.add(name)


def _container(container: Spec, path: str, told: list[str]) -> None:
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name = variable.get("name") or ""
        # a later variable that uses the earlier one only extends it
        if name in seen and f"$({name})" not in (variable.get("value") or ""):
            told.append(
                f'{path}.env[{index}]: hides previous definition of "{name}", '
                "which may be dropped when using apply"
            )
        seen.add(name)
    amounts = container.get("resources") or {}
    for kind in ("limits", "requests"):
        for resource in ("memory", "ephemeral-storage"):
            value = (amounts.get(kind) or {}).get(resource)
            if value is not None and resources.nano(value) % 10**9:
                written = resources.canonical(value)
                told.append(
                    f"{path}.resources.{kind}[{resource}]: fractional byte value "
                    f'"{written}" is invalid, must be an integer'
                )


def _ports(spec: Spec, path: str, told: list[str]) -> None:
    seen: dict[tuple[int, str], str] = {}
    for index, container in enumerate(spec.get("containers") or ()):
        for place, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort") or not port.get("containerPort"):
                continue
            key = (port["containerPort"], port.get("protocol") or "TCP")
            at = f"{path}.containers[{index}].ports[{place}]"
            if key in seen:
                told.append(f"{at}: duplicate port definition with {seen[key]}")
            else:
                seen[key] = at
