"""Data that drives the simulation, as YAML files with a schema and a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_HERE = Path(__file__).parent
ADDONS = ("metrics-server", "ingress-nginx")  # whose manifests are here


def images() -> dict[str, dict[str, Any]]:
    """The image catalog: normalized name -> fields of controllers_app.cri.images.Image.
    Sets of files are given as the files that they are."""
    data = _read("images.yaml")
    images: dict[str, dict[str, Any]] = data["images"]
    for name in data["official"].split():
        images.setdefault(f"docker.io/library/{name}:*", {})
    sets: dict[str, dict[str, str]] = _read("files.yaml")["files"]
    for entry in images.values():
        if "files" in entry:
            entry["files"] = {
                path: text for file in entry["files"] for path, text in sets[file].items()
            }
        if not entry.get("digest"):
            entry.pop("digest", None)
    return images


def profile(name: str) -> dict[str, Any]:
    """What a profile says beside its version and flags; nothing for the default one."""
    path = f"profiles/{name}.yaml"
    return _read(path) if (_HERE / path).exists() else {}


def objects(profile: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that a cluster of a profile has, beside kubeadm's."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    texts = [(_HERE / name).read_bytes() for name in profile.get("objects") or ()]
    return [document for text in texts for document in yaml.load_all(text, loader)]


def manifest(addon: str) -> str:
    """What installs one of ADDONS."""
    return (_HERE / f"{addon}.yaml").read_text(encoding="utf-8")


def recording(profile: dict[str, Any]) -> Path | None:
    """The file of the recorded story that comes with a profile."""
    name = profile.get("recording")
    return _HERE / name if name else None


def etcdctl() -> dict[str, Any]:
    """The flags and commands of the program etcdctl, and those that it refuses with the reason."""
    return _read("etcdctl.yaml")


def likeness() -> dict[str, Any]:
    """What was last held against a real cluster, and how much of it was the same."""
    return _read("likeness.yaml")


def _read(name: str) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, Any] = yaml.load((_HERE / name).read_bytes(), loader)
    return data
