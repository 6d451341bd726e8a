"""What one sync of a job knows and has decided: its pods, its counts, and how it ends.

Pure functions of the job and its pods.

Models kubernetes pkg/controller/job/job_controller.go (syncJobCtx, getNewFinishedPods,
trackJobStatusAndRemoveFinalizers, enactJobFinished).
"""

from __future__ import annotations

import msgspec

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.job import indexed, perindex, policies
from controllers_app.controllers.job.backoff import Record
from controllers_app.controllers.workload import podstate

TRACKING = "batch.kubernetes.io/job-tracking"
UNCOUNTED_MAX = 500
SUCCESS, FAILURE = "SuccessCriteriaMet", "FailureTarget"
FINAL = {SUCCESS: "Complete", FAILURE: "Failed"}


class Sync(msgspec.Struct):
    """A job, its pods, and its status as it will be written."""

    job: Object
    status: Object
    pods: list[Object]
    released: set[str]  # uids whose finalizer is gone, though the cache does not show it
    active: list[Object] = msgspec.field(default_factory=list)
    count: int = 0  # of active pods, with what this sync creates and deletes
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    before: indexed.Intervals = msgspec.field(default_factory=list)  # completed indexes as written
    done: indexed.Intervals = msgspec.field(default_factory=list)
    failed_indexes: indexed.Intervals | None = None  # with backoffLimitPerIndex
    replaced: dict[int, Object] = msgspec.field(default_factory=dict)  # held until replaced
    backoff: Record = msgspec.field(default_factory=Record)
    finish: Object | None = None  # the condition with which it ends

    @property
    def completions(self) -> int | None:
        completions = self.job["spec"].get("completions")
        return None if completions is None else int(completions)

    @property
    def uncounted(self) -> dict[str, list[str]]:
        uncounted: dict[str, list[str]] = self.status["uncountedTerminatedPods"]
        return uncounted

    def is_held(self, pod: Object) -> bool:
        """Whether the pod has its finalizer still."""
        return is_tracked(pod) and meta.uid_of(pod) not in self.released

    def has_valid_index(self, pod: Object) -> bool:
        if not indexed.is_indexed(self.job):
            return True
        index, completions = indexed.index_of(pod), self.completions or 0
        return index is not None and index < completions


def begin(job: Object, pods: list[Object], released: set[str], backoff: Record) -> Sync:
    """Counts the pods of a job."""
    status = {**(job.get("status") or {})}
    uncounted = status.get("uncountedTerminatedPods") or {}
    status["uncountedTerminatedPods"] = {key: list(uids) for key, uids in uncounted.items()}
    sync = Sync(job, status, pods, released)
    sync.active = [pod for pod in pods if podstate.is_active(pod)]
    sync.count = len(sync.active)
    sync.ready = sum(1 for pod in sync.active if podstate.is_ready(pod))
    sync.terminating = sum(
        1 for pod in pods if meta.is_deleting(pod) and not podstate.is_finished(pod)
    )
    new = {"succeeded": _newly(sync, "succeeded"), "failed": _newly(sync, "failed")}
    known = sync.uncounted
    sync.succeeded = (
        status.get("succeeded", 0) + len(new["succeeded"]) + len(known.get("succeeded", ()))
    )
    counting = [pod for pod in new["failed"] if policies.on_failure(job, pod).counts]
    sync.failed = status.get("failed", 0) + len(counting) + len(known.get("failed", ()))
    sync.backoff = backoff.after(new["succeeded"], new["failed"])
    if indexed.is_indexed(job):
        sync.before = indexed.parse(status.get("completedIndexes", ""), sync.completions)
        ended = [
            pod
            for pod in pods
            if podstate.phase_of(pod) == "Succeeded"
            and is_tracked(pod)
            and sync.has_valid_index(pod)
        ]
        sync.done = indexed.with_indexes(sync.before, _indexes(ended))
        sync.succeeded = indexed.total(sync.done)
    if perindex.is_limited(job):
        _look_at_indexes(sync)
    return sync


def _look_at_indexes(sync: Sync) -> None:
    """Which indexes have failed, and which failed pods stay until others are in their place."""
    failed = [pod for pod in sync.pods if has_failed(pod, sync.job)]
    tracked = [pod for pod in failed if is_tracked(pod)]
    sync.failed_indexes = perindex.failed(sync.job, tracked)
    settled = indexed.with_indexes(sync.done, _indexes(sync.active))
    held = [pod for pod in failed if sync.is_held(pod) and sync.has_valid_index(pod)]
    sync.replaced = perindex.awaiting(held, indexed.merged([*settled, *sync.failed_indexes]))


def _newly(sync: Sync, kind: str) -> list[Object]:
    """The pods that have ended so and are not counted yet."""
    known = sync.uncounted.get(kind, ())
    is_meant = _has_succeeded if kind == "succeeded" else lambda pod: has_failed(pod, sync.job)
    return [
        pod
        for pod in sync.pods
        if sync.is_held(pod)
        and meta.uid_of(pod) not in known
        and sync.has_valid_index(pod)
        and is_meant(pod)
    ]


def _has_succeeded(pod: Object) -> bool:
    return podstate.phase_of(pod) == "Succeeded"


