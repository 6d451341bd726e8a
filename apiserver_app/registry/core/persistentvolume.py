"""The strategy of PersistentVolumes: source, size and claim reference. The source is immutable.

Models kubernetes pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go and
pkg/registry/core/persistentvolume/strategy.go.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, rfc3339
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import persistentvolumeclaim, resources, volumesources
from apiserver_app.registry.core.pod import scheduling
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, godiff, gosyntax, nodewarnings, objectmeta

_RECLAIM = ("Delete", "Recycle", "Retain")
# in upstream's order of looking at them
SOURCES = tuple(
    """
    hostPath gcePersistentDisk awsElasticBlockStore glusterfs flocker nfs rbd quobyte cephfs iscsi
    cinder fc flexVolume azureFile vsphereVolume photonPersistentDisk portworxVolume azureDisk
    scaleIO local storageos csi
    """.split()
)
_OLD_NOTES = {
    persistentvolumeclaim.CLASS_NOTE: persistentvolumeclaim.CLASS_NOTE_TEXT,
    "volume.beta.kubernetes.io/mount-options": (
        'deprecated since v1.31; use "mountOptions" attribute instead'
    ),
}
_OLD_SOURCES = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
}


class PersistentVolumeStrategy(Strategy):
    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        if spec.get("capacity"):
            resources.canonicalize(spec["capacity"])
        for kind in SOURCES:
            if spec.get(kind) is not None:
                volumesources.default(kind, spec[kind])
        status: dict[str, Any] = obj.get("status") or {}
        obj["status"] = status
        if not status.get("phase"):
            status["phase"] = "Pending"
            gofields.arrange(status, "core.v1.PersistentVolumeStatus")

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": rfc3339(ctx.now)}
        _prepare(ctx, obj["spec"], {})

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_update(ctx, obj, old)
        if obj["spec"] is not old["spec"]:
            _prepare(ctx, obj["spec"], old["spec"])

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        phase = (old.get("status") or {}).get("phase")
        if obj.get("status") and obj["status"].get("phase") != phase:
            obj["status"]["lastPhaseTransitionTime"] = rfc3339(ctx.now)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        validate_spec(obj["spec"], obj["metadata"].get("name") or "", "spec", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec == before:
            return []
        errs = self.validate(ctx, obj)
        new, source = _sources(spec), _sources(before)
        # the secret for growing may be named later
        grows = (source.get("csi") or {}).get("controllerExpandSecretRef")
        if grows is None and "csi" in source and new.get("csi"):
            csi = {k: v for k, v in new["csi"].items() if k != "controllerExpandSecretRef"}
            new["csi"] = csi
        if new != source:
            text = "spec.persistentvolumesource is immutable after creation\n" + godiff.of(
                source, new, "core.PersistentVolumeSource", ctx.version
            )
            errs.append(errors.forbidden_value("spec.persistentvolumesource", text))
        objectmeta.immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode", errs)
        _affinity_change(spec.get("nodeAffinity"), before.get("nodeAffinity"), errs)
        persistentvolumeclaim.attributes_change(spec, before, errs)
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings = []
        for note, text in _OLD_NOTES.items():
            if note in (obj["metadata"].get("annotations") or {}):
                warnings.append(f"metadata.annotations[{note}]: {text}")
        spec = obj["spec"]
        for kind, text in _OLD_SOURCES.items():
            if spec.get(kind) is not None:
                word = "storageOS" if kind == "storageos" else kind
                warnings.append(f"spec.{word}: {text}")
        if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
            warnings.append(
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
                "Instead, the recommended approach is to use dynamic provisioning."
            )
        path = "spec.nodeAffinity.required.nodeSelectorTerms"
        required = (spec.get("nodeAffinity") or {}).get("required") or {}
        for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
            nodewarnings.term(term, f"{path}[{index}]", warnings)
        return warnings


def validate_spec(
    spec: Mapping[str, Any], name: str, path: str, errs: list[FieldError], *, inline: bool = False
) -> None:
    """Validates the spec of volume `name`; `inline`: in a VolumeAttachment, with fewer fields."""
    if inline:
        _inline(spec, path, errs)
    modes = spec.get("accessModes") or ()
    if not modes:
        errs.append(errors.required(f"{path}.accessModes"))
    persistentvolumeclaim.access_modes(modes, f"{path}.accessModes", errs)
    if not inline:
        _capacity(spec.get("capacity") or {}, f"{path}.capacity", errs)
        policy = spec.get("persistentVolumeReclaimPolicy")
        if policy and policy not in _RECLAIM:
            at = f"{path}.persistentVolumeReclaimPolicy"
            errs.append(errors.not_supported(at, policy, _RECLAIM))
        affinity, at = spec.get("nodeAffinity"), f"{path}.nodeAffinity.required"
        if affinity is not None and affinity.get("required") is None:
            errs.append(errors.required(at, "must specify required node constraints"))
        elif affinity is not None:
            scheduling.node_selector(affinity["required"], at, errs)
    _source(spec, name, path, errs)
    root = posixpath.normpath((spec.get("hostPath") or {}).get("path") or ".") == "/"
    if root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errs.append(errors.forbidden_value(f"{path}.persistentVolumeReclaimPolicy", text))
    if inline:
        return
    if spec.get("storageClassName"):
        value, at = spec["storageClassName"], f"{path}.storageClassName"
        checks.named(value, at, names.dns1123_subdomain_errors, errs)
    mode, modes = spec.get("volumeMode"), persistentvolumeclaim.VOLUME_MODES
    if mode is not None and mode not in modes:
        errs.append(errors.not_supported(f"{path}.volumeMode", mode, modes))
    _attributes(spec, path, errs)


# -- inside -------------------------------------------------------------------------------------


def _prepare(ctx: Context, spec: dict[str, Any], before: Mapping[str, Any]) -> None:
    field = "volumeAttributesClassName"
    if before.get(field) is None and not persistentvolumeclaim.has_attributes(ctx):
        spec.pop(field, None)


def _sources(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: spec[kind] for kind in SOURCES if spec.get(kind) is not None}


def _inline(spec: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    def refuse(field: str, text: str = "may not be specified") -> None:
        text = f"{text} in the context of inline volumes"
        errs.append(errors.forbidden_value(f"{path}.{field}", text))

    for field in ("claimRef", "capacity", "nodeAffinity", "storageClassName"):
        if spec.get(field):
            refuse(field)
    if spec.get("csi") is None:
        text = "has to be specified in the context of inline volumes"
        errs.append(errors.required(f"{path}.csi", text))
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        refuse("persistentVolumeReclaimPolicy", "may only be Retain")
    if spec.get("volumeMode") not in (None, "Filesystem"):
        refuse("volumeMode", "may not specify volumeMode other than Filesystem")


def _capacity(capacity: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    if not capacity:
        errs.append(errors.required(path))
    if "storage" not in capacity or len(capacity) > 1:
        inner = ", ".join(
            f"{errors.go_value(name)}:{errors.go_value(gosyntax.quantity(capacity[name]))}"
            for name in sorted(capacity)
        )
        printed = errors.GoText(f"core.ResourceList{{{inner}}}" if capacity else _NO_AMOUNTS)
        errs.append(errors.not_supported(path, printed, ("storage",)))
    for name, value in capacity.items():
        resources.basic(value, f"{path}[{name}]", errs)
        resources.positive(value, f"{path}[{name}]", errs)


def _source(spec: Mapping[str, Any], name: str, path: str, errs: list[FieldError]) -> None:
    sources = _sources(spec)
    for index, (kind, source) in enumerate(sources.items()):
        if index and kind != "flexVolume":
            word = "cephFS" if kind == "cephfs" else kind
            text = "may not specify more than 1 volume type"
            errs.append(errors.forbidden_value(f"{path}.{word}", text))
            continue
        volumesources.check_persistent(kind, source, name, path, errs)
        if kind == "local" and spec.get("nodeAffinity") is None:
            text = "Local volume requires node affinity"
            errs.append(errors.required(f"{path}.nodeAffinity", text))
    if not sources:
        errs.append(errors.required(path, "must specify a volume type"))


def _attributes(spec: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    value, at = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if value is None:
        return
    if not value:
        errs.append(errors.required(at, "an empty string is disallowed"))
    else:
        checks.named(value, at, names.dns1123_subdomain_errors, errs)
    if spec.get("csi") is None:
        text = "has to be specified when using volumeAttributesClassName"
        errs.append(errors.required(f"{path}.csi", text))


def _affinity_change(
    now: Mapping[str, Any] | None, then: Mapping[str, Any] | None, errs: list[FieldError]
) -> None:
    """Node affinity is set once; deprecated zone labels may be replaced by their successors."""
    if then is None or _modern(now) == _modern(then):
        return
    pointer = gosyntax.pointer("core.NodeSelector", (now or {}).get("required"))
    printed = errors.GoText(f"core.VolumeNodeAffinity{{Required:{pointer}}}" if now else '"null"')
    text = "field is immutable, except for updating from beta label to GA"
    errs.append(errors.invalid_value("nodeAffinity", printed, text))


def _modern(affinity: Mapping[str, Any] | None) -> Any:
    text = json.dumps(affinity)
    for old, new in _SUCCESSORS.items():
        text = text.replace(f'"key": "{old}"', f'"key": "{new}"')
    return text


_NO_AMOUNTS = "core.ResourceList(nil)"
_SUCCESSORS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
