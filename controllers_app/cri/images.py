"""What an image is and does: its size, how long it takes to start and stop, whether it ends.

The data comes from lifecycle/catalog/images.yaml; an image that is not in it is plausible. A pod
may say otherwise for itself by annotations `simulation.lifecycle/...` (ANNOTATIONS), for all its
containers or for one (`simulation.lifecycle/<container>.<name>`), so that a lesson can script a
crash loop in YAML.

Image references are read as in distribution/reference (normalize.go, regexp.go).
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import STDOUT

PREFIX = "simulation.lifecycle/"
NEVER = float("inf")
CERTIFICATE = "/etc/webhook/tls.crt"  # what an image's server shows
SECONDS_MAX = 10 * 365 * 86_400.0
AMOUNT_MAX = 2.0**50
LINE_SECONDS = 0.004  # between two lines of an image's start
TASK_SECONDS = 1.0  # what runs in a container that has to end, when nothing is known of its image


@dataclass(frozen=True, slots=True)
class Line:
    """A line that an image logs `at` seconds after its start."""

    at: float
    text: str
    stream: str = STDOUT


@dataclass(frozen=True, slots=True)
class Image:
    """One image as the simulation knows it. Seconds of probes count from the start."""

    name: str
    size_bytes: int = 50_000_000
    digest: str = ""
    missing: str = ""  # why it cannot be pulled; empty when it can
    start_seconds: float = 0.3
    ready_seconds: float = 0.0  # from when on startup and readiness probes succeed
    unready_after_seconds: float | None = None  # from when on readiness probes fail
    unhealthy_after_seconds: float | None = None  # from when on liveness probes fail
    stop_seconds: float = 0.5
    runs_seconds: float | None = None  # None: until it is stopped
    exit_code: int = 0
    logs: tuple[Line, ...] = ()
    userland: str = ""  # whose commands there are: busybox, debian, none; "": nothing is known
    tools: tuple[str, ...] = ()  # sets of commands of its own
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # path -> text
    ports: Mapping[int, str] = field(default_factory=dict)  # port -> the simulated server there
    workdir: str = "/"
    user: str = ""  # whose processes it runs, a number or a name; empty: nothing is known
    cpu_millis: float = 1.0  # what a container that asks for nothing is said to use
    memory_bytes: int = 8_000_000
    used_cpu_millis: float | None = None  # what a container uses, whatever it asks for
    used_memory_bytes: float | None = None
    answer_cpu_seconds: float = 0.0  # of CPU time, for each answer of its server


class InvalidName(Exception):
    """The text is not an image reference; carries upstream's message."""