def has_failed(pod: Object, job: Object) -> bool:
    """A pod that is being deleted counts as failed, unless only failed ones are replaced."""
    if podstate.phase_of(pod) == "Failed":
        return True
    if replaces_failed_only(job):
        return False
    return meta.is_deleting(pod) and podstate.phase_of(pod) != "Succeeded"


def replaces_failed_only(job: Object) -> bool:
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or "podFailurePolicy" in spec


def clean(sync: Sync) -> bool:
    """Replaces the uids of pods without a finalizer by numbers; whether there were any."""
    held = {meta.uid_of(pod) for pod in sync.pods if sync.is_held(pod)}
    is_changed = False
    for kind in ("succeeded", "failed"):
        uids = sync.uncounted.get(kind, [])
        left = [uid for uid in uids if uid in held]
        if len(left) != len(uids):
            sync.status[kind] = sync.status.get(kind, 0) + len(uids) - len(left)
            is_changed = True
            if left:
                sync.uncounted[kind] = left
            else:
                del sync.uncounted[kind]
    return is_changed


def count(sync: Sync) -> tuple[list[Object], bool, bool]:
    """Puts the pods that have ended into the status: (those whose finalizer may go, whether the
    status has changed, whether all were looked at)."""
    is_changed, is_complete = clean(sync), True
    let_go: list[Object] = []
    new_indexes: list[int] = []
    for pod in _in_order(sync):
        failed = has_failed(pod, sync.job)
        if not sync.is_held(pod) or not _may_go(sync, pod, failed):
            continue
        let_go.append(pod)
        uid = meta.uid_of(pod)
        kind = _counted_as(sync, pod, failed)
        if kind == "succeeded" and indexed.is_indexed(sync.job):
            index = indexed.index_of(pod)  # which is enough to count it once
            if index is not None and not indexed.has(sync.before, index):
                new_indexes.append(index)
                is_changed = True
        elif kind and uid not in sync.uncounted.get(kind, ()):
            sync.uncounted.setdefault(kind, []).append(uid)
            is_changed = True
        if len(new_indexes) + sum(map(len, sync.uncounted.values())) >= UNCOUNTED_MAX:
            is_complete = False
            break
    if indexed.is_indexed(sync.job):
        done = indexed.with_indexes(sync.before, new_indexes)
        is_changed |= indexed.written(done) != sync.status.get("completedIndexes", "")
        put(sync.status, "succeeded", indexed.total(done))
        put(sync.status, "completedIndexes", indexed.written(done))
    if sync.failed_indexes is not None:
        written = indexed.written(sync.failed_indexes)
        is_changed |= written != sync.status.get("failedIndexes")
        sync.status["failedIndexes"] = written
    return let_go, is_changed, is_complete


def _in_order(sync: Sync) -> list[Object]:
    if not indexed.is_indexed(sync.job):
        return sync.pods
    return sorted(sync.pods, key=lambda pod: -1 if (at := indexed.index_of(pod)) is None else at)


def _may_go(sync: Sync, pod: Object, failed: bool) -> bool:
    """Whether the finalizer may be taken off: the pod has ended, and no other one has yet to take
    over the number of its index's failures."""
    if meta.is_deleting(sync.job) or sync.finish is not None or _has_succeeded(pod):
        return True
    index = indexed.index_of(pod)
    return failed and (index is None or sync.replaced.get(index) is not pod)


def _counted_as(sync: Sync, pod: Object, failed: bool) -> str:
    if not sync.has_valid_index(pod):
        return ""
    uid = meta.uid_of(pod)
    if _has_succeeded(pod) and uid not in sync.uncounted.get("failed", ()):
        return "succeeded"
    # of a job that has failed every pod has
    if failed or (sync.finish is not None and sync.finish["type"] != SUCCESS):
        return "failed" if policies.on_failure(sync.job, pod).counts else ""
    return ""


def put(status: Object, name: str, value: int | str) -> None:
    """Sets what is left out when it is nothing."""
    status.pop(name, None)
    if value:
        status[name] = value


def condition(kind: str, status: str, reason: str, message: str, now: str) -> Object:
    condition = {"type": kind, "status": status, "lastProbeTime": now, "lastTransitionTime": now}
    condition |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
    return condition


def ensure(status: Object, wanted: Object) -> bool:
    """Sets a condition; one that was never true is not set to false. Whether it has changed."""
    known = conditions.find(status, wanted["type"])
    if known is None:
        if wanted["status"] == "False":
            return False
        status["conditions"] = [*(status.get("conditions") or ()), wanted]
        return True
    if all(known.get(name) == wanted.get(name) for name in ("status", "reason", "message")):
        return False
    status["conditions"] = [
        wanted if condition is known else condition for condition in status["conditions"]
    ]
    return True


def has_restarted_too_often(sync: Sync, limit: int) -> bool:
    """Of pods that are restarted where they are, the restarts count."""
    if sync.job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in sync.pods:
        if podstate.phase_of(pod) in ("Running", "Pending"):
            status = pod.get("status") or {}
            for kind in ("initContainerStatuses", "containerStatuses"):
                restarts += sum(uid.get("restartCount", 0) for uid in status.get(kind) or ())
    return restarts >= max(1, limit)


def is_suspended(job: Object) -> bool:
    return bool(job["spec"].get("suspend"))


def is_tracked(pod: Object) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def _indexes(pods: list[Object]) -> list[int]:
    return [index for index in map(indexed.index_of, pods) if index is not None]
