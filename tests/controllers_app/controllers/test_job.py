"""Jobs: pods until enough have succeeded or too many have failed, each counted once."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from controllers_app.controllers.job import indexed
from tests import builders
from tests.controllers_app.controllers.lab import Lab


def job(name: str = "pi", **spec: Any) -> dict[str, Any]:
    return builders.job(name, "perl", container="pi", **spec)


def running(lab: Lab) -> list[str]:
    return [
        meta.name_of(pod)
        for pod in lab.all("pods")
        if pod["status"].get("phase") in (None, "Pending", "Running") and not meta.is_deleting(pod)
    ]


def finish(lab: Lab, phase: str) -> None:
    """Let every pod that runs end so."""
    for name in running(lab):
        if not lab.get("pods", name)["spec"].get("nodeName"):
            lab.bind(name, "node-1")
        lab.set_pod(name, phase)
    lab.run(2)


def conditions(lab: Lab, name: str = "pi") -> dict[str, tuple[str, str]]:
    status = lab.get("jobs.batch", name)["status"]
    return {
        item["type"]: (item["status"], item["reason"]) for item in status.get("conditions") or ()
    }


def test_a_job_is_complete_when_its_pod_succeeded(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("jobs.batch", job())
    [name] = lab.names("pods")
    assert lab.get("pods", name)["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert lab.get("jobs.batch", "pi")["status"]["active"] == 1
    finish(lab, "Succeeded")
    status = lab.get("jobs.batch", "pi")["status"]
    assert status["succeeded"] == 1
    assert "active" not in status
    assert status["completionTime"] >= status["startTime"]
    assert conditions(lab) == {
        "SuccessCriteriaMet": ("True", "CompletionsReached"),
        "Complete": ("True", "CompletionsReached"),
    }
    assert not lab.get("pods", name)["metadata"].get("finalizers")
    assert lab.events("Job")[-1] == ("Completed", "Job completed", 1)
    lab.assert_no_slips()


def test_it_runs_as_many_at_a_time_as_its_parallelism(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("jobs.batch", job(parallelism=2, completions=5))
    sizes = []
    for _ in range(10):
        if not running(lab):
            break
        sizes.append(len(running(lab)))
        finish(lab, "Succeeded")
    assert sizes == [2, 2, 1]
    assert lab.get("jobs.batch", "pi")["status"]["succeeded"] == 5


def test_changes_of_its_pods_within_a_second_are_one_look(lab: Lab) -> None:
    """Its spec is looked at right away."""
    lab.add_node("node-1")
    lab.create("jobs.batch", job(parallelism=3, completions=3))
    assert len(lab.names("pods")) == 3
    for name in lab.names("pods"):
        lab.bind(name, "node-1")
    lab.run(3)
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    for name in lab.names("pods"):
        lab.call(lab.admin.patch("pods", "default", name, ready, subresource="status"), 0)
    begun = len(lab.requests("job", "update", "jobs.batch"))
    assert lab.get("jobs.batch", "pi")["status"]["ready"] == 0
    lab.run(2)
    assert lab.get("jobs.batch", "pi")["status"]["ready"] == 3
    assert len(lab.requests("job", "update", "jobs.batch")) == begun + 1
    lab.patch("jobs.batch", "pi", {"spec": {"parallelism": 1}})
    assert len(running(lab)) == 1


def test_after_a_failure_it_waits_longer_each_time_and_then_gives_up(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("jobs.batch", job(backoffLimit=1))
    finish(lab, "Failed")
    assert running(lab) == []
    lab.run(10)
    assert len(running(lab)) == 1
    finish(lab, "Failed")
    lab.run(60)
    assert running(lab) == []
    assert lab.get("jobs.batch", "pi")["status"]["failed"] == 2
    assert conditions(lab)["Failed"] == ("True", "BackoffLimitExceeded")
    assert lab.events("Job")[-1][:2] == (
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    )


def test_it_ends_when_its_time_is_over(lab: Lab) -> None:
    lab.create("jobs.batch", job(activeDeadlineSeconds=30))
    lab.run(32)
    assert conditions(lab)["Failed"] == ("True", "DeadlineExceeded")
    assert running(lab) == []


def test_suspended_it_has_no_pods_until_it_is_resumed(lab: Lab) -> None:
    lab.create("jobs.batch", job(suspend=True))
    assert lab.names("pods") == []
    assert conditions(lab)["Suspended"] == ("True", "JobSuspended")
    lab.patch("jobs.batch", "pi", {"spec": {"suspend": False}})
    assert len(running(lab)) == 1
    assert conditions(lab)["Suspended"] == ("False", "JobResumed")


def test_each_index_has_its_own_pod_and_is_done_once(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("jobs.batch", job(completionMode="Indexed", completions=3, parallelism=3))
    pods = lab.all("pods")
    assert sorted(meta.annotations_of(pod)[indexed.INDEX] for pod in pods) == ["0", "1", "2"]
    assert meta.name_of(pods[0]).startswith("pi-0-")
    assert pods[0]["spec"]["hostname"] == "pi-0"
    finish(lab, "Succeeded")
    status = lab.get("jobs.batch", "pi")["status"]
    assert (status["completedIndexes"], status["succeeded"]) == ("0-2", 3)


def test_indexes_are_written_as_ranges() -> None:
    def add(text: str, index: int) -> str:
        return indexed.written(indexed.with_indexes(indexed.parse(text), [index]))

    assert add("0-2,5", 3) == "0-3,5"
    assert add("0", 1) == "0,1"
    assert indexed.total(indexed.parse("0-3,7,9-10")) == 7
    taken = indexed.with_indexes(indexed.parse("0-1"), [3])
    assert list(indexed.free(taken, 5)) == [2, 4]


def test_the_first_free_indexes_of_very_many_are_found_at_once() -> None:
    assert indexed.first_free(indexed.parse("0-2147483000"), 2147483647, 2) == [
        2147483001,
        2147483002,
    ]


def test_pods_of_a_deleted_job_go_although_nobody_counts_them(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("jobs.batch", job(parallelism=2))
    lab.bind(running(lab)[0], "node-1")
    lab.delete("jobs.batch", "pi", propagationPolicy="Background")
    lab.run(2)
    lab.finish_deletes()
    lab.run(2)
    assert lab.names("pods") == []


def test_a_pod_that_outlives_its_job_is_let_go_of(lab: Lab) -> None:
    lab.create("jobs.batch", job())
    lab.delete("jobs.batch", "pi", propagationPolicy="Orphan")
    lab.run(2)
    [pod] = lab.all("pods")
    assert not pod["metadata"].get("finalizers")
