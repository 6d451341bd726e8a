"""The job controller: runs pods until enough of them have succeeded or too many have failed.

A finished pod is counted in three steps: its uid is added to the status, its finalizer is removed,
and the count replaces the uid. So a crash in between neither loses a pod nor counts it twice. A
job that ends is first marked by SuccessCriteriaMet or FailureTarget, and by Complete or Failed
only when all its pods are counted and gone.

Models kubernetes pkg/controller/job/job_controller.go and indexed_job_utils.go.
"""

from __future__ import annotations

from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.client import STRATEGIC_PATCH
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.job import indexed, perindex, policies, sync
from controllers_app.controllers.job.backoff import Record
from controllers_app.controllers.job.sync import TRACKING, Sync
from controllers_app.controllers.workload import ownership, podcontrol, podstate
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Owns, Watches, owner_key

JOBS = "jobs.batch"
OWN_NAME = "kubernetes.io/job-controller"
ORPHAN = "pods/"  # prefix of the key of a pod that no job will count
PODS_PER_SYNC_MAX = 500
BATCH_SECONDS = 1.0  # between a change of a pod, or of the status, and the look at its job
# condition, reason, message
LIMIT_REACHED = (
    sync.FAILURE,
    "BackoffLimitExceeded",
    "Job has reached the specified backoff limit",
)
TOO_MANY_INDEXES_FAILED = (
    sync.FAILURE,
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
INDEXES_FAILED = (sync.FAILURE, "FailedIndexes", "Job has failed indexes")
DEADLINE_PASSED = (
    sync.FAILURE,
    "DeadlineExceeded",
    "Job was active longer than specified deadline",
)
ALL_DONE = (sync.SUCCESS, "CompletionsReached", "Reached expected number of succeeded pods")


class JobController(Controller):
    """Reconciles jobs."""

    source = "pkg/controller/job/job_controller.go syncJob"
    watches = (
        For(JOBS, on=ADDED | DELETED),
        For(JOBS, on=UPDATED, changed=lambda old, job: _has_new_spec(old, job)),
        For(
            JOBS,
            on=UPDATED,
            after=BATCH_SECONDS,
            changed=lambda old, job: not _has_new_spec(old, job) and not is_finished(job),
        ),
        Watches(JOBS, on=DELETED, keys=lambda self, job: self._pods_to_release(job)),
        Watches("pods", on=ADDED | UPDATED, keys=lambda self, pod: self._if_to_release(pod)),
        Owns("pods", "Job", after=BATCH_SECONDS),
    )

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._pod_control = podcontrol.PodControl(ctx.kernel, ctx.client, ctx.recorder)
        self._jobs, self._pods = self.caches[JOBS], self.caches["pods"]
        # by the key of a job that has not ended
        self._backoffs: dict[str, Record] = {}
        self._released: dict[str, set[str]] = {}  # uids of pods whose finalizer was taken off

    async def reconcile(self, key: str) -> Result | None:
        if key.startswith(ORPHAN):
            return await self._release(key.removeprefix(ORPHAN))
        job = self._jobs.get(key)
        if job is None or is_finished(job):
            self._forget(key)
            if job is None:
                self.expectations.forget(key)
            return Result("is gone" if job is None else "has ended: does nothing")
        if job["spec"].get("managedBy") not in (None, OWN_NAME):
            return Result("is managed by another controller: does nothing")
        satisfied = self.expectations.satisfied(key)
        pods = await ownership.claim(self.client, self._pods, job, JOBS)
        state = sync.begin(
            job, pods, self._released_of(key, pods), self._backoffs.get(key, Record())
        )
        if "startTime" not in state.status and not sync.is_suspended(job):
            state.status["startTime"] = meta.rfc3339(self.kernel.now)
        self._decide_finish(state)
        if state.finish is not None:
            summary, wait, failure = await self._end(state, satisfied)
        else:
            summary, wait, failure = await self._go_on(key, state, satisfied)
        changed = self._count(state)
        await self._track(key, state, changed)
        await self.kernel.pause()  # the cache shows it before the key comes again
        if failure is not None:
            raise failure
        return Result(summary, self._next(job, wait))

    def _released_of(self, key: str, pods: list[Object]) -> set[str]:
        """The uids of pods whose finalizer is gone, though the cache does not show it yet."""
        known = self._released.get(key)
        if not known:
            return set()
        known &= {meta.uid_of(pod) for pod in pods if sync.is_tracked(pod)}
        return known

    def _forget(self, key: str) -> None:
        self._backoffs.pop(key, None)
        self._released.pop(key, None)

    # -- how it ends ----------------------------------------------------------------------------

    def _decide_finish(self, state: Sync) -> None:
        """Decides whether the job has reached its end; what was decided before stays."""
        known = conditions.find(state.status, sync.SUCCESS)
        if known is not None and known["status"] == "True":
            state.finish = known
            return
        known = conditions.find(state.status, sync.FAILURE)
        if known is not None and known["status"] == "True":
            state.finish = self._condition("Failed", known["reason"], known["message"])
            return
        job = state.job
        why = policies.why_failed(job, (pod for pod in state.pods if sync.has_failed(pod, job)))
        if why:
            state.finish = self._condition(sync.FAILURE, "PodFailurePolicy", why)
            return
        limit = job["spec"].get("backoffLimit", 6)
        if state.failed > limit or sync.has_restarted_too_often(state, limit):
            state.finish = self._ending(LIMIT_REACHED)
        elif self._is_past_deadline(state):
            state.finish = self._ending(DEADLINE_PASSED)
        elif (ending := _ending_by_indexes(state)) is not None:
            state.finish = self._ending(ending)
        elif met := policies.why_succeeded(job, state.done):
            state.finish = self._condition(sync.SUCCESS, "SuccessPolicy", met)

    def _ending(self, ending: tuple[str, str, str]) -> Object:
        """The interim condition, or at once the last one in releases that have no other."""
        kind, reason, message = ending
        if not self.ctx.version.has("JobTerminalConditionDelayed"):
            kind = sync.FINAL[kind]
            if kind == "Complete":
                reason = message = ""
        return self._condition(kind, reason, message)

    def _condition(self, kind: str, reason: str, message: str, status: str = "True") -> Object:
        return sync.condition(kind, status, reason, message, meta.rfc3339(self.kernel.now))

    def _is_past_deadline(self, state: Sync) -> bool:
        seconds = state.job["spec"].get("activeDeadlineSeconds")
        if seconds is None or sync.is_suspended(state.job):
            return False
        start = meta.parse_time(state.status["startTime"])
        return bool(self.kernel.now >= start + seconds * SECOND)

    def _next(self, job: Object, wait: float) -> float:
        """Seconds after which it is looked at again: for its deadline, or a failure's wait."""
        seconds = job["spec"].get("activeDeadlineSeconds")
        if seconds is None or sync.is_suspended(job):
            return wait
        start = (job.get("status") or {}).get("startTime")
        since = meta.parse_time(start) if start else self.kernel.now
        deadline = max(0.0, float(since + seconds * SECOND - self.kernel.now) / SECOND)
        return min(wait, deadline) if wait and deadline else wait or deadline

    async def _end(self, state: Sync, satisfied: bool) -> tuple[str, float, errors.ApiError | None]:
        """Deletes what is active; the finalizers stay until the pods are counted."""
        assert state.finish is not None
        summary = f"ends: {state.finish.get('message') or state.finish['type']}"
        active = len(state.active)
        deleted, failure = await self._delete(state, state.active)
        if deleted != active or not satisfied:
            state.finish = None  # there may be pods that are not in the cache yet
        return summary, 0.0, failure

    # -- its pods -------------------------------------------------------------------------------

    async def _go_on(
        self, key: str, state: Sync, satisfied: bool
    ) -> tuple[str, float, errors.ApiError | None]:
        """(summary, seconds to wait, refusal)"""
        job = state.job
        managed = satisfied and not meta.is_deleting(job)
        summary, wait, failure = "waits until the cache shows what it did", 0.0, None
        if managed and sync.is_suspended(job):
            summary, failure = "is suspended", await self._stop(key, state, state.active)
        elif managed:
            summary, wait, failure = await self._manage(key, state)
        completions = state.completions
        enough = state.succeeded > 0 if completions is None else state.succeeded >= completions
        if enough and state.count == 0:
            state.finish = self._ending(ALL_DONE)
            return f"ends: {ALL_DONE[2]}", 0.0, failure
        if managed:
            self._tell_suspension(state)
        return summary, wait, failure

    def _tell_suspension(self, state: Sync) -> None:
        suspended = sync.is_suspended(state.job)
        word, value = ("suspended", "True") if suspended else ("resumed", "False")
        condition = self._condition("Suspended", f"Job{word.capitalize()}", f"Job {word}", value)
        if sync.ensure(state.status, condition):
            self.recorder.event(state.job, "Normal", word.capitalize(), f"Job {word}")
            if not suspended:
                state.status["startTime"] = meta.rfc3339(self.kernel.now)

    async def _manage(self, key: str, state: Sync) -> tuple[str, float, errors.ApiError | None]:
        """Starts or stops pods to match the parallelism."""
        desired, have = _wanted_active(state), len(state.active)
        head = f"wants {desired} active, has {have}"
        surplus = self._surplus(state, max(0, have - desired))[:PODS_PER_SYNC_MAX]
        if surplus:
            failure = await self._stop(key, state, surplus)
            return f"{head}: deletes {len(surplus)}", 0.0, failure
        missing = desired - have
        if sync.replaces_failed_only(state.job):
            missing -= state.terminating
        if missing <= 0:
            return f"{head}: nothing to do", 0.0, None
        missing = min(missing, PODS_PER_SYNC_MAX)
        if perindex.is_limited(state.job):
            bodies, wait = self._bodies_by_index(state, missing)
        else:
            wait = state.backoff.seconds_left(self.kernel.now)
            bodies = self._bodies(state, missing) if not wait else []
        if wait > 0:
            state.count = 0  # as upstream, though others may be active
            return f"{head}: waits {wait:.0f} s after a failure", max(wait, 1.0), None
        return await self._start(key, state, bodies, head)

    async def _start(
        self, key: str, state: Sync, bodies: list[Object], head: str
    ) -> tuple[str, float, errors.ApiError | None]:
        self.expectations.expect_creations(key, len(bodies))

        async def create(number: int) -> None:
            await self._pod_control.create(state.job, bodies[number])

        created, failure, batches = await podcontrol.slow_start(self.kernel, len(bodies), create)
        if created < len(bodies):
            self.expectations.creation_observed(key, len(bodies) - created)
        state.count += created
        sizes = ", ".join(str(size) for size in batches)
        if failure is not None and podcontrol.is_namespace_terminating(failure):
            failure = None
        return f"{head}: creates {created} (slow start {sizes})", 0.0, failure

    def _surplus(self, state: Sync, at_least: int) -> list[Object]:
        """The pods to delete: those whose index is not valid or taken twice, then others."""

        def ranked(pods: list[Object]) -> list[Object]:
            return podstate.first_to_delete(pods, len(pods) - 1, (), self.kernel.now) + pods[-1:]

        surplus: list[Object] = []
        if indexed.is_indexed(state.job):
            surplus = indexed.superfluous(state.active, state.completions or 0, ranked)
        if len(surplus) < at_least:
            gone = {meta.uid_of(pod) for pod in surplus}
            left = [pod for pod in state.active if meta.uid_of(pod) not in gone]
            more = at_least - len(surplus)
            surplus += podstate.first_to_delete(left, more, (), self.kernel.now)
        return surplus

    def _bodies(self, state: Sync, count: int) -> list[Object]:
        job, body = state.job, _tracked_body(state.job)
        if not indexed.is_indexed(job):
            return [body] * count
        return [
            indexed.with_index(body, meta.name_of(job), index)
            for index in _free_indexes(state, count)
        ]

    def _bodies_by_index(self, state: Sync, count: int) -> tuple[list[Object], float]:
        """The pods whose index need not wait after a failure; else how long all of them do."""
        job, body = state.job, _tracked_body(state.job)
        free = _free_indexes(state, count)
        indexes, wait = perindex.creatable(free, state.replaced, self.kernel.now)
        bodies = [
            perindex.with_failures(
                indexed.with_index(body, meta.name_of(job), index), job, state.replaced.get(index)
            )
            for index in indexes
        ]
        return bodies, wait

    async def _delete(self, state: Sync, pods: list[Object]) -> tuple[int, errors.ApiError | None]:
        """Deletes pods: (how many are gone or going, first refusal)."""
        deleted, failure = 0, None
        for pod in pods:
            try:
                with errors.ignoring("NotFound"):
                    await self._pod_control.delete(state.job, pod)
                deleted += 1
                state.ready -= podstate.is_ready(pod)
            except errors.ApiError as error:
                failure = failure or error
        state.count -= deleted
        state.terminating += deleted
        return deleted, failure

    async def _stop(self, key: str, state: Sync, pods: list[Object]) -> errors.ApiError | None:
        """Takes the finalizers off, so that nobody counts the pods, and deletes them."""
        self.expectations.expect_deletions(key, [meta.uid_of(pod) for pod in pods])
        failure = None
        for pod in pods:
            try:
                await self._remove_finalizer(pod)
            except errors.ApiError as error:
                failure = failure or error
                self.expectations.deletion_observed(key, meta.uid_of(pod))
        if failure is None:
            deleted, failure = await self._delete(state, pods)
            for pod in pods[deleted:]:
                self.expectations.deletion_observed(key, meta.uid_of(pod))
        return failure

    async def _remove_finalizer(self, pod: Object) -> None:
        if not sync.is_tracked(pod):
            return
        patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}
        with errors.ignoring("NotFound"):
            await self.client.patch(
                "pods", meta.namespace_of(pod), meta.name_of(pod), patch, kind=STRATEGIC_PATCH
            )

    async def _release(self, key: str) -> Result:
        """Removes the finalizer of a pod that no job will ever count."""
        pod = self._pods.get(key)
        if pod is None or not sync.is_tracked(pod):
            return Result("is gone, or has no finalizer")
        if self._is_counted(pod):
            return Result("has a job that counts it")
        await self._remove_finalizer(pod)
        return Result("has no job that would count it: takes its finalizer off")

    # -- the status -----------------------------------------------------------------------------

    def _count(self, state: Sync) -> bool:
        """Puts the numbers of pods into the status; whether they have changed."""
        status = state.status
        counts = status.get("active", 0), status.get("ready"), status.get("terminating")
        reported = status.get("conditions")
        sync.put(status, "active", state.count)
        status["ready"], status["terminating"] = state.ready, state.terminating
        known = (state.job.get("status") or {}).get("conditions")
        return counts != (state.count, state.ready, state.terminating) or reported != known

    async def _track(self, key: str, state: Sync, changed: bool) -> None:
        """Writes the status with the pods that have ended, takes their finalizers off, and writes
        it again with their number."""
        let_go, counted, is_complete = sync.count(state)
        changed |= counted
        if state.finish is not None and state.finish["type"] in sync.FINAL:
            changed |= sync.ensure(state.status, state.finish)
            state.finish = self._condition(
                sync.FINAL[state.finish["type"]], state.finish["reason"], state.finish["message"]
            )
        if changed:
            await self._write(state)
            self._backoffs[key] = state.backoff
        failure = await self._let_go(key, state, let_go)
        changed = sync.clean(state)
        if failure is not None:
            if changed:
                await self._write(state)
            raise failure
        ended = is_complete and self._enact(state)
        if changed or ended:
            await self._write(state)
        if ended:
            self._tell_end(state)

    async def _write(self, state: Sync) -> None:
        uncounted = {kind: list(uids) for kind, uids in state.uncounted.items()}
        status = {**state.status, "uncountedTerminatedPods": uncounted}
        state.job = await self.update_status(JOBS, state.job, status)

    async def _let_go(self, key: str, state: Sync, pods: list[Object]) -> errors.ApiError | None:
        failure = None
        released = self._released.setdefault(key, set())
        for pod in pods:
            try:
                await self._remove_finalizer(pod)
                released.add(meta.uid_of(pod))
            except errors.ApiError as error:
                failure = failure or error
        state.released = released
        return failure

    def _enact(self, state: Sync) -> bool:
        """Sets the last condition once every pod is counted and gone."""
        if state.finish is None or state.uncounted:
            return False
        if self.ctx.version.has("JobTerminalConditionDelayed") and state.terminating:
            return False
        sync.ensure(state.status, state.finish)
        if state.finish["type"] == "Complete":
            state.status["completionTime"] = state.finish["lastTransitionTime"]
        return True

    def _tell_end(self, state: Sync) -> None:
        assert state.finish is not None
        if state.finish["type"] != "Complete":
            reason, message = state.finish["reason"], state.finish["message"]
            self.recorder.event(state.job, "Warning", reason, message)
            return
        completions = state.completions
        if completions is not None and state.status.get("succeeded", 0) > completions:
            self.recorder.event(
                state.job,
                "Warning",
                "TooManySucceededPods",
                "Too many succeeded pods running after completion count reached",
            )
        self.recorder.event(state.job, "Normal", "Completed", "Job completed")

    # -- keys -----------------------------------------------------------------------------------

    def _pods_to_release(self, job: Object) -> list[str]:
        """The keys of a deleted job's pods that still have the finalizer."""
        pods = self._pods.owned_by(meta.uid_of(job))
        return [ORPHAN + key for key, pod in pods.items() if sync.is_tracked(pod)]

    def _if_to_release(self, pod: Object) -> tuple[str, ...]:
        """The key of a pod that is being deleted or orphaned, and that no job will count."""
        if not sync.is_tracked(pod) or self._is_counted(pod):
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


