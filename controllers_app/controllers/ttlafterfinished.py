"""The TTL-after-finished controller: deletes jobs some time after they have ended.

Models kubernetes pkg/controller/ttlafterfinished/ttlafterfinished_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.job import job as jobs
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For


class TtlAfterFinishedController(Controller):
    """Reconciles jobs that have a time to live."""

    source = "pkg/controller/ttlafterfinished/ttlafterfinished_controller.go processJob"
    watches = (
        For(
            jobs.JOBS,
            on=ADDED | UPDATED,
            when=lambda job: "ttlSecondsAfterFinished" in job["spec"] and jobs.is_finished(job),
        ),
    )

    async def reconcile(self, key: str) -> Result | None:
        job = self.caches[jobs.JOBS].get(key)
        if job is None or meta.is_deleting(job):
            return Result("is gone or going")
        ended = _ended(job)
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if ended is None or seconds is None:
            return Result("has not ended, or has no time to live")
        wait = (ended + seconds * SECOND - self.kernel.now) / SECOND
        if wait > 0:
            return Result(f"lives {wait:.0f} s more", wait, background=True)
        namespace, name = meta.split_key(key)
        latest = await self.live(jobs.JOBS, namespace, name)
        if latest is None or latest["spec"].get("ttlSecondsAfterFinished") != seconds:
            return Result("is gone, or is to live as long as somebody has just said")
        options = {"propagationPolicy": "Foreground", "preconditions": {"uid": meta.uid_of(latest)}}
        with errors.ignoring("NotFound"):
            await self.client.delete(jobs.JOBS, namespace, name, options=options)
        return Result("its time is over: deletes it")


def _ended(job: Object) -> int | None:
    """When its Complete or Failed condition came."""
    for item in (job.get("status") or {}).get("conditions") or ():
        if item["type"] in ("Complete", "Failed") and item["status"] == "True":
            return meta.parse_time(item["lastTransitionTime"])
    return None
