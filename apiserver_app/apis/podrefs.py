"""The objects that a pod refers to: the edges of the Node authorizer's graph.

Models kubernetes pkg/api/v1/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames) and
pkg/api/v1/persistentvolume/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

Ref = tuple[str, str]  # (resource, name)

_MIRROR = "kubernetes.io/config.mirror"
# volume sources that name a secret: source -> path to the name
_VOLUME_SECRETS = (
    ("secret", ("secretName",)),
    ("azureFile", ("secretName",)),
    ("cephfs", ("secretRef", "name")),
    ("cinder", ("secretRef", "name")),
    ("flexVolume", ("secretRef", "name")),
    ("rbd", ("secretRef", "name")),
    ("scaleIO", ("secretRef", "name")),
    ("iscsi", ("secretRef", "name")),
    ("storageos", ("secretRef", "name")),
    ("csi", ("nodePublishSecretRef", "name")),
)
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "nodePublishSecretRef",
    "nodeStageSecretRef",
    "nodeExpandSecretRef",
)


def pod_refs(pod: Object) -> frozenset[Ref]:
    """Everything in the pod's namespace that its kubelet may read; nothing for mirror pods."""
    if _MIRROR in meta.annotations_of(pod):
        return frozenset()
    return frozenset(_refs(pod))


def volume_secrets(volume: Object) -> frozenset[tuple[str, str]]:
    """(namespace, name) of the secrets that a persistent volume names and a kubelet may read."""
    spec = volume.get("spec") or {}
    namespace = (spec.get("claimRef") or {}).get("namespace", "")
    out: set[tuple[str, str]] = set()
    csi = spec.get("csi") or {}
    for field in _CSI_SECRETS[1:]:
        ref = csi.get(field) or {}
        if ref.get("name"):
            out.add((ref.get("namespace") or namespace, ref["name"]))
    for source, path in _VOLUME_SECRETS[1:-1]:
        source_spec = spec.get(source) or {}
        secret_namespace = (source_spec.get("secretRef") or {}).get("namespace") or source_spec.get(
            "secretNamespace"
        )
        name = _string_at(source_spec, path)
        if name:
            out.add((secret_namespace or namespace, name))
    return frozenset(out)


def _refs(pod: Object) -> Iterator[Ref]:
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        yield "serviceaccounts", spec["serviceAccountName"]
    for secret in spec.get("imagePullSecrets") or ():
        if secret.get("name"):
            yield "secrets", secret["name"]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            yield from _container_refs(container)
    for volume in spec.get("volumes") or ():
        yield from _volume_refs(pod, volume)
    for claim in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if claim.get("resourceClaimName"):
            yield "resourceclaims", claim["resourceClaimName"]
    for claim in spec.get("resourceClaims") or ():
        if claim.get("resourceClaimName"):
            yield "resourceclaims", claim["resourceClaimName"]


def _container_refs(container: Object) -> Iterator[Ref]:
    for source in container.get("envFrom") or ():
        for field, resource in (("secretRef", "secrets"), ("configMapRef", "configmaps")):
            if source.get(field, {}).get("name"):
                yield resource, source[field]["name"]
    for variable in container.get("env") or ():
        value = variable.get("valueFrom") or {}
        for field, resource in (("secretKeyRef", "secrets"), ("configMapKeyRef", "configmaps")):
            if value.get(field, {}).get("name"):
                yield resource, value[field]["name"]


def _volume_refs(pod: Object, volume: Object) -> Iterator[Ref]:
    for source, path in _VOLUME_SECRETS:
        name = _string_at(volume.get(source) or {}, path)
        if name:
            yield "secrets", name
    config_map = (volume.get("configMap") or {}).get("name")
    if config_map:
        yield "configmaps", config_map
    for source in (volume.get("projected") or {}).get("sources") or ():
        for field, resource in (("secret", "secrets"), ("configMap", "configmaps")):
            if source.get(field, {}).get("name"):
                yield resource, source[field]["name"]
    claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
    if claim:
        yield "persistentvolumeclaims", claim
    if volume.get("ephemeral"):
        yield "persistentvolumeclaims", f"{meta.name_of(pod)}-{volume['name']}"


def _string_at(obj: Object, path: tuple[str, ...]) -> str:
    value = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None  # type: ignore[assignment]
    return value if isinstance(value, str) else ""
