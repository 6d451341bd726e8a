"""Ways in which others were attacked, which have no test elsewhere: see docs/security.md."""

from __future__ import annotations

import datetime

import pytest

from apiserver_app.apis import cron
from apiserver_app.etcd import lease
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.machinery.kernel import SECOND
from controllers_app.controllers.cronjob import scheduling
from lifecycle.hosting.scripted import Session

YEAR_SECONDS = 365 * 86_400


def test_a_lease_beyond_what_a_clock_holds_is_refused() -> None:
    etcd = Session().cluster.etcd
    with pytest.raises(EtcdError, match="too large lease TTL"):
        lease.grant(etcd, lease.TTL_SECONDS_MAX + 1)
    with pytest.raises(EtcdError, match="too large lease TTL"):
        lease.grant(etcd, 2**63 - 1)


@pytest.mark.parametrize("text", ["* * * * *", "* * * 2-12 *", "0 0 29 2 *", "@every 1s"])
def test_what_a_cron_job_missed_in_years_is_found_without_a_walk(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    following = cron.Schedule.next

    def counted(self: cron.Schedule, after: int) -> int | None:
        calls.append(after)
        return following(self, after)

    monkeypatch.setattr(cron.Schedule, "next", counted)
    earliest = int(datetime.datetime(2020, 12, 31, 23, 58, tzinfo=datetime.UTC).timestamp())
    now = (earliest + 10 * YEAR_SECONDS) * SECOND
    last, count = scheduling.most_recent(earliest, now, cron.parse(text))
    assert last is not None and last * SECOND <= now and count > 0
    assert len(calls) < 5


@pytest.mark.parametrize(
    "text", ["* * * * *", "*/7 3-5 * * 1", "0 0 1 * *", "30 2 * * *", "TZ=Europe/Berlin 30 2 * * *"]
)
def test_the_last_activation_is_the_one_that_a_walk_finds(text: str) -> None:
    schedule = cron.parse(text)
    begin = int(datetime.datetime(2025, 3, 28, 22, 30, tzinfo=datetime.UTC).timestamp())
    for hours in (0, 1, 5, 26, 60):
        until, last, moment = begin + hours * 3600 + 17, None, schedule.next(begin)
        while moment is not None and moment <= until:
            last, moment = moment, schedule.next(moment)
        assert schedule.last(begin, until) == last
