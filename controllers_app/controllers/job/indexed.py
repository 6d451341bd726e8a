"""Completion indexes of indexed jobs ("0-2,5"), and the pods that have an index.

Indexes are kept as intervals, so that a job of many completions costs no more than its gaps.

Models kubernetes pkg/controller/job/indexed_job_utils.go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

INDEX = "batch.kubernetes.io/job-completion-index"
ENVIRONMENT = "JOB_COMPLETION_INDEX"
GENERATED_NAME_MAX = 58

Intervals = list[tuple[int, int]]  # first and last index of each, in order, with gaps between them


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(pod: Object) -> int | None:
    text = meta.annotations_of(pod).get(INDEX, "")
    return int(text) if text.isdigit() else None


def parse(text: str, completions: int | None = None) -> Intervals:
    """The intervals of `0-2,5`, as far as they are below the number of completions."""
    out: Intervals = []
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if completions is not None:
            high = min(high, completions - 1)
        if low <= high:
            out.append((low, high))
    return merged(out)


def merged(intervals: Iterable[tuple[int, int]]) -> Intervals:
    out: Intervals = []
    for first, last in sorted(intervals):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def with_indexes(intervals: Intervals, indexes: Iterable[int]) -> Intervals:
    return merged([*intervals, *((index, index) for index in indexes)])


def total(intervals: Intervals) -> int:
    return sum(last - first + 1 for first, last in intervals)


def shared(left: Intervals, right: Intervals) -> int:
    """How many indexes are in both."""
    return total(left) + total(right) - total(merged([*left, *right]))


def has(intervals: Intervals, index: int) -> bool:
    return any(first <= index <= last for first, last in intervals)


def free(taken: Intervals, completions: int) -> Iterator[int]:
    """The indexes in no interval, lowest first."""
    candidate = 0
    for first, last in taken:
        yield from range(candidate, min(first, completions))
        candidate = max(candidate, last + 1)
    yield from range(candidate, completions)


def first_free(taken: Intervals, completions: int, count: int) -> list[int]:
    return list(itertools.islice(free(taken, completions), count))


def written(intervals: Intervals) -> str:
    """Three or more in a row become a range ("0-2"), two do not ("0,1")."""
    parts: list[str] = []
    for first, last in intervals:
        if first == last:
            parts.append(str(first))
        else:
            parts.append(f"{first}{'-' if last - first >= 2 else ','}{last}")
    return ",".join(parts)


def superfluous(
    pods: Sequence[Object], completions: int, ranked: Callable[[list[Object]], list[Object]]
) -> list[Object]:
    """The pods without a valid index, and all but the last of those that share one. `ranked` puts
    pods in the order in which they are deleted."""
    out: list[Object] = []
    by_index: dict[int, list[Object]] = {}
    for pod in pods:
        index = index_of(pod)
        if index is None or index >= completions:
            out.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    for index in sorted(by_index):
        if len(by_index[index]) > 1:
            out += ranked(by_index[index])[:-1]
    return out


def with_index(pod: Object, job: str, index: int) -> Object:
    """Sets the index in the pod's name, hostname, label, annotation and environment."""
    text = str(index)
    metadata = dict(pod["metadata"])
    metadata["generateName"] = _generate_name(job, f"-{text}-")
    metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: text}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: text}
    spec = dict(pod["spec"])
    spec["hostname"] = f"{job}-{text}"
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_with_variable(item, source) for item in spec[kind]]
    return {**pod, "metadata": metadata, "spec": spec}


def _generate_name(job: str, end: str) -> str:
    return job[: GENERATED_NAME_MAX - len(end)] + end


def _with_variable(container: Object, source: Object) -> Object:
    known = container.get("env") or []
    if any(item["name"] == ENVIRONMENT for item in known):
        return container
    return {**container, "env": [*known, {"name": ENVIRONMENT, "valueFrom": source}]}