class Catalog:
    """Images by normalized name. `entries` is the parsed YAML, checked by its own test."""

    def __init__(self, entries: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._entries = entries or {}
        self._found: dict[str, Image] = {}

    def find(self, reference: str) -> Image:
        """The image as it is pulled and run."""
        name = normalized(reference)
        image = self._found.get(name)
        if image is None:
            if len(self._found) >= 1024:
                self._found.clear()
            image = self._found[name] = self._build(name)
        return image

    def _build(self, name: str) -> Image:
        values = dict(self._entry(name))
        tags = values.pop("tags", "")
        if tags and not values.get("missing") and not re.fullmatch(tags, tag_of(name), re.ASCII):
            values["missing"] = "not found"
        values["logs"] = log_lines(values.get("logs") or ())
        for key in ("tools", "entrypoint", "cmd"):
            values[key] = tuple(values.get(key) or ())
        if values.get("userland", "none") != "none":
            values.setdefault("user", "0")
        values.setdefault("digest", f"sha256:{hashlib.sha256(name.encode()).hexdigest()}")
        return Image(name, **values)

    def _entry(self, name: str) -> Mapping[str, Any]:
        """The entry of the image, else of `repository:*`, else of `registry/*`."""
        where = repository(name)
        for key in (name, f"{where}:*", f"{where.rpartition('/')[0]}/*"):
            entry = self._entries.get(key)
            if entry is not None:
                return entry
        return {}


def log_lines(entries: Sequence[Any]) -> tuple[Line, ...]:
    """Reads log lines: plain text follows at once; {at, text, stream} sets a time."""
    out: list[Line] = []
    seconds = 0.0
    for entry in entries:
        seconds = entry.get("at", seconds) if isinstance(entry, Mapping) else seconds
        if isinstance(entry, Mapping):
            out.append(Line(seconds, entry["text"], entry.get("stream", STDOUT)))
        else:
            out.append(Line(seconds, entry))
        seconds += LINE_SECONDS
    return tuple(out)


def _seconds(text: str) -> float:
    value = NEVER if text == "never" else float(text)
    if not value >= 0:
        raise ValueError(text)
    return value if value == NEVER else min(value, SECONDS_MAX)


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < AMOUNT_MAX:
        raise ValueError(text)
    return value


def _exit_code(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 255:
        raise ValueError(text)
    return value


_PROBE_NOTES = (
    "ready-after-seconds",
    "unready-after-seconds",
    "liveness-fails-after-seconds",
    "crash",
)
# annotation -> field and how to read it; a value that cannot be read is ignored
ANNOTATIONS: dict[str, tuple[str, Any]] = {
    "exit-code": ("exit_code", _exit_code),
    "run-seconds": ("runs_seconds", _seconds),
    "start-seconds": ("start_seconds", _seconds),
    "ready-after-seconds": ("ready_seconds", _seconds),
    "unready-after-seconds": ("unready_after_seconds", _seconds),
    "liveness-fails-after-seconds": ("unhealthy_after_seconds", _seconds),
    "stop-seconds": ("stop_seconds", _seconds),
    "cpu-millis": ("used_cpu_millis", _amount),
    "memory-bytes": ("used_memory_bytes", _amount),
    "answer-cpu-seconds": ("answer_cpu_seconds", _amount),
}


def is_scripted(pod: Object, container: str) -> bool:
    """Whether annotations script when the container ends, whatever it runs."""
    return _has_note(pod, container, ("crash", "run-seconds", "exit-code"))


def is_probe_scripted(pod: Object, container: str) -> bool:
    """Whether annotations script the results of its probes."""
    return _has_note(pod, container, _PROBE_NOTES)


def _has_note(pod: Object, container: str, keys: Sequence[str]) -> bool:
    notes = meta.annotations_of(pod)
    return any(
        f"{PREFIX}{prefix}{key}" in notes for key in keys for prefix in ("", f"{container}.")
    )


def for_container(image: Image, pod: Object, container: str) -> Image:
    """The image's behaviour with what the pod's annotations change for this container."""
    if not image.userland and image.runs_seconds is None and _has_to_end(pod, container):
        image = replace(image, runs_seconds=TASK_SECONDS)
    notes = meta.annotations_of(pod)
    overrides = {key: text for key, text in notes.items() if key.startswith(PREFIX)}
    if not overrides:
        return image
    changes: dict[str, Any] = {}
    for prefix in (PREFIX, f"{PREFIX}{container}."):
        if overrides.get(prefix + "crash") == "true":
            changes.setdefault("runs_seconds", 1.0)
            changes.setdefault("exit_code", 1)
        for key, (name, read) in ANNOTATIONS.items():
            text = overrides.get(prefix + key)
            if text is None:
                continue
            try:
                value = read(text)
            except ValueError:
                continue
            changes[name] = None if value == NEVER and name == "runs_seconds" else value
    for name in ("start_seconds", "stop_seconds"):
        if changes.get(name) == NEVER:
            changes[name] = SECONDS_MAX
    return replace(image, **changes)


def _has_to_end(pod: Object, container: str) -> bool:
    """Whether others wait for its end: an init container that is no sidecar, or a Job's own."""
    for init in pod["spec"].get("initContainers") or ():
        if init["name"] == container:
            return bool(init.get("restartPolicy") != "Always")
    owner = meta.controller_of(pod)
    return owner is not None and owner["kind"] == "Job"


# -- names ----------------------------------------------------------------------------------------

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_REFERENCE = re.compile(
    rf"(?:(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::[\w][\w.-]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_ID = re.compile(r"[a-f0-9]{64}")


@functools.lru_cache(maxsize=1024)
def check(image: str) -> None:
    """Raises InvalidName when the text is no image reference."""
    if _ID.fullmatch(image):
        reason = f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings"
    elif _REFERENCE.fullmatch(image):
        return
    else:
        reason = "invalid reference format"
        name = _with_domain(image)
        remote = name.partition("/")[2].partition("@")[0].partition(":")[0]
        if remote != remote.lower() and _REFERENCE.fullmatch(name.lower()):
            reason += f": repository name ({remote}) must be lowercase"
    raise InvalidName(f"couldn't parse image reference {_quoted(image)}: {reason}")


@functools.lru_cache(maxsize=1024)
def normalized(image: str) -> str:
    """`nginx` is `docker.io/library/nginx:latest`."""
    name = _with_domain(image)
    last = name.rsplit("/", 1)[-1]
    return name if ":" in last or "@" in last else f"{name}:latest"


def _with_domain(image: str) -> str:
    first, slash, _ = image.partition("/")
    if not slash:
        return f"docker.io/library/{image}"
    if "." not in first and ":" not in first and first != "localhost":
        return f"docker.io/{image}"
    return image


def repository(name: str) -> str:
    """The name without tag and digest."""
    head, slash, last = name.partition("@")[0].rpartition("/")
    return head + slash + last.partition(":")[0]


def tag_of(name: str) -> str:
    """A normalized name's tag; one that has a digest only is `latest`."""
    return name.partition("@")[0].rpartition("/")[2].partition(":")[2] or "latest"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