def _has_new_spec(old: Object, job: Object) -> bool:
    return bool(old["metadata"].get("generation") != job["metadata"].get("generation"))


def is_finished(job: Object) -> bool:
    """Whether the job is complete or has failed."""
    status = job.get("status")
    return any(conditions.is_true(status, kind) for kind in ("Complete", "Failed"))


def _wanted_active(state: Sync) -> int:
    """The number of pods that should be active now."""
    parallelism = int(state.job["spec"].get("parallelism", 1))
    if state.completions is None:
        # a work queue: once a pod has succeeded, no new ones are started
        return len(state.active) if state.succeeded else parallelism
    return max(0, min(parallelism, state.completions - state.succeeded))


def _ending_by_indexes(state: Sync) -> tuple[str, str, str] | None:
    """How the failed indexes of a job end it, if they do."""
    if not state.failed_indexes:
        return None
    failed, most = indexed.total(state.failed_indexes), state.job["spec"].get("maxFailedIndexes")
    if most is not None and failed > most:
        return TOO_MANY_INDEXES_FAILED
    if failed + indexed.total(state.done) >= (state.completions or 0):
        return INDEXES_FAILED
    return None


def _tracked_body(job: Object) -> Object:
    """A new pod of the job, with the finalizer."""
    body = podcontrol.pod_from_template(job["spec"]["template"], job)
    finalizers = body["metadata"].get("finalizers") or []
    if TRACKING not in finalizers:
        body["metadata"]["finalizers"] = [*finalizers, TRACKING]
    return body


def _free_indexes(state: Sync, count: int) -> list[int]:
    """The first indexes that no pod has and that have neither succeeded nor failed."""
    used = [pod for pod in state.pods if podstate.is_active(pod)]
    if sync.replaces_failed_only(state.job):
        used += [pod for pod in state.pods if meta.is_deleting(pod)]
    indexes = [index for index in map(indexed.index_of, used) if index is not None]
    settled = indexed.merged([*state.done, *(state.failed_indexes or ())])
    taken = indexed.with_indexes(settled, indexes)
    return indexed.first_free(taken, state.completions or 0, count)
