"""Cron jobs: a job whenever the schedule comes round, and what becomes of the old ones."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab


def cron_job(schedule: str = "* * * * *", **spec: Any) -> dict[str, Any]:
    template = {
        "spec": {"containers": [{"name": "c", "image": "busybox"}], "restartPolicy": "Never"}
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": template}},
            **spec,
        },
    }


def end(lab: Lab, phase: str = "Succeeded") -> None:
    """Let every pod end so."""
    for pod in lab.all("pods"):
        if not pod["spec"].get("nodeName"):
            lab.bind(meta.name_of(pod), "node-1")
            lab.set_pod(meta.name_of(pod), phase)
    lab.run(2)


def reasons(lab: Lab) -> list[str]:
    return [reason for reason, _, _ in lab.events("CronJob")]


def status(lab: Lab) -> dict[str, Any]:
    found: dict[str, Any] = lab.get("cronjobs.batch", "tick")["status"]
    return found


def test_each_minute_has_a_job_of_its_own(lab: Lab) -> None:
    lab.create("cronjobs.batch", cron_job())
    assert lab.names("jobs.batch") == []
    lab.run(61)
    [job] = lab.all("jobs.batch")
    due = status(lab)["lastScheduleTime"]
    minute = meta.parse_time(due) // 60_000_000
    assert meta.name_of(job) == f"tick-{minute}"
    assert job["metadata"]["labels"] == {"a": "b"}
    assert job["metadata"]["annotations"] == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": due
    }
    assert meta.controller_of(job)["kind"] == "CronJob"  # type: ignore[index]
    assert [one["name"] for one in status(lab)["active"]] == [f"tick-{minute}"]
    assert lab.events("CronJob") == [("SuccessfulCreate", f"Created job tick-{minute}", 1)]
    lab.run(60)
    assert lab.names("jobs.batch") == [f"tick-{minute}", f"tick-{minute + 1}"]


def test_a_job_that_has_ended_is_active_no_more(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("cronjobs.batch", cron_job())
    lab.run(61)
    end(lab)
    [name] = lab.names("jobs.batch")
    assert "active" not in status(lab)
    assert status(lab)["lastSuccessfulTime"]
    assert lab.events("CronJob")[-1] == (
        "SawCompletedJob",
        f"Saw completed job: {name}, condition: Complete",
        1,
    )


def test_of_those_that_have_ended_the_history_keeps_as_many_as_it_may(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("cronjobs.batch", cron_job(successfulJobsHistoryLimit=1))
    names: list[str] = []
    for _ in range(3):
        lab.run(60)
        end(lab)
        names = [*names, *(name for name in lab.names("jobs.batch") if name not in names)]
    assert len(names) == 3
    assert lab.names("jobs.batch") == names[-1:]
    assert "SuccessfulDelete" in reasons(lab)


@pytest.mark.parametrize(
    ("policy", "jobs", "reason"),
    [
        ("Allow", 2, "SuccessfulCreate"),
        ("Forbid", 1, "JobAlreadyActive"),
        ("Replace", 1, "SuccessfulDelete"),
    ],
)
def test_what_the_next_start_does_while_a_job_runs(
    lab: Lab, policy: str, jobs: int, reason: str
) -> None:
    lab.create("cronjobs.batch", cron_job(concurrencyPolicy=policy))
    lab.run(61)
    first = lab.names("jobs.batch")
    lab.run(60)
    assert len(lab.names("jobs.batch")) == jobs
    assert (first[0] in lab.names("jobs.batch")) == (policy != "Replace")
    assert reason in reasons(lab)


def test_a_suspended_one_starts_nothing_and_makes_up_for_the_last_only(lab: Lab) -> None:
    lab.create("cronjobs.batch", cron_job(suspend=True))
    lab.run(200)
    assert lab.names("jobs.batch") == []
    lab.patch("cronjobs.batch", "tick", {"spec": {"suspend": False}})
    lab.run(1)
    assert len(lab.names("jobs.batch")) == 1


def test_a_start_that_is_too_late_is_left_out(lab: Lab) -> None:
    lab.create("cronjobs.batch", cron_job(suspend=True, startingDeadlineSeconds=15))
    lab.run(150 - lab.kernel.now // 1_000_000 % 60)  # half past a minute
    lab.patch("cronjobs.batch", "tick", {"spec": {"suspend": False}})
    lab.run(1)
    assert lab.names("jobs.batch") == []
    lab.run(60)
    assert len(lab.names("jobs.batch")) == 1


def test_a_new_schedule_begins_with_its_next_moment(lab: Lab) -> None:
    lab.create("cronjobs.batch", cron_job("0 0 1 1 *"))
    lab.run(200)
    lab.patch("cronjobs.batch", "tick", {"spec": {"schedule": "* * * * *"}})
    lab.run(0.5)
    assert lab.names("jobs.batch") == []
    lab.run(61)
    assert len(lab.names("jobs.batch")) >= 1


def test_a_schedule_that_never_comes_round_is_reported(lab: Lab) -> None:
    lab.create("cronjobs.batch", cron_job("59 23 31 2 *"))
    lab.run(1)
    assert lab.events("CronJob") == [
        (
            "InvalidSchedule",
            "invalid schedule: 59 23 31 2 * : time difference between two schedules is less than "
            "1 second",
            1,
        )
    ]


def test_a_job_that_is_deleted_while_it_runs_is_missed(lab: Lab) -> None:
    lab.create("cronjobs.batch", cron_job())
    lab.run(61)
    [name] = lab.names("jobs.batch")
    lab.delete("jobs.batch", name, propagationPolicy="Background")
    lab.run(1)
    assert ("MissingJob", f"Active job went missing: {name}", 1) in lab.events("CronJob")
    assert "active" not in status(lab)
