"""Data that drives the simulation, as YAML files with a schema and a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_HERE = Path(__file__).parent


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
