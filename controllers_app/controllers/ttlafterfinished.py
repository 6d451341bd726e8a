"""The TTL-after-finished controller: deletes jobs some time after they have ended.

Models kubernetes pkg/controller/ttlafterfinished/ttlafterfinished_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.job import job as jobs
from controllers_app.runtime.controller import Context, Controller, Result


class TtlAfterFinishedController(Controller):
    """Reconciles jobs that have a time to live."""

    resource = jobs.JOBS
    source = "pkg/controller/ttlafterfinished/ttlafterfinished_controller.go processJob"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._jobs = ctx.informers.informer(jobs.JOBS)
        self._jobs.handle(self._changed, self._updated)

    async def reconcile(self, key: str) -> Result | None:
        job = self._jobs.get(key)
        if job is None or meta.is_deleting(job):
            return Result("is gone or going")
        ended = _ended(job)
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if ended is None or seconds is None:
            return Result("has not ended, or has no time to live")
        wait = (ended + seconds * SECOND - self.kernel.now) / SECOND
        if wait > 0:
            return Result(f"lives {wait:.0f} s more", wait, background=True)
        options = {
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": meta.uid_of(job)},
        }
        namespace, name = meta.split_key(key)
        try:
            await self.client.delete(jobs.JOBS, namespace, name, options=options)
        except errors.ApiError as error:
            if error.code != 404:
                raise
        return Result("its time is over: deletes it")

    def _changed(self, job: Object, revision: int) -> None:
        if job["spec"].get("ttlSecondsAfterFinished") is not None and jobs.is_over(job):
            self.queue.add(meta.key_of(job), revision)

    def _updated(self, _old: Object, job: Object, revision: int) -> None:
        self._changed(job, revision)


def _ended(job: Object) -> int | None:
    """When its Complete or Failed condition came."""
    for item in (job.get("status") or {}).get("conditions") or ():
        if item["type"] in ("Complete", "Failed") and item["status"] == "True":
            return meta.parse_time(item["lastTransitionTime"])
    return None
