"""The failures of each index of a job with backoffLimitPerIndex.

Their number is an annotation of the index's newest pod. So a failed pod keeps its finalizer, and
with it stays, until the pod in its place has the number.

Models kubernetes pkg/controller/job/indexed_job_utils.go (calculateFailedIndexes,
getPodsWithDelayedDeletionPerIndex, addIndexFailureCountAnnotation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.job import backoff, indexed, policies

FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
_INT32_MAX = 2**31 - 1


def is_limited(job: Object) -> bool:
    spec = job["spec"]
    return spec.get("backoffLimitPerIndex") is not None and indexed.is_indexed(job)


def failed(job: Object, held: Iterable[Object]) -> indexed.Intervals:
    """The indexes that have failed for good; `held` are the failed pods not counted yet."""
    completions = job["spec"]["completions"]
    known = indexed.parse((job.get("status") or {}).get("failedIndexes") or "", completions)
    indexes = (indexed.index_of(pod) for pod in held if _ends_its_index(job, pod))
    return indexed.with_indexes(
        known, (index for index in indexes if index is not None and index < completions)
    )


def _ends_its_index(job: Object, pod: Object) -> bool:
    verdict = policies.on_failure(job, pod)
    if verdict.action == policies.FAIL_INDEX:
        return True
    return verdict.counts and _count(pod, FAILURES) >= job["spec"]["backoffLimitPerIndex"]


def awaiting(held: Iterable[Object], settled: indexed.Intervals) -> dict[int, Object]:
    """The failed pod of each index, the newest, that another one has yet to take the place of;
    `settled` are the indexes for which none will."""
    indexes: dict[int, Object] = {}
    for pod in held:
        index = indexed.index_of(pod)
        if index is None or indexed.has(settled, index):
            continue
        known = indexes.get(index)
        if known is None or _is_newer(pod, known):
            indexes[index] = pod
    return indexes


def _is_newer(pod: Object, known: Object) -> bool:
    return _all_failures(known) <= _all_failures(pod) and backoff.end_of(pod) >= backoff.end_of(
        known
    )


def seconds_left(replaced: Object | None, now: int) -> float:
    """How long the index whose pod is replaced waits still."""
    if replaced is None:
        return 0.0
    return backoff.Record(_all_failures(replaced) + 1, backoff.end_of(replaced)).seconds_left(now)


def creatable(
    indexes: list[int], replaced: Mapping[int, Object], now: int
) -> tuple[list[int], float]:
    """The indexes whose pods may be made now; where none may, the seconds until the first."""
    left = {index: seconds_left(replaced.get(index), now) for index in indexes}
    free = [index for index in indexes if not left[index]]
    return free, 0.0 if free else min(left.values(), default=0.0)


def with_failures(body: Object, job: Object, replaced: Object | None) -> Object:
    """The new pod of an index with the number of failures before it."""
    failures = ignored = 0
    if replaced is not None:
        counts = policies.on_failure(job, replaced).counts
        failures = _count(replaced, FAILURES) + counts
        ignored = _count(replaced, IGNORED_FAILURES) + (not counts)
    notes = {**meta.annotations_of(body), FAILURES: str(failures)}
    if ignored:
        notes[IGNORED_FAILURES] = str(ignored)
    return {**body, "metadata": {**body["metadata"], "annotations": notes}}


def _all_failures(pod: Object) -> int:
    return _count(pod, FAILURES) + _count(pod, IGNORED_FAILURES)


def _count(pod: Object, name: str) -> int:
    text = meta.annotations_of(pod).get(name, "")
    return int(text) if text.isdecimal() and int(text) <= _INT32_MAX else 0
