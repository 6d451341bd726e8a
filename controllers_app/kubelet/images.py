"""What an image is and does: its size, how long it takes to start and stop, whether it ends.

The data comes from lifecycle/catalog/images.yaml; an image that is not in it is plausible. A pod
may say otherwise for itself by annotations `simulation.lifecycle/...`, so that a lesson can script
a crash loop in YAML.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

PREFIX = "simulation.lifecycle/"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One image as the simulation knows it."""

    name: str
    size_bytes: int = 50_000_000
    digest: str = ""
    missing: str = ""  # why it cannot be pulled; empty when it can
    start_seconds: float = 0.3
    ready_seconds: float = 0.0
    stop_seconds: float = 0.5
    runs_seconds: float | None = None  # None: until it is stopped
    exit_code: int = 0
    logs: tuple[str, ...] = ()


class Catalog:
    """Images by normalized name. `entries` is the parsed YAML, checked by its own test."""

    def __init__(self, entries: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._entries = dict(entries or {})

    def find(self, image: str) -> Behaviour:
        """The image as it is pulled and run."""
        name = normalized(image)
        entry = self._entries.get(name) or self._entries.get(repository(name) + ":*") or {}
        fields = {key: value for key, value in entry.items() if key != "logs"}
        behaviour = Behaviour(name, **fields)
        if entry.get("logs"):
            behaviour = replace(behaviour, logs=tuple(entry["logs"]))
        if not behaviour.digest:
            digest = hashlib.sha256(name.encode()).hexdigest()
            behaviour = replace(behaviour, digest=f"sha256:{digest}")
        return behaviour


def for_pod(behaviour: Behaviour, pod: Object) -> Behaviour:
    """The image's behaviour with what the pod's annotations change."""
    notes = meta.annotations_of(pod)
    if not any(key.startswith(PREFIX) for key in notes):
        return behaviour
    changes: dict[str, Any] = {}
    for key, field, kind in _ANNOTATIONS:
        text = notes.get(PREFIX + key)
        if text is None:
            continue
        try:
            changes[field] = kind(text)
        except ValueError:
            continue
    if notes.get(PREFIX + "crash") == "true":
        changes.setdefault("runs_seconds", 1.0)
        changes.setdefault("exit_code", 1)
    return replace(behaviour, **changes)


_ANNOTATIONS: tuple[tuple[str, str, Any], ...] = (
    ("exit-code", "exit_code", int),
    ("run-seconds", "runs_seconds", float),
    ("start-seconds", "start_seconds", float),
    ("ready-after-seconds", "ready_seconds", float),
    ("stop-seconds", "stop_seconds", float),
)


def normalized(image: str) -> str:
    """`nginx` is `docker.io/library/nginx:latest`."""
    name = image
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif "." not in first and ":" not in first and first != "localhost":
        name = f"docker.io/{name}"
    last = name.rsplit("/", 1)[-1]
    return name if ":" in last or "@" in last else f"{name}:latest"


def repository(name: str) -> str:
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition("@")[0].partition(":")[0]
