"""The job controller: runs pods until enough of them have succeeded or too many have failed.

A finished pod is counted in three steps: its uid is added to the status, its finalizer is removed,
and the count replaces the uid. So a crash in between neither loses a pod nor counts it twice.
Simplified: no pod failure policy, success policy or backoffLimitPerIndex.

Models kubernetes pkg/controller/job/job_controller.go and indexed_job_utils.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.client import STRATEGIC_PATCH
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.job import indexed
from controllers_app.controllers.workload import ownership, podcontrol, podstate
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Owns, Watches, owner_key

JOBS = "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
ORPHAN = "pods/"  # prefix of the key of a pod that no job will count
BACKOFF_SECONDS_BASE = 10.0
BACKOFF_SECONDS_MAX = 600.0
PODS_PER_SYNC_MAX = 500

LIMIT_REACHED = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE_PASSED = ("DeadlineExceeded", "Job was active longer than specified deadline")
ALL_DONE = ("CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(slots=True)
class State:
    """A job's actual state, and what this reconcile has decided."""

    job: Object
    pods: list[Object]
    active: list[Object] = field(default_factory=list)
    finished: list[Object] = field(default_factory=list)  # and not counted yet
    succeeded: int = 0
    failed: int = 0
    indexes: str = ""  # completed ones, "0-2,5"
    finish: tuple[str, str, str] | None = None  # condition, reason, message


