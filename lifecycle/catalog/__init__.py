"""Data that drives the simulation, as YAML files with a schema and a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_HERE = Path(__file__).parent


def images() -> dict[str, dict[str, Any]]:
    """The image catalog: normalized name -> fields of controllers_app.kubelet.images.Behaviour."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, dict[str, Any]] = yaml.load((_HERE / "images.yaml").read_bytes(), loader)
    return data["images"]
