"""Cron schedules: the moments at which they come round."""

from __future__ import annotations

import pytest

from apiserver_app.apis import cron
from apiserver_app.machinery import meta


def moments(schedule: str, after: str, count: int = 3) -> list[str]:
    found: list[str] = []
    moment: int | None = meta.parse_time(after) // 1_000_000
    for _ in range(count):
        assert moment is not None
        moment = cron.parse(schedule).next(moment)
        found.append("never" if moment is None else meta.rfc3339(moment * 1_000_000))
    return found


@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [
        ("*/5 * * * *", ["2026-11-22T03:05:00Z", "2026-11-22T03:10:00Z"]),
        ("30 6-16/4 * * 1-5", ["2026-11-23T06:30:00Z", "2026-11-23T10:30:00Z"]),
        # of two restricted days one is enough
        ("0 0 26 * fri", ["2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z"]),
        ("0 0 */26 * fri", ["2026-11-27T00:00:00Z", "2026-12-01T00:00:00Z"]),
        ("0 12 29 2 *", ["2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"]),
        ("@monthly", ["2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
        ("@every 1h30m", ["2026-11-22T04:33:00Z", "2026-11-22T06:03:00Z"]),
        ("TZ=Asia/Tokyo 0 9 * * *", ["2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"]),
    ],
)
def test_a_schedule_comes_round(schedule: str, wanted: list[str]) -> None:
    assert moments(schedule, "2026-11-22T03:03:00Z", 2) == wanted


def test_a_day_that_is_in_no_month_never_comes() -> None:
    assert moments("59 23 31 2 *", "2026-11-22T03:03:00Z", 1) == ["never"]


def test_an_hour_that_summer_time_leaves_out_is_not_made_up_for() -> None:
    found = moments("TZ=America/New_York 30 2 * * *", "2026-03-07T00:00:00Z")
    assert found == ["2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z", "2026-03-10T06:30:00Z"]


def test_an_hour_that_comes_twice_counts_twice() -> None:
    found = moments("TZ=America/New_York 30 1 * * *", "2026-11-01T00:00:00Z")
    assert found == ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"]


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("TZ=Nowhere * * * * *", "provided bad location Nowhere: unknown time zone Nowhere"),
    ],
)
def test_what_is_no_schedule_is_refused_in_the_librarys_words(schedule: str, text: str) -> None:
    with pytest.raises(cron.ScheduleError) as refused:
        cron.parse(schedule)
    assert str(refused.value) == text