class JobController(Controller):
    """Reconciles jobs."""

    source = "pkg/controller/job/job_controller.go syncJob"
    watches = (
        For(JOBS),
        Watches(JOBS, on=DELETED, keys=lambda self, job: self._pods_to_release(job)),
        Watches("pods", on=ADDED | UPDATED, keys=lambda self, pod: self._if_to_release(pod)),
        Owns("pods", "Job"),
    )
    pace = (1, 20)  # upstream's batch period

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._pod_control = podcontrol.PodControl(ctx.client, ctx.recorder)
        self._jobs, self._pods = self.caches[JOBS], self.caches["pods"]

    async def reconcile(self, key: str) -> Result | None:
        if key.startswith(ORPHAN):
            return await self._release(key.removeprefix(ORPHAN))
        job = self._jobs.get(key)
        if job is None:
            self.expectations.forget(key)
            return Result("is gone")
        if is_finished(job):
            return Result("has ended: does nothing")
        state = self._state(job, await self._claim(job))
        self._decide_finish(state)
        summary, wait, failure = "", 0.0, None
        if state.finish is not None:
            summary = f"ends: {state.finish[2]}"
            await self._delete(key, job, state.active)
        elif job["spec"].get("suspend"):
            summary = "is suspended"
            await self._delete(key, job, state.active)
        elif meta.is_deleting(job) or not self.expectations.satisfied(key):
            summary = "waits until the cache shows what it did"
        else:
            summary, wait, failure = await self._manage(key, state)
        await self._write(state)
        if failure is not None:
            raise failure
        return Result(summary, wait or self._seconds_to_deadline(job))

    # -- actual state ---------------------------------------------------------------------------

    async def _claim(self, job: Object) -> list[Object]:
        return await ownership.claim(self.client, self._pods, job, JOBS)

    def _state(self, job: Object, pods: list[Object]) -> State:
        state = State(job, pods)
        status = job.get("status") or {}
        state.succeeded = status.get("succeeded", 0)
        state.failed = status.get("failed", 0)
        state.indexes = status.get("completedIndexes", "")
        for pod in pods:
            if podstate.is_active(pod):
                state.active.append(pod)
            elif _is_tracked(pod) and (podstate.is_finished(pod) or meta.is_deleting(pod)):
                if podstate.is_finished(pod) or not pod["spec"].get("nodeName"):
                    state.finished.append(pod)
        for pod in state.finished:
            if podstate.phase_of(pod) == "Succeeded":
                state.succeeded += 1
                index = indexed.index_of(pod)
                if index is not None:
                    state.indexes = indexed.add(state.indexes, index)
            else:
                state.failed += 1
        if _is_indexed(job):
            state.succeeded = indexed.count(state.indexes)
        return state

    def _decide_finish(self, state: State) -> None:
        """Decides whether the job is complete or has failed."""
        spec = state.job["spec"]
        completions = spec.get("completions")
        if state.failed > spec.get("backoffLimit", 6):
            state.finish = ("Failed", *LIMIT_REACHED)
        elif self._is_past_deadline(state.job):
            state.finish = ("Failed", *DEADLINE_PASSED)
        elif completions is not None and state.succeeded >= completions:
            state.finish = ("Complete", *ALL_DONE)
        elif completions is None and state.succeeded > 0 and not state.active:
            state.finish = ("Complete", *ALL_DONE)

    def _is_past_deadline(self, job: Object) -> bool:
        seconds = job["spec"].get("activeDeadlineSeconds")
        start = (job.get("status") or {}).get("startTime")
        if seconds is None or not start or job["spec"].get("suspend"):
            return False
        return bool(self.kernel.now >= meta.parse_time(start) + seconds * SECOND)

    def _seconds_to_deadline(self, job: Object) -> float:
        seconds = job["spec"].get("activeDeadlineSeconds")
        if seconds is None or job["spec"].get("suspend"):
            return 0.0
        start = (job.get("status") or {}).get("startTime")
        since = meta.parse_time(start) if start else self.kernel.now
        return max(0.0, float(since + seconds * SECOND - self.kernel.now) / SECOND)

    # -- actions --------------------------------------------------------------------------------

    async def _manage(self, key: str, state: State) -> tuple[str, float, errors.ApiError | None]:
        """Starts or stops pods to match the parallelism: (summary, seconds to wait, refusal)."""
        job = state.job
        desired = _wanted_active(state)
        have = len(state.active)
        head = f"wants {desired} active, has {have}"
        if have > desired:
            surplus = sorted(state.active, key=lambda pod: podstate.is_ready(pod))[: have - desired]
            await self._delete(key, job, surplus)
            return f"{head}: deletes {len(surplus)}", 0.0, None
        if have == desired:
            return f"{head}: nothing to do", 0.0, None
        wait = self._backoff(state)
        if wait > 0:
            return f"{head}: waits {wait:.0f} s after a failure", wait, None
        count = min(desired - have, PODS_PER_SYNC_MAX)
        bodies = self._bodies(state, count)
        self.expectations.expect_creations(key, len(bodies))

        async def create(number: int) -> None:
            await self._pod_control.create(job, bodies[number])

        created, failure, batches = await podcontrol.slow_start(len(bodies), create)
        if created < len(bodies):
            self.expectations.creation_observed(key, len(bodies) - created)
        state.active += bodies[:created]
        sizes = ", ".join(str(size) for size in batches)
        return f"{head}: creates {created} (slow start {sizes})", 0.0, failure

    def _backoff(self, state: State) -> float:
        """Seconds to wait after failures: 10, 20, 40, ... from the last one."""
        if state.failed == 0:
            return 0.0
        ends = [_end_of(pod) for pod in state.pods if podstate.phase_of(pod) == "Failed"]
        if not ends:
            return 0.0
        delay = min(BACKOFF_SECONDS_BASE * 2.0 ** min(state.failed - 1, 30), BACKOFF_SECONDS_MAX)
        return max(0.0, (max(ends) + delay * SECOND - self.kernel.now) / SECOND)

    def _bodies(self, state: State, count: int) -> list[Object]:
        job = state.job
        body = podcontrol.pod_from_template(job["spec"]["template"], job)
        finalizers = [*(body["metadata"].get("finalizers") or ()), TRACKING]
        body["metadata"]["finalizers"] = finalizers
        if not _is_indexed(job):
            return [body] * count
        used = {indexed.index_of(pod) for pod in state.active}
        free = indexed.free(state.indexes, used, job["spec"].get("completions") or 0)
        return [
            indexed.with_index(body, meta.name_of(job), index, self.ctx.rand)
            for index in free[:count]
        ]

    async def _delete(self, key: str, job: Object, pods: list[Object]) -> None:
        if not pods:
            return
        self.expectations.expect_deletions(key, [meta.uid_of(pod) for pod in pods])
        for pod in list(pods):
            try:
                await self._remove_finalizer(pod)
                await self._pod_control.delete(job, pod)
            except errors.ApiError as error:
                self.expectations.deletion_observed(key, meta.uid_of(pod))
                if error.code != 404:
                    raise
        pods.clear()

    async def _remove_finalizer(self, pod: Object) -> None:
        if not _is_tracked(pod):
            return
        patch = {
            "metadata": {
                "uid": meta.uid_of(pod), "$deleteFromPrimitiveList/finalizers": [TRACKING],
            }
        }  # fmt: skip
        with errors.ignoring("NotFound", "Invalid"):
            await self.client.patch(
                "pods", meta.namespace_of(pod), meta.name_of(pod), patch, kind=STRATEGIC_PATCH
            )

    async def _release(self, key: str) -> Result:
        """Removes the finalizer of a pod that no job will ever count."""
        pod = self._pods.get(key)
        if pod is None or not _is_tracked(pod):
            return Result("is gone, or has no finalizer")
        if self._is_counted(pod):
            return Result("has a job that counts it")
        await self._remove_finalizer(pod)
        return Result("has no job that would count it: takes its finalizer off")

    # -- the status -----------------------------------------------------------------------------

    async def _write(self, state: State) -> None:
        """Counts finished pods: first by uid and then, without their finalizers, by number."""
        job = state.job
        if state.finished:
            uncounted: Object = {}
            for pod in state.finished:
                kind = "succeeded" if podstate.phase_of(pod) == "Succeeded" else "failed"
                uncounted.setdefault(kind, []).append(meta.uid_of(pod))
            status = {**(job.get("status") or {}), "uncountedTerminatedPods": uncounted}
            job = await self.update_status(JOBS, job, status)
            for pod in state.finished:
                await self._remove_finalizer(pod)
        status = self._status(state, job.get("status") or {})
        if status != job.get("status"):
            await self.update_status(JOBS, job, status)
        if state.finish is not None:
            _, reason, message = state.finish
            if state.finish[0] == "Complete":
                self.recorder.event(job, "Normal", "Completed", "Job completed")
            else:
                self.recorder.event(job, "Warning", reason, message)

    def _status(self, state: State, old: Object) -> Object:
        now = meta.rfc3339(self.kernel.now)
        suspended = bool(state.job["spec"].get("suspend"))
        status: Object = {}
        conditions = self._conditions(state, list(old.get("conditions") or ()), now)
        if conditions:
            status["conditions"] = conditions
        if not suspended:
            status["startTime"] = old.get("startTime") or now
        if state.finish is not None and state.finish[0] == "Complete":
            status["completionTime"] = now
        ready = sum(1 for pod in state.active if podstate.is_ready(pod))
        counts = {
            "active": len(state.active), "succeeded": state.succeeded, "failed": state.failed,
        }  # fmt: skip
        status.update({name: count for name, count in counts.items() if count})
        status["terminating"] = sum(
            1 for pod in state.pods if meta.is_deleting(pod) and not podstate.is_finished(pod)
        )
        if state.indexes:
            status["completedIndexes"] = state.indexes
        status["uncountedTerminatedPods"] = {}
        status["ready"] = ready
        return status

    def _conditions(self, state: State, known: list[Object], now: str) -> list[Object]:
        suspended = bool(state.job["spec"].get("suspend"))
        known_suspended = next((item for item in known if item["type"] == "Suspended"), None)
        if suspended != (known_suspended is not None and known_suspended["status"] == "True"):
            if suspended or known_suspended is not None:
                word = "suspended" if suspended else "resumed"
                known = [item for item in known if item["type"] != "Suspended"]
                status = "True" if suspended else "False"
                reason = f"Job{word.capitalize()}"
                known.append(_condition("Suspended", status, reason, f"Job {word}", now))
                self.recorder.event(state.job, "Normal", word.capitalize(), f"Job {word}")
        if state.finish is not None:
            kind, reason, message = state.finish
            first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
            known.append(_condition(first, "True", reason, message, now))
            known.append(_condition(kind, "True", reason, message, now))
        return known

    # -- keys -----------------------------------------------------------------------------------

    def _pods_to_release(self, job: Object) -> list[str]:
        """The keys of a deleted job's pods that still have the finalizer."""
        pods = self._pods.owned_by(meta.uid_of(job))
        return [ORPHAN + key for key, pod in pods.items() if _is_tracked(pod)]

    def _if_to_release(self, pod: Object) -> tuple[str, ...]:
        """The key of a pod that is being deleted or orphaned, and that no job will count."""
        if not _is_tracked(pod) or self._is_counted(pod):
            return ()
        if not meta.is_deleting(pod) and meta.controller_of(pod) is not None:
            return ()
        return (ORPHAN + meta.key_of(pod),)

    def _is_counted(self, pod: Object) -> bool:
        """Whether the pod's job is not finished, or it belongs to another kind of controller."""
        controller = meta.controller_of(pod)
        if controller is not None and controller["kind"] != "Job":
            return True
        key = owner_key(pod, "Job", self._jobs)
        job = self._jobs.get(key) if key else None
        return job is not None and not is_finished(job)


def is_finished(job: Object) -> bool:
    """Whether the job is complete or has failed."""
    status = job.get("status")
    return any(conditions.is_true(status, kind) for kind in ("Complete", "Failed"))


def _wanted_active(state: State) -> int:
    """The number of pods that should be active now."""
    spec = state.job["spec"]
    parallelism = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    if completions is None:
        # a work queue: once a pod has succeeded, no new ones are started
        return len(state.active) if state.succeeded else parallelism
    return int(min(parallelism, completions - state.succeeded))


def _is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def _is_tracked(pod: Object) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def _end_of(pod: Object) -> int:
    """The time at which the pod's last container ended."""
    ends = [
        meta.parse_time(item["state"]["terminated"]["finishedAt"])
        for item in (pod.get("status") or {}).get("containerStatuses") or ()
        if ((item.get("state") or {}).get("terminated") or {}).get("finishedAt")
    ]
    created = pod["metadata"].get("creationTimestamp")
    return max(ends, default=meta.parse_time(created) if created else 0)


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
