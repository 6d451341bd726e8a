"""The strategy of CronJobs: the schedule, and the job template under the rules of a job's spec.

Models kubernetes pkg/apis/batch/v1/defaults.go and pkg/apis/batch/validation/validation.go. The
syntax of schedules is in `apis.cron`.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from typing import Any

from apiserver_app.apis import cron
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.batch.job import rules
from apiserver_app.registry.core import workload
from apiserver_app.registry.core.pod import defaults, disabled
from apiserver_app.registry.core.pod import warnings as podwarnings
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, gosyntax

NAME_LENGTH = 52
_POLICIES = ("Allow", "Forbid", "Replace")
_is_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch


class CronJobStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        if spec.get("suspend") is None:
            spec["suspend"] = False
        if spec.get("successfulJobsHistoryLimit") is None:
            spec["successfulJobsHistoryLimit"] = 3
        if spec.get("failedJobsHistoryLimit") is None:
            spec["failedJobsHistoryLimit"] = 1
        template: dict[str, Any] = spec.get("jobTemplate") or {}
        spec["jobTemplate"] = template
        template["metadata"] = template.get("metadata") or {}
        inside: dict[str, Any] = template.get("spec") or {}
        template["spec"] = inside
        defaults.template(inside)
        gofields.arrange(inside, "batch.v1.JobSpec")
        gofields.arrange(template, "batch.v1.JobTemplateSpec")
        gofields.arrange(spec, "batch.v1.CronJobSpec")
        if obj.get("status") is None:
            obj["status"] = {}

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {}
        obj["metadata"]["generation"] = 1
        disabled.in_template(obj["spec"]["jobTemplate"]["spec"], None, ctx.version)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        before = old["spec"]["jobTemplate"]["spec"]
        disabled.in_template(obj["spec"]["jobTemplate"]["spec"], before, ctx.version)
        super().prepare_for_update(ctx, obj, old)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        self._spec(obj["spec"], None, ctx.version, errs)
        name = obj["metadata"].get("name") or ""
        if len(name) > NAME_LENGTH:
            text = "must be no more than 52 characters"
            errs.append(errors.invalid_value("metadata.name", name, text))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        self._spec(obj["spec"], old["spec"], ctx.version, errs)
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings = workload.name_warnings(obj, old)
        template = obj["spec"].get("jobTemplate") or {}
        inside = (template.get("spec") or {}).get("template") or {}
        warnings += rules.warnings(template.get("spec") or {}, "spec.jobTemplate.spec")
        if old is None or workload.is_new_generation(obj, old):
            path, metadata = "spec.jobTemplate.spec.template.spec", inside.get("metadata") or {}
            podwarnings.add(inside.get("spec") or {}, metadata, path, ctx.version, warnings)
        if "TZ" in (obj["spec"].get("schedule") or ""):
            warnings.append(
                "CRON_TZ or TZ used in spec.schedule is not officially supported, see "
                "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ "
                "for more details"
            )
        return warnings

    def _spec(
        self,
        spec: Mapping[str, Any],
        before: Mapping[str, Any] | None,
        release: Release,
        errs: list[FieldError],
    ) -> None:
        schedule = spec.get("schedule") or ""
        if not schedule:
            errs.append(errors.required("spec.schedule"))
        else:
            _schedule(schedule, spec.get("timeZone"), before, errs)
        seconds = spec.get("startingDeadlineSeconds")
        checks.not_negative(seconds, "spec.startingDeadlineSeconds", errs)
        zone = spec.get("timeZone")
        if zone is not None and (before is None or zone != before.get("timeZone")):
            text = _zone_error(zone)
            if text:
                errs.append(errors.invalid_value("spec.timeZone", zone, text))
        policy = spec.get("concurrencyPolicy")
        checks.one_of(policy, "spec.concurrencyPolicy", _POLICIES, errs)
        inside = (spec.get("jobTemplate") or {}).get("spec") or {}
        path = "spec.jobTemplate.spec"
        rules.validate(inside, path, release, errs)
        if inside.get("selector") is not None:
            printed = gosyntax.label_selector(inside["selector"])
            text = "`selector` will be auto-generated"
            errs.append(errors.invalid_value(f"{path}.selector", printed, text))
        if inside.get("manualSelector"):
            allowed = ("nil", "false")
            errs.append(errors.not_supported(f"{path}.manualSelector", True, allowed))
        for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
            checks.not_negative(spec.get(field), f"spec.{field}", errs)


def _schedule(
    schedule: str, zone: str | None, before: Mapping[str, Any] | None, errs: list[FieldError]
) -> None:
    """Validates the schedule. A time zone in it is allowed only if the old schedule had one."""
    text = schedule_error(schedule)
    if text:
        errs.append(errors.invalid_value("spec.schedule", schedule, text))
    if "TZ" not in schedule:
        return
    if "TZ" not in ((before or {}).get("schedule") or ""):
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errs.append(errors.invalid_value("spec.schedule", schedule, text))
    elif zone is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errs.append(errors.invalid_value("spec.schedule", schedule, text))


def _zone_error(zone: str) -> str:
    """The error of a time zone's name; empty if it is valid."""
    if not zone:
        return "timeZone must be nil or non-empty string"
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _is_zone_part(part):
            return f"unknown time zone {zone}"
    if zone.lower() == "local":
        return (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        return f"unknown time zone {zone}"
    return ""


def schedule_error(schedule: str) -> str:
    """The cron parser's error for a schedule; empty if it parses."""
    try:
        cron.parse(schedule)
    except cron.ScheduleError as error:
        return str(error)
    return ""
