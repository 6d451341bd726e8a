"""When a cron job is due: the last start there should have been, and the wait for the next.

Models kubernetes pkg/controller/cronjob/utils.go and nextScheduleTimeDuration in
cronjob_controllerv2.go.
"""

from __future__ import annotations

import datetime

from apiserver_app.apis import cron
from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object

# a start is looked at so much after it is due
DELTA_SECONDS = 0.1
MISSED_MAX = 100


class NeverDue(ValueError):
    """The schedule names moments that do not come, such as the 31st of February."""


def schedule_of(cron_job: Object) -> cron.Schedule:
    """Its schedule in its time zone."""
    spec = cron_job["spec"]
    written, zone = spec.get("schedule", ""), spec.get("timeZone")
    if zone is None or "TZ" in written:
        return cron.parse(written)
    return cron.parse(f"TZ={zone} {written}")


def last_due(cron_job: Object, now: int, schedule: cron.Schedule) -> tuple[int | None, bool]:
    """(the second of the last start that is due, were many missed). `now` is in µs."""
    earliest = _earliest(cron_job)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline is not None:
        earliest = max(earliest, -(-now // SECOND) - deadline)
    due, missed = most_recent(earliest, now, schedule)
    return due, missed > MISSED_MAX


def seconds_to_next(cron_job: Object, now: int, schedule: cron.Schedule) -> float:
    """How long to wait from now for the next start; 0 when there is none."""
    start = now // SECOND
    earliest = _earliest(cron_job)
    try:
        due, missed = most_recent(earliest, now, schedule)
    except NeverDue:
        pass
    else:
        start = due if due is not None else start if missed else earliest
    following = schedule.next(start)
    if following is None:
        return 0.0
    return max(0.0, (following * SECOND - now) / SECOND + DELTA_SECONDS)


def name_of(cron_job: Object, due: int) -> str:
    """The name of the job of one start: it counts minutes."""
    return f"{meta.name_of(cron_job)}-{due // 60}"


def in_zone(due: int, zone: str) -> str:
    """RFC 3339, with the offset of a time zone."""
    text = cron.local(due, zone).isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def rfc1123(due: int) -> str:
    """As Go prints time.RFC1123Z."""
    return (meta.EPOCH + datetime.timedelta(seconds=due)).strftime("%a, %d %b %Y %H:%M:%S +0000")


def _earliest(cron_job: Object) -> int:
    """The second from which on starts count."""
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    text = last or cron_job["metadata"]["creationTimestamp"]
    return meta.parse_time(text) // SECOND


def most_recent(earliest: int, now: int, schedule: cron.Schedule) -> tuple[int | None, int]:
    """(the last start up to now, about how many there were besides one)."""
    first = schedule.next(earliest)
    if first is not None and now < first * SECOND:
        return None, 0
    second = None if first is None else schedule.next(first)
    if first is not None and second is not None and now < second * SECOND:
        return first, 0
    if first is None or second is None:
        raise NeverDue("time difference between two schedules is less than 1 second")
    step = second - first
    count = (now // SECOND - first) // step + 1
    # steps need not be of one length
    return schedule.last(first + (count - 2) * step, now // SECOND), count
