"""The cronjob controller: starts a job whenever its schedule comes round, and tidies up after it.

Each start has a name of its own, made of the minute it was due, so that no start happens twice.
Of starts that were missed only the last is made up for.

Models kubernetes pkg/controller/cronjob/cronjob_controllerv2.go; when to start is in
cronschedule.py.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from apiserver_app.apis import cron
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.cronjob import scheduling
from controllers_app.controllers.job import job
from controllers_app.controllers.workload import podcontrol
from controllers_app.controllers.workload.ownership import controller_reference
from controllers_app.runtime import events
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import UPDATED, For, Owns, Reads, Watches

CRON_JOBS = "cronjobs.batch"
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class State(msgspec.Struct):
    """One reconcile: the cron job with the status it is to have, and its jobs."""

    cron_job: Object
    jobs: list[Object]
    is_changed: bool = False
    decisions: list[str] = msgspec.field(default_factory=list)

    @property
    def active(self) -> list[Object]:
        """References to the jobs that run; a new list may be put into the status."""
        references: list[Object] = self.cron_job["status"].setdefault("active", [])
        return references

    def knows(self, uid: str) -> bool:
        return any(reference.get("uid") == uid for reference in self.active)

    def drop(self, uid: str) -> None:
        """The job does not run any more."""
        left = [reference for reference in self.active if reference.get("uid") != uid]
        self.is_changed = self.is_changed or len(left) < len(self.active)
        self.cron_job["status"]["active"] = left


class CronJobController(Controller):
    """Reconciles cron jobs."""

    source = "pkg/controller/cronjob/cronjob_controllerv2.go syncCronJob"
    watches = (
        Reads(job.JOBS),
        For(CRON_JOBS, changed=lambda old, cron_job: _schedule(old) == _schedule(cron_job)),
        Watches(
            CRON_JOBS,
            on=UPDATED,
            changed=lambda old, cron_job: _schedule(old) != _schedule(cron_job),
            keys=lambda self, cron_job: self._reschedule(cron_job),
        ),
        Owns(job.JOBS, "CronJob", selector=None),
    )

    async def reconcile(self, key: str) -> Result | None:
        stored = self.caches[CRON_JOBS].get(key)
        if stored is None:
            return Result("is gone")
        cron_job = {**stored, "status": copy.deepcopy(stored.get("status") or {})}
        state = State(cron_job, list(self.caches[job.JOBS].owned_by(meta.uid_of(stored)).values()))
        await self._clean_up(state)
        failure, wait = None, 0.0
        try:
            wait = await self._sync(state)
        except errors.ApiError as error:
            failure = error
        if state.is_changed:
            await self._write(state)
        if failure is not None:
            raise failure
        return Result("; ".join(state.decisions), wait, background=True)

    # -- what became of its jobs ----------------------------------------------------------------

    async def _clean_up(self, state: State) -> None:
        """Delete the oldest of those that have ended, beyond the limits of the history."""
        spec = state.cron_job["spec"]
        for kind, limit in (
            ("Complete", spec.get("successfulJobsHistoryLimit")),
            ("Failed", spec.get("failedJobsHistoryLimit")),
        ):
            ended = [child for child in state.jobs if _end_of(child) == kind]
            if limit is None or len(ended) <= limit:
                continue
            ended.sort(key=lambda child: (_started(child), meta.name_of(child)))
            for old in ended[: len(ended) - limit]:
                await self._delete(state, old)

    async def _take_stock(self, state: State) -> None:
        """Bring the list of those that run up to date."""
        about = state.cron_job
        for item in state.jobs:
            uid, end = meta.uid_of(item), _end_of(item)
            if not state.knows(uid) and not end:
                live = await self.client.get(CRON_JOBS, *_place(about))
                active = (live.get("status") or {}).get("active") or ()
                if not any(known.get("uid") == uid for known in active):
                    text = (
                        "Saw a job that the controller did not create or forgot: "
                        + meta.name_of(item)
                    )
                    self.recorder.event(about, "Warning", "UnexpectedJob", text)
            elif state.knows(uid) and end:
                state.drop(uid)
                text = f"Saw completed job: {meta.name_of(item)}, condition: {end}"
                self.recorder.event(about, "Normal", "SawCompletedJob", text)
            if end == "Complete":
                done = (item.get("status") or {}).get("completionTime")
                if done and done > about["status"].get("lastSuccessfulTime", ""):
                    about["status"]["lastSuccessfulTime"] = done
                    state.is_changed = True
        there = {meta.uid_of(child) for child in state.jobs}
        for item in [known for known in state.active if known.get("uid") not in there]:
            if await self.live(job.JOBS, item["namespace"], item["name"]) is None:
                text = f"Active job went missing: {item['name']}"
                self.recorder.event(about, "Normal", "MissingJob", text)
                state.drop(item["uid"])

    # -- is it time? ----------------------------------------------------------------------------

    async def _sync(self, state: State) -> float:
        """Start a job if one is due; seconds until the next one is."""
        await self._take_stock(state)
        about = state.cron_job
        if meta.is_deleting(about):
            return self._rest(state, "is being deleted")
        if about["spec"].get("suspend"):
            return self._rest(state, "is suspended")
        written = about["spec"].get("schedule", "")
        if "TZ" in written:
            text = (
                f"CRON_TZ or TZ used in schedule {errors.go_value(written)} is not officially "
                "supported, see https://kubernetes.io/docs/concepts/workloads/controllers/"
                "cron-jobs/ for more details"
            )
            self.recorder.event(about, "Warning", "UnsupportedSchedule", text)
        try:
            schedule = scheduling.schedule_of(about)
        except cron.ScheduleError as error:
            text = f"unparseable schedule: {errors.go_value(written)} : {error}"
            self.recorder.event(about, "Warning", "UnparseableSchedule", text)
            return self._rest(state, text)
        try:
            due, is_many = scheduling.last_due(about, self.kernel.now, schedule)
        except scheduling.NeverDue as error:
            text = f"invalid schedule: {written} : {error}"
            self.recorder.event(about, "Warning", "InvalidSchedule", text)
            return self._rest(state, text)
        if is_many:
            text = (
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
                "check clock skew"
            )
            self.recorder.event(about, "Warning", "TooManyMissedTimes", text)
        if due is not None and self._may_start(state, due):
            await self._start(state, due)
        elif due is None:
            state.decisions.append("no start is due")
        return scheduling.seconds_to_next(about, self.kernel.now, schedule)

    def _rest(self, state: State, why: str) -> float:
        state.decisions.append(why)
        return 0.0

    def _may_start(self, state: State, due: int) -> bool:
        about = state.cron_job
        spec, last = about["spec"], about["status"].get("lastScheduleTime")
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and (due + deadline) * SECOND < self.kernel.now:
            text = f"Missed scheduled time to start a job: {scheduling.rfc1123(due)}"
            self.recorder.event(about, "Warning", "MissSchedule", text)
            state.decisions.append("too late for the start that was due")
            return False
        name = scheduling.name_of(about, due)
        if any(reference.get("name") == name for reference in state.active) or (
            last and meta.parse_time(last) == due * SECOND
        ):
            state.decisions.append("the last start that was due has been made")
            return False
        if spec.get("concurrencyPolicy") == "Forbid" and state.active:
            text = (
                "Not starting job because prior execution is running and concurrency policy is "
                "Forbid"
            )
            self.recorder.event(about, "Normal", "JobAlreadyActive", text)
            state.decisions.append("the job before still runs")
            return False
        return True

    # -- what is done ---------------------------------------------------------------------------

    async def _start(self, state: State, due: int) -> None:
        about = state.cron_job
        namespace, _ = _place(about)
        if about["spec"].get("concurrencyPolicy") == "Replace":
            for reference in list(state.active):
                await self._delete(state, await self._live(about, reference))
        body = _job_of(about, due)
        name = meta.name_of(body)
        try:
            made = await self.client.create(job.JOBS, namespace, body)
        except errors.ApiError as error:
            if podcontrol.is_namespace_terminating(error):
                raise
            if error.reason != "AlreadyExists":
                text = f"Error creating job: {error.message}"
                self.recorder.event(about, "Warning", "FailedCreate", text)
                raise
            made = await self.client.get(job.JOBS, namespace, name)
            owner = meta.controller_of(made) or {}
            if owner.get("uid") != meta.uid_of(about) or state.knows(meta.uid_of(made)):
                state.decisions.append(f"{name} is there already")
                return
        else:
            self.recorder.event(about, "Normal", "SuccessfulCreate", f"Created job {name}")
        named = {"kind": "Job", "apiVersion": "batch/v1", **made}
        about["status"]["active"] = [*state.active, events.reference(named)]
        about["status"]["lastScheduleTime"] = meta.rfc3339(due * SECOND)
        state.is_changed = True
        state.decisions.append(f"starts {name}")

    async def _live(self, about: Object, child: Object) -> Object:
        try:
            return await self.client.get(job.JOBS, child["namespace"], child["name"])
        except errors.ApiError as error:
            self.recorder.event(about, "Warning", "FailedGet", f"Get job: {error.message}")
            raise

    async def _delete(self, state: State, child: Object) -> None:
        about, (namespace, name) = state.cron_job, _place(child)
        options = {"propagationPolicy": "Background"}
        try:
            await self.client.delete(job.JOBS, namespace, name, options=options)
        except errors.ApiError as error:
            text = f"Deleted job: {error.message}"
            self.recorder.event(about, "Warning", "FailedDelete", text)
            if state.knows(meta.uid_of(child)):  # it was to be replaced
                raise
            return
        state.drop(meta.uid_of(child))
        self.recorder.event(about, "Normal", "SuccessfulDelete", f"Deleted job {name}")
        state.decisions.append(f"deletes {name}")

    async def _write(self, state: State) -> None:
        status: dict[str, Any] = state.cron_job["status"]
        if not status.get("active"):
            status.pop("active", None)
        namespace, name = _place(state.cron_job)
        await self.client.update(CRON_JOBS, namespace, name, state.cron_job, subresource="status")

    def _reschedule(self, cron_job: Object) -> tuple[str, ...]:
        """A new schedule begins with its next moment, not with one that it would have had."""
        try:
            schedule = scheduling.schedule_of(cron_job)
        except cron.ScheduleError:
            return ()
        wait = scheduling.seconds_to_next(cron_job, self.kernel.now, schedule)
        self.queue.set_after(meta.key_of(cron_job), wait, background=True)
        return ()


def _schedule(cron_job: Object) -> tuple[Any, Any]:
    return cron_job["spec"].get("schedule"), cron_job["spec"].get("timeZone")


def _place(obj: Object) -> tuple[str, str]:
    return meta.namespace_of(obj), meta.name_of(obj)


def _end_of(child: Object) -> str:
    """Complete, Failed, or empty while it runs."""
    for item in (child.get("status") or {}).get("conditions") or ():
        if item["type"] in ("Complete", "Failed") and item["status"] == "True":
            return str(item["type"])
    return ""


def _started(child: Object) -> str:
    """For order; one that never started comes last."""
    return (child.get("status") or {}).get("startTime") or "~"


def _job_of(about: Object, due: int) -> Object:
    """The job of one start."""
    template = about["spec"]["jobTemplate"]
    metadata = template.get("metadata") or {}
    when = scheduling.in_zone(due, about["spec"].get("timeZone") or "")
    out: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": scheduling.name_of(about, due),
            "creationTimestamp": meta.rfc3339(due * SECOND),
            "annotations": {**(metadata.get("annotations") or {}), SCHEDULED_AT: when},
            "ownerReferences": [
                controller_reference({"kind": "CronJob", "apiVersion": "batch/v1", **about})
            ],
        },
        "spec": copy.deepcopy(template.get("spec") or {}),
    }
    if metadata.get("labels"):
        out["metadata"]["labels"] = dict(metadata["labels"])
    return out
