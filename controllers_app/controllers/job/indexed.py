"""Completion indexes of indexed jobs ("0-2,5"), and the pods that have an index.

Models kubernetes pkg/controller/job/indexed_job_utils.go.
"""

from __future__ import annotations

from collections.abc import Collection

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand

INDEX = "batch.kubernetes.io/job-completion-index"
ENVIRONMENT = "JOB_COMPLETION_INDEX"


def index_of(pod: Object) -> int | None:
    text = meta.annotations_of(pod).get(INDEX, "")
    return int(text) if text.isdigit() else None


def parse(text: str) -> list[int]:
    out: list[int] = []
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        out.extend(range(int(first), int(last or first) + 1))
    return out


def add(text: str, index: int) -> str:
    return _format(sorted({*parse(text), index}))


def count(text: str) -> int:
    return len(parse(text))


def free(done: str, used: Collection[int | None], completions: int) -> list[int]:
    """Indexes that have neither succeeded nor an active pod, lowest first."""
    taken = {*parse(done), *used}
    return [index for index in range(completions) if index not in taken]


def with_index(pod: Object, job: str, index: int, rand: Rand) -> Object:
    """Sets the index in the pod's name, hostname, label, annotation and environment."""
    text = str(index)
    metadata = dict(pod["metadata"])
    del metadata["generateName"]
    metadata["name"] = f"{job}-{text}-{rand.suffix()}"
    metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: text}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: text}
    spec = dict(pod["spec"])
    spec["hostname"] = f"{job}-{text}"
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_with_variable(item, source) for item in spec[kind]]
    return {**pod, "metadata": metadata, "spec": spec}


def _with_variable(container: Object, source: Object) -> Object:
    known = container.get("env") or []
    if any(item["name"] == ENVIRONMENT for item in known):
        return container
    return {**container, "env": [*known, {"name": ENVIRONMENT, "valueFrom": source}]}


def _format(indexes: list[int]) -> str:
    """Formats indexes: three or more in a row become a range ("0-2"), two do not ("0,1")."""
    parts: list[str] = []
    start = 0
    while start < len(indexes):
        end = start
        while end + 1 < len(indexes) and indexes[end + 1] == indexes[end] + 1:
            end += 1
        if end - start >= 1:
            joint = "-" if end - start >= 2 else ","
            parts.append(f"{indexes[start]}{joint}{indexes[end]}")
        else:
            parts.append(str(indexes[start]))
        start = end + 1
    return ",".join(parts)
