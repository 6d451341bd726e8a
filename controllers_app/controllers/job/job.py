"""The job controller: runs pods until enough of them have succeeded, or too many have failed.

A finished pod is counted once: its uid goes into the status, then its finalizer goes, then the
count takes the uid's place. So no pod is lost or counted twice, whoever dies in between.
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
LOST = "pods/"  # before the key of a pod that no job counts any more
BACKOFF_SECONDS_BASE = 10.0
BACKOFF_SECONDS_MAX = 600.0
PODS_PER_SYNC_MAX = 500

LIMIT_REACHED = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE_PASSED = ("DeadlineExceeded", "Job was active longer than specified deadline")
ALL_DONE = ("CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(slots=True)
class State:
    """What there is of a job, and what this reconcile makes of it."""

    job: Object
    pods: list[Object]
    active: list[Object] = field(default_factory=list)
    finished: list[Object] = field(default_factory=list)  # not counted yet
    succeeded: int = 0
    failed: int = 0
    indexes: str = ""  # completed ones, "0-2,5"
    ends: tuple[str, str, str] | None = None  # condition, reason, message


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
        if key.startswith(LOST):
            return await self._release(key.removeprefix(LOST))
        job = self._jobs.get(key)
        if job is None:
            self.expectations.forget(key)
            return Result("is gone")
        if is_over(job):
            return Result("has ended: does nothing")
        state = self._state(job, await self._claim(job))
        self._judge(state)
        said, wait, failure = "", 0.0, None
        if state.ends is not None:
            said = f"ends: {state.ends[2]}"
            await self._delete(key, job, state.active)
        elif job["spec"].get("suspend"):
            said = "is suspended"
            await self._delete(key, job, state.active)
        elif meta.is_deleting(job) or not self.expectations.satisfied(key):
            said = "waits until the cache shows what it did"
        else:
            said, wait, failure = await self._manage(key, state)
        await self._write(state)
        if failure is not None:
            raise failure
        return Result(said, wait or self._seconds_to_deadline(job))

    # -- what is there --------------------------------------------------------------------------

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

    def _judge(self, state: State) -> None:
        """Does the job end here?"""
        spec = state.job["spec"]
        completions = spec.get("completions")
        if state.failed > spec.get("backoffLimit", 6):
            state.ends = ("Failed", *LIMIT_REACHED)
        elif self._is_past_deadline(state.job):
            state.ends = ("Failed", *DEADLINE_PASSED)
        elif completions is not None and state.succeeded >= completions:
            state.ends = ("Complete", *ALL_DONE)
        elif completions is None and state.succeeded > 0 and not state.active:
            state.ends = ("Complete", *ALL_DONE)

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

    # -- what is done ---------------------------------------------------------------------------

    async def _manage(self, key: str, state: State) -> tuple[str, float, errors.ApiError | None]:
        """Start or stop pods towards the parallelism: (said, seconds to wait, refusal)."""
        job = state.job
        wants = _wanted_active(state)
        have = len(state.active)
        head = f"wants {wants} active, has {have}"
        if have > wants:
            surplus = sorted(state.active, key=lambda pod: podstate.is_ready(pod))[: have - wants]
            await self._delete(key, job, surplus)
            return f"{head}: deletes {len(surplus)}", 0.0, None
        if have == wants:
            return f"{head}: nothing to do", 0.0, None
        wait = self._backoff(state)
        if wait > 0:
            return f"{head}: waits {wait:.0f} s after a failure", wait, None
        count = min(wants - have, PODS_PER_SYNC_MAX)
        bodies = self._bodies(state, count)
        self.expectations.expect_creations(key, len(bodies))

        async def create(number: int) -> None:
            await self._pod_control.create(job, bodies[number])

        made, failure, batches = await podcontrol.slow_start(len(bodies), create)
        if made < len(bodies):
            self.expectations.creation_observed(key, len(bodies) - made)
        state.active += bodies[:made]
        sizes = ", ".join(str(size) for size in batches)
        return f"{head}: creates {made} (slow start {sizes})", 0.0, failure

    def _backoff(self, state: State) -> float:
        """How long to wait after failures: 10 s, 20 s, 40 s, ... from the last one."""
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
        """Let a pod go that would wait for ever to be counted."""
        pod = self._pods.get(key)
        if pod is None or not _is_tracked(pod):
            return Result("is gone, or has no finalizer")
        if self._is_counted(pod):
            return Result("has a job that counts it")
        await self._remove_finalizer(pod)
        return Result("has no job that would count it: takes its finalizer off")

    # -- the status -----------------------------------------------------------------------------

    async def _write(self, state: State) -> None:
        """Count what finished: first by uid, then, with the finalizers gone, by number."""
        job = state.job
        if state.finished:
            uncounted: Object = {}
            for pod in state.finished:
                kind = "succeeded" if podstate.phase_of(pod) == "Succeeded" else "failed"
                uncounted.setdefault(kind, []).append(meta.uid_of(pod))
            status = {**(job.get("status") or {}), "uncountedTerminatedPods": uncounted}
            job = await self._update(job, status)
            for pod in state.finished:
                await self._remove_finalizer(pod)
        status = self._status(state, job.get("status") or {})
        if status != job.get("status"):
            await self._update(job, status)
        if state.ends is not None:
            _, reason, message = state.ends
            if state.ends[0] == "Complete":
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
        if state.ends is not None and state.ends[0] == "Complete":
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
        noted = next((item for item in known if item["type"] == "Suspended"), None)
        if suspended != (noted is not None and noted["status"] == "True"):
            if suspended or noted is not None:
                word = "suspended" if suspended else "resumed"
                known = [item for item in known if item["type"] != "Suspended"]
                status = "True" if suspended else "False"
                reason = f"Job{word.capitalize()}"
                known.append(_condition("Suspended", status, reason, f"Job {word}", now))
                self.recorder.event(state.job, "Normal", word.capitalize(), f"Job {word}")
        if state.ends is not None:
            kind, reason, message = state.ends
            first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
            known.append(_condition(first, "True", reason, message, now))
            known.append(_condition(kind, "True", reason, message, now))
        return known

    async def _update(self, job: Object, status: Object) -> Object:
        return await self.client.update(
            JOBS, meta.namespace_of(job), meta.name_of(job), {**job, "status": status},
            subresource="status",
        )  # fmt: skip

    # -- keys -----------------------------------------------------------------------------------

    def _pods_to_release(self, job: Object) -> list[str]:
        """The pods of a job that is gone."""
        pods = self._pods.owned_by(meta.uid_of(job))
        return [LOST + key for key, pod in pods.items() if _is_tracked(pod)]

    def _if_to_release(self, pod: Object) -> tuple[str, ...]:
        """A pod that is deleted or has no controller, and that no job will count."""
        if not _is_tracked(pod) or self._is_counted(pod):
            return ()
        if not meta.is_deleting(pod) and meta.controller_of(pod) is not None:
            return ()
        return (LOST + meta.key_of(pod),)

    def _is_counted(self, pod: Object) -> bool:
        """Its job goes on, or it belongs to no job."""
        controller = meta.controller_of(pod)
        if controller is not None and controller["kind"] != "Job":
            return True
        key = owner_key(pod, "Job", self._jobs)
        job = self._jobs.get(key) if key else None
        return job is not None and not is_over(job)


def is_over(job: Object) -> bool:
    """It is complete or has failed."""
    status = job.get("status")
    return any(conditions.is_true(status, kind) for kind in ("Complete", "Failed"))


def _wanted_active(state: State) -> int:
    """How many pods should run now."""
    spec = state.job["spec"]
    parallelism = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    if completions is None:
        # a work queue: once one has succeeded no new ones are started
        return len(state.active) if state.succeeded else parallelism
    return int(min(parallelism, completions - state.succeeded))


def _is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def _is_tracked(pod: Object) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def _end_of(pod: Object) -> int:
    """When its last container ended."""
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
