"""AppArmor profiles of a new pod: the field of a container and its annotation say the same, so that
older and newer kubelets understand it. Since 1.34 the annotation is not set any more.

Models kubernetes pkg/registry/core/pod/strategy.go (applyAppArmorVersionSkew).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery.meta import Object
from apiserver_app.registry.core.pod.disabled import GROUPS

ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
DEPRECATED = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_LOCALHOST = "localhost/"
_WORDS = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}
_TYPES = {word: kind for kind, word in _WORDS.items()}

Profile = Mapping[str, Any]


def synchronize(obj: Object, annotates: bool, warnings: list[str]) -> None:
    """Sets the field of each container that has only the annotation, or the other way round."""
    spec, metadata = obj["spec"], obj["metadata"]
    if (spec.get("os") or {}).get("name") == "windows":
        return
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    for group in GROUPS:
        for container in spec.get(group) or ():
            key = f"{ANNOTATION}{container.get('name') or ''}"
            annotations = metadata.get("annotations") or {}
            profile = (container.get("securityContext") or {}).get("appArmorProfile")
            if key not in annotations:
                text = _annotation(profile or pod_profile or {}) if annotates else ""
                if text:
                    metadata["annotations"] = {**annotations, key: text}
            elif profile is None and _derive(container, annotations[key], pod_profile):
                warnings.append(f"metadata.annotations[{key}]: {DEPRECATED}")


def _derive(container: dict[str, Any], annotation: str, pod_profile: Profile | None) -> bool:
    """Sets the field from the annotation; returns whether the annotation is to be warned of."""
    profile = _field(annotation)
    if profile is None:
        return True
    if profile == pod_profile:
        return False
    container["securityContext"] = {
        **(container.get("securityContext") or {}),
        "appArmorProfile": profile,
    }
    return True


def _annotation(profile: Profile) -> str:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if kind == "Localhost" and local is not None:
        return f"{_LOCALHOST}{local}"
    return _WORDS.get(kind, "")


def _field(annotation: str) -> dict[str, Any] | None:
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    local = annotation.removeprefix(_LOCALHOST)
    if local and local != annotation and local == local.strip():
        return {"type": "Localhost", "localhostProfile": local}
    return None
