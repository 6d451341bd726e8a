"""What a job's own policies do: failures that do not count or end it, limits for each index, and
successes that are enough."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import meta
from controllers_app.controllers.job import indexed, perindex, policies
from tests.controllers_app.controllers.lab import Lab
from tests.controllers_app.controllers.test_job import conditions, job, running

INDEXED = {"completionMode": "Indexed"}


@pytest.fixture
def jobs(lab: Lab) -> Lab:
    lab.add_node("node-1")
    return lab


def end(lab: Lab, name: str, code: int, *extra: dict[str, str]) -> None:
    """Says of a pod that its container has ended so, as its kubelet would."""
    now = meta.rfc3339(lab.kernel.now)
    ended = {"exitCode": code, "startedAt": now, "finishedAt": now}
    status = {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}, *extra],
        "containerStatuses": [{"name": "pi", "ready": False, "restartCount": 0, "image": "perl",
                               "imageID": "", "state": {"terminated": ended}}],
    }  # fmt: skip
    if not lab.get("pods", name)["spec"].get("nodeName"):
        lab.bind(name, "node-1")
    lab.patch("pods", name, {"status": status}, subresource="status")
    lab.run(2)


def status_of(lab: Lab) -> dict[str, Any]:
    found: dict[str, Any] = lab.get("jobs.batch", "pi")["status"]
    return found


def by_index(lab: Lab) -> dict[int, str]:
    """The running pod of each index."""
    pods = ((indexed.index_of(lab.get("pods", name)), name) for name in running(lab))
    return {index: name for index, name in pods if index is not None}


def exit_codes(action: str, *values: int, operator: str = "In") -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values)}}


# -- pod failure policy ---------------------------------------------------------------------------


def test_an_exit_code_fails_the_job_at_once_and_says_why(jobs: Lab) -> None:
    rules = [exit_codes("FailJob", 42)]
    jobs.create("jobs.batch", job(parallelism=2, completions=2, podFailurePolicy={"rules": rules}))
    first, other = running(jobs)
    end(jobs, first, 42)
    assert running(jobs) == []
    jobs.finish_deletes()
    jobs.run(2)
    found = conditions(jobs)
    assert found["FailureTarget"] == found["Failed"] == ("True", "PodFailurePolicy")
    message = f"Container pi for pod default/{first} failed with exit code 42 matching FailJob rule"
    assert {condition["message"] for condition in status_of(jobs)["conditions"]} == {
        f"{message} at index 0"
    }
    assert ("PodFailurePolicy", f"{message} at index 0", 1) in jobs.events("Job")
    assert other not in jobs.names("pods")
    jobs.assert_no_slips()


def test_a_disrupted_pod_is_replaced_and_does_not_count(jobs: Lab) -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    jobs.create("jobs.batch", job(backoffLimit=0, podFailurePolicy={"rules": rules}))
    [first] = running(jobs)
    end(jobs, first, 137, {"type": "DisruptionTarget", "status": "True"})
    jobs.run(12)
    [second] = running(jobs)
    assert second != first
    assert "failed" not in status_of(jobs)
    assert "finalizers" not in jobs.get("pods", first)["metadata"]
    end(jobs, second, 1)
    assert conditions(jobs)["Failed"] == ("True", "BackoffLimitExceeded")
    jobs.assert_no_slips()


def test_the_first_rule_that_matches_decides() -> None:
    rules = [exit_codes("Count", 1), exit_codes("Ignore", 2, operator="NotIn")]
    one = {"spec": {"podFailurePolicy": {"rules": rules}}}

    def pod(code: int, name: str = "pi") -> dict[str, Any]:
        ended = {"name": name, "state": {"terminated": {"exitCode": code}}}
        return {"metadata": {"name": "p"}, "status": {"initContainerStatuses": [ended]}}

    assert [policies.on_failure(one, pod(code)).action for code in (1, 2, 3)] == [
        "Count",
        "",
        "Ignore",
    ]
    rules[0]["onExitCodes"]["containerName"] = "other"
    assert policies.on_failure(one, pod(1)).action == "Ignore"
    assert policies.on_failure(one, pod(1, "other")).counts
    assert policies.on_failure(one, pod(0)) == policies.NO_RULE


# -- limits for each index ------------------------------------------------------------------------


def test_an_index_that_failed_too_often_is_given_up_and_the_others_go_on(jobs: Lab) -> None:
    jobs.create("jobs.batch", job(**INDEXED, parallelism=2, completions=2, backoffLimitPerIndex=1))
    pods = by_index(jobs)
    for name in pods.values():
        assert meta.annotations_of(jobs.get("pods", name))[perindex.FAILURES] == "0"
    end(jobs, pods[0], 1)
    held = jobs.get("pods", pods[0])["metadata"]
    assert held["finalizers"] == ["batch.kubernetes.io/job-tracking"]  # until it is replaced
    jobs.run(12)
    second = by_index(jobs)[0]
    assert meta.annotations_of(jobs.get("pods", second))[perindex.FAILURES] == "1"
    assert "finalizers" not in jobs.get("pods", pods[0])["metadata"]
    end(jobs, second, 1)
    assert status_of(jobs)["failedIndexes"] == "0"
    jobs.run(30)
    assert by_index(jobs) == {1: pods[1]}
    end(jobs, pods[1], 0)
    assert conditions(jobs)["Failed"] == ("True", "FailedIndexes")
    assert status_of(jobs)["completedIndexes"] == "1"
    assert status_of(jobs)["failed"] == 2
    jobs.assert_no_slips()


def test_a_job_ends_when_more_indexes_failed_than_it_allows(jobs: Lab) -> None:
    jobs.create(
        "jobs.batch",
        job(**INDEXED, parallelism=3, completions=3, backoffLimitPerIndex=0, maxFailedIndexes=1),
    )
    pods = by_index(jobs)
    end(jobs, pods[0], 1)
    assert status_of(jobs)["active"] == 2
    end(jobs, pods[2], 1)
    jobs.finish_deletes()
    jobs.run(2)
    assert conditions(jobs)["Failed"] == ("True", "MaxFailedIndexesExceeded")
    assert status_of(jobs)["failedIndexes"] == "0,2"
    jobs.assert_no_slips()


def test_a_rule_gives_an_index_up_at_once(jobs: Lab) -> None:
    jobs.create(
        "jobs.batch",
        job(
            **INDEXED,
            parallelism=2,
            completions=2,
            backoffLimitPerIndex=5,
            podFailurePolicy={"rules": [exit_codes("FailIndex", 7)]},
        ),
    )
    end(jobs, by_index(jobs)[1], 7)
    assert status_of(jobs)["failedIndexes"] == "1"


def test_failures_that_do_not_count_have_a_number_of_their_own(jobs: Lab) -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    jobs.create(
        "jobs.batch",
        job(**INDEXED, completions=1, backoffLimitPerIndex=0, podFailurePolicy={"rules": rules}),
    )
    end(jobs, by_index(jobs)[0], 137, {"type": "DisruptionTarget", "status": "True"})
    jobs.run(12)
    notes = meta.annotations_of(jobs.get("pods", by_index(jobs)[0]))
    assert (notes[perindex.FAILURES], notes[perindex.IGNORED_FAILURES]) == ("0", "1")
    assert status_of(jobs)["failedIndexes"] == ""


# -- success policy -------------------------------------------------------------------------------


def test_the_indexes_that_are_enough_complete_the_job_and_the_others_go(jobs: Lab) -> None:
    rules = [{"succeededIndexes": "0"}]
    jobs.create(
        "jobs.batch", job(**INDEXED, parallelism=3, completions=3, successPolicy={"rules": rules})
    )
    pods = by_index(jobs)
    end(jobs, pods[1], 0)
    assert conditions(jobs) == {}
    end(jobs, pods[0], 0)
    jobs.finish_deletes()
    jobs.run(2)
    found = conditions(jobs)
    assert found["SuccessCriteriaMet"] == found["Complete"] == ("True", "SuccessPolicy")
    assert {condition["message"] for condition in status_of(jobs)["conditions"]} == {
        "Matched rules at index 0"
    }
    status = status_of(jobs)
    assert (status["succeeded"], status["completedIndexes"]) == (2, "0,1")
    assert "failed" not in status
    jobs.assert_no_slips()


@pytest.mark.parametrize(
    ("rule", "done", "met"),
    [
        ({"succeededIndexes": "1-3"}, "0-2", False),
        ({"succeededIndexes": "1-3"}, "0-3", True),
        ({"succeededIndexes": "1-3,7", "succeededCount": 2}, "3,7", True),
        ({"succeededIndexes": "1-3,7", "succeededCount": 2}, "0,3,5", False),
        ({"succeededCount": 2}, "4", False),
        ({"succeededCount": 2}, "4,6", True),
        ({"succeededIndexes": "10"}, "0-8", False),
    ],
)
def test_a_rule_is_met_by_indexes_or_by_their_number(
    rule: dict[str, Any], done: str, met: bool
) -> None:
    one = {"spec": {"completions": 9, "successPolicy": {"rules": [rule]}}}
    said = policies.why_succeeded(one, indexed.parse(done))
    assert said == ("Matched rules at index 0" if met else "")
