"""Fields of a pod that a release knows but takes only with a feature gate that is off: they are
dropped without a word, unless the stored pod has them already.

Models kubernetes pkg/api/pod/util.go.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from apiserver_app.machinery.releases import Release

Spec = dict[str, Any]

# whether a spec has it, and the spec without it
Field = tuple[Callable[[Spec], bool], Callable[[Spec], Spec]]

GROUPS = ("initContainers", "containers", "ephemeralContainers")


def without(spec: Spec, old: Spec | None, release: Release) -> Spec:
    """The spec without such fields; the same object if there are none. Nothing is changed."""
    for in_use, drop in _fields_off(release):
        if in_use(spec) and not (old and in_use(old)):
            spec = drop(spec)
    return spec


def in_template(holder: Spec, old: Mapping[str, Any] | None, release: Release) -> None:
    """The same for the template of what creates pods."""
    template = holder.get("template") or {}
    spec = template.get("spec")
    if not spec:
        return
    before = ((old or {}).get("template") or {}).get("spec")
    kept = without(spec, before, release)
    if kept is not spec:
        holder["template"] = {**template, "spec": kept}


@functools.cache
def _fields_off(release: Release) -> list[Field]:
    return [field for gate, field in _FIELDS.items() if not release.has(gate)]


def _key(name: str) -> Field:
    return lambda spec: name in spec, lambda spec: _less(spec, name)


def _container_key(name: str) -> Field:
    """A field of each container."""
    return (
        lambda spec: _any_container(spec, lambda container: name in container),
        lambda spec: _each_container(spec, lambda container: _less(container, name)),
    )


def _context(name: str) -> Field:
    """A field of the pod's security context."""

    def in_use(spec: Spec) -> bool:
        return bool(spec.get("securityContext")) and name in spec["securityContext"]

    def drop(spec: Spec) -> Spec:
        return {**spec, "securityContext": _less(spec["securityContext"], name)}

    return in_use, drop


def _less(value: Spec, name: str) -> Spec:
    return {key: item for key, item in value.items() if key != name}


def _each_container(spec: Spec, change: Callable[[Spec], Spec]) -> Spec:
    changed = {name: [*map(change, spec[name])] for name in GROUPS if spec.get(name)}
    return {**spec, **changed}


def _any_container(spec: Spec, check: Callable[[Spec], Any]) -> bool:
    return any(check(container) for name in GROUPS for container in spec.get(name) or ())


# -- claims of devices -------------------------------------------------------------------------


def _without_claims(spec: Spec) -> Spec:
    def change(container: Spec) -> Spec:
        resources = container.get("resources")
        if not resources or "claims" not in resources:
            return container
        return {**container, "resources": _less(resources, "claims")}

    return _less(_each_container(spec, change), "resourceClaims")


# -- volumes -----------------------------------------------------------------------------------


def _has_image_volume(spec: Spec) -> bool:
    return any(volume.get("image") is not None for volume in spec.get("volumes") or ())


def _without_image_volumes(spec: Spec) -> Spec:
    """The volumes go altogether, and with them their mounts."""
    gone = {volume.get("name") for volume in spec["volumes"] if volume.get("image") is not None}

    def change(container: Spec) -> Spec:
        mounts = container.get("volumeMounts")
        if not mounts:
            return container
        kept = [mount for mount in mounts if mount.get("name") not in gone]
        return {**container, "volumeMounts": kept} if kept else _less(container, "volumeMounts")

    volumes = [volume for volume in spec["volumes"] if volume.get("image") is None]
    spec = {**spec, "volumes": volumes} if volumes else _less(spec, "volumes")
    return _each_container(spec, change)


def _projected(name: str) -> Field:
    """A source of projected volumes."""

    def sources(volume: Spec) -> list[Spec]:
        return (volume.get("projected") or {}).get("sources") or []

    def in_use(spec: Spec) -> bool:
        return any(
            name in source for volume in spec.get("volumes") or () for source in sources(volume)
        )

    def change(volume: Spec) -> Spec:
        projected = sources(volume)
        if not any(name in source for source in projected):
            return volume
        left = [_less(source, name) for source in projected]
        return {**volume, "projected": {**volume["projected"], "sources": left}}

    return in_use, lambda spec: {**spec, "volumes": [*map(change, spec["volumes"])]}


# -- containers --------------------------------------------------------------------------------


def _stops(container: Spec) -> bool:
    return bool(container.get("lifecycle")) and "stopSignal" in container["lifecycle"]


def _without_stop_signals(spec: Spec) -> Spec:
    def change(container: Spec) -> Spec:
        if not _stops(container):
            return container
        left = _less(container["lifecycle"], "stopSignal")
        return {**container, "lifecycle": left} if left else _less(container, "lifecycle")

    return _each_container(spec, change)


def _reads_files(container: Spec) -> bool:
    return any(
        "fileKeyRef" in (variable.get("valueFrom") or {}) for variable in container.get("env") or ()
    )


def _without_files(spec: Spec) -> Spec:
    def change(container: Spec) -> Spec:
        if not _reads_files(container):
            return container
        variables = [
            {**variable, "valueFrom": _less(variable["valueFrom"], "fileKeyRef")}
            if "fileKeyRef" in (variable.get("valueFrom") or {})
            else variable
            for variable in container["env"]
        ]
        return {**container, "env": variables}

    return _each_container(spec, change)


# -- what /proc looks like ---------------------------------------------------------------------


def _is_unmasked(container: Spec) -> bool:
    mount: object = (container.get("securityContext") or {}).get("procMount", "Default")
    return mount != "Default"


def _masked(spec: Spec) -> Spec:
    """The field stays, with what it is by default."""

    def change(container: Spec) -> Spec:
        if not _is_unmasked(container):
            return container
        context = {**container["securityContext"], "procMount": "Default"}
        return {**container, "securityContext": context}

    return _each_container(spec, change)


_FIELDS: Mapping[str, Field] = {
    "UserNamespacesSupport": _key("hostUsers"),
    "SupplementalGroupsPolicy": _context("supplementalGroupsPolicy"),
    "PodLevelResources": _key("resources"),
    "DynamicResourceAllocation": (lambda spec: "resourceClaims" in spec, _without_claims),
    "ClusterTrustBundleProjection": _projected("clusterTrustBundle"),
    "PodCertificateRequest": _projected("podCertificate"),
    "GenericWorkload": _key("schedulingGroup"),
    "ImageVolume": (_has_image_volume, _without_image_volumes),
    "SELinuxChangePolicy": _context("seLinuxChangePolicy"),
    "ContainerStopSignals": (lambda spec: _any_container(spec, _stops), _without_stop_signals),
    "InPlacePodVerticalScaling": _container_key("resizePolicy"),
    "ContainerRestartRules": _container_key("restartPolicyRules"),
    "EnvFiles": (lambda spec: _any_container(spec, _reads_files), _without_files),
    "HostnameOverride": _key("hostnameOverride"),
    "ProcMountType": (lambda spec: _any_container(spec, _is_unmasked), _masked),
}
