"""What the status of a job may say and become, and how a pod is resized, word for word.

The rows are facts of kubernetes pkg/apis/batch/validation/validation.go (validateJobStatus,
ValidateJobStatusUpdate) and pkg/apis/core/validation/validation.go (ValidatePodResize).
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.registry.kinds import strategies

BEGAN, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
CONDITIONS = "status.conditions: Invalid value: "


def are(*kinds: str) -> list[dict[str, str]]:
    return [{"type": kind, "status": "True"} for kind in kinds]


def job(status: dict[str, Any], **spec: object) -> Object:
    obj = strategies.named(
        "Job", "batch/v1", spec={"template": strategies.template(restartPolicy="Never"), **spec}
    )
    return {**strategies.created("jobs.batch", obj), "status": status}


RUNNING = {"startTime": BEGAN, "active": 1}
DONE = {
    "startTime": BEGAN,
    "completionTime": ENDED,
    "conditions": are("SuccessCriteriaMet", "Complete"),
    "succeeded": 1,
}
INDEXED = {"completionMode": "Indexed", "completions": 5, "parallelism": 2}
PER_INDEX = {**INDEXED, "backoffLimitPerIndex": 1}
# spec, status before, status now, what is said
ROWS: tuple[tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[str]], ...] = (
    ({}, {}, RUNNING, []),
    ({}, RUNNING, DONE, []),
    ({}, RUNNING, {"startTime": BEGAN, "failed": 1, "conditions": are("FailureTarget", "Failed")},
     []),
    (
        {}, RUNNING, {"startTime": BEGAN, "conditions": are("Complete", "Failed")},
        ["cannot set Complete=True and Failed=true conditions",
         "status.completionTime: Required value: completionTime is required for Complete jobs",
         "cannot set Failed=True condition without the FailureTarget=true condition",
         "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"],
    ),
    (
        {}, RUNNING, {**DONE, "conditions": are("FailureTarget", "SuccessCriteriaMet", "Complete")},
        ["cannot set Complete=True and FailureTarget=true conditions",
         "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"],
    ),
    (
        {}, {}, {"conditions": are("SuccessCriteriaMet", "Complete"), "active": 2,
                 "completionTime": ENDED, "terminating": 1,
                 "uncountedTerminatedPods": {"failed": ["u"]}},
        ["status.active: Invalid value: 2: active>0 is invalid for finished job",
         "status.startTime: Required value: startTime is required for finished job",
         "status.uncountedTerminatedPods: Invalid value: batch.UncountedTerminatedPods{"
         'Succeeded:[]types.UID(nil), Failed:[]types.UID{"u"}}: '
         "uncountedTerminatedPods needs to be empty for finished job",
         "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job"],
    ),
    (
        {}, RUNNING, {**RUNNING, "completionTime": "2025-01-01T00:00:00Z"},
        ['status.completionTime: Invalid value: "2025-01-01T00:00:00Z": '
         "cannot set completionTime when there is no Complete=True condition",
         'status.completionTime: Invalid value: "2025-01-01T00:00:00Z": '
         "completionTime cannot be set before startTime"],
    ),
    (
        {}, RUNNING, {**RUNNING, "ready": 2, "failed": -1},
        ["status.failed: Invalid value: -1: must be greater than or equal to 0",
         "status.ready: Invalid value: 2: cannot set more ready pods than active",
         "status.failed: Invalid value: -1: cannot decrease the failed counter"],
    ),
    (
        {}, RUNNING,
        {**RUNNING, "uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}},
        ['status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
         'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"'],
    ),
    (
        {}, RUNNING, {**RUNNING, "completedIndexes": "0", "failedIndexes": "1"},
        ['status.completedIndexes: Invalid value: "0": '
         "cannot set non-empty completedIndexes when non-indexed completion mode",
         'status.failedIndexes: Invalid value: "1": '
         "cannot set non-null failedIndexes when backoffLimitPerIndex is null"],
    ),
    (
        PER_INDEX, RUNNING, {**RUNNING, "completedIndexes": "0-7", "failedIndexes": "3,2"},
        ['status.completedIndexes: Invalid value: "0-7": '
         'error parsing completedIndexes: too large index: "7"',
         'status.failedIndexes: Invalid value: "3,2": '
         "error parsing failedIndexes: non-increasing order, previous: 3, current: 2"],
    ),
    (
        PER_INDEX, RUNNING, {**RUNNING, "completedIndexes": "0,2-4", "failedIndexes": "3"},
        ['status.failedIndexes: Invalid value: "3": '
         "failedIndexes and completedIndexes overlap at index: 3"],
    ),
    (PER_INDEX, RUNNING, {**RUNNING, "completedIndexes": "0,2", "failedIndexes": "1,3"}, []),
    (
        {}, DONE, {"startTime": BEGAN, "conditions": []},
        ["cannot disable the terminal Complete=True condition",
         "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
         "cannot disable the SuccessCriteriaMet=True condition"],
    ),
    (
        {}, DONE, {**DONE, "completionTime": "2026-01-02T00:00:00Z", "startTime": ENDED},
        ['status.completionTime: Invalid value: "2026-01-02T00:00:00Z": '
         "completionTime cannot be mutated",
         "status.startTime: Required value: startTime cannot be removed for unsuspended job"],
    ),
    ({**INDEXED, "parallelism": 5}, {"succeeded": 3}, {"succeeded": 2}, []),
    (
        INDEXED, {"succeeded": 3}, {"succeeded": 2},
        ["status.succeeded: Invalid value: 2: cannot decrease the succeeded counter"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "before", "now", "messages"), ROWS)
def test_a_jobs_status_is_told_what_is_wrong(
    spec: dict[str, Any], before: dict[str, Any], now: dict[str, Any], messages: list[str]
) -> None:
    old = job(before, **spec)

    told = strategies.status_errors("jobs.batch", {**old, "status": now}, old)

    assert [one.removeprefix(CONDITIONS) for one in told] == messages


def test_a_status_that_was_wrong_before_may_go_on() -> None:
    old = job({"conditions": are("Complete"), "completedIndexes": "9"})
    new = {**old, "status": {**old["status"], "succeeded": 1}}

    assert strategies.status_errors("jobs.batch", new, old) == []


def pod(**resources: Any) -> Object:
    plain = {
        "name": "a",
        "image": "b",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, **resources},
    }
    obj = strategies.pod(containers=[plain])
    return strategies.created("pods", obj)


def resized(old: Object, **fields: Any) -> Object:
    new = copy.deepcopy(old)
    new["spec"]["containers"][0].update(fields)
    return new


def said(new: Object, old: Object) -> list[str]:
    return strategies.update_errors("pods", new, old, strategies.context(subresource="resize"))


def test_a_container_is_resized_in_cpu_and_memory() -> None:
    old = pod()
    more = {"requests": {"cpu": "2", "memory": "2Gi"}}

    assert said(resized(old, resources=more), old) == []
    assert said(resized(old, resources={}), old) == [
        'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
        "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
    ]
    disk = {"requests": {**more["requests"], "ephemeral-storage": "1Gi"}}
    assert said(resized(old, resources=disk), old) == [
        "spec: Forbidden: only cpu and memory resources are mutable"
    ]


def test_a_limit_of_memory_is_lowered_with_a_restart_only() -> None:
    old, less = pod(limits={"memory": "4Gi"}), {"limits": {"memory": "3Gi"}}
    less["requests"] = old["spec"]["containers"][0]["resources"]["requests"]
    restart = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]

    assert said(resized(old, resources=less), old) == [
        "spec.containers[0].resources.limits[memory]: Forbidden: "
        "memory limits cannot be decreased unless resizePolicy is RestartContainer"
    ]
    old["spec"]["containers"][0]["resizePolicy"] = restart
    assert said(resized(old, resources=less), old) == []


def test_containers_keep_their_order_and_names() -> None:
    old = pod()
    extra = copy.deepcopy(old)
    extra["spec"]["containers"].append({"name": "c", "image": "d"})

    assert said(resized(old, name="z"), old) == [
        "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"
    ]
    assert said(extra, old)[0] == (
        "spec.containers: Forbidden: containers may not be added or removed on resize"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}},
            ": Forbidden: static pods cannot be resized",
        ),
        ({"spec": {"os": {"name": "windows"}}}, ": Forbidden: windows pods cannot be resized"),
        (
            {"status": {"containerStatuses": [{"name": "a", "state": {"running": {}}}]}},
            "spec: Forbidden: Pod running on node without support for resize",
        ),
    ],
)
def test_some_pods_are_not_resized(change: dict[str, Any], message: str) -> None:
    old = pod()
    for part, fields in change.items():
        old[part] = {**old[part], **fields}
    new = resized(old, resources={"requests": {"cpu": "2", "memory": "1Gi"}})

    assert said(new, old) == [message]
