"""What Jobs and CronJobs are refused for and warned of, word for word.

The rows are facts of kubernetes pkg/apis/batch/validation/validation.go and
pkg/registry/batch/{job,cronjob}/strategy.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.registry.kinds import strategies

JOBS, CRONJOBS = "jobs.batch", "cronjobs.batch"
RULES = "spec.podFailurePolicy.rules[0]"
INDEXED = {"completionMode": "Indexed", "completions": 5}


def job(**spec: object) -> Object:
    fields = {"template": strategies.template(restartPolicy="Never"), **spec}
    return strategies.named("Job", "batch/v1", "pi", spec=fields)


def failing(**rule: object) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": [rule]}}


def succeeding(**rule: object) -> dict[str, Any]:
    return {**INDEXED, "successPolicy": {"rules": [rule]}}


def exits(**codes: object) -> dict[str, Any]:
    return failing(action="FailJob", onExitCodes={"operator": "In", "values": [1], **codes})


JOB_ROWS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({}, []),
    (
        {"template": strategies.template()},
        ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ),
    (
        {"template": strategies.template(restartPolicy="Sometimes")},
        ['spec.template.spec.restartPolicy: Unsupported value: "Sometimes": '
         'supported values: "Always", "OnFailure", "Never"',
         'spec.template.spec.restartPolicy: Unsupported value: "Sometimes": '
         'supported values: "OnFailure", "Never"'],
    ),
    (
        {"parallelism": -1, "completions": -2, "backoffLimit": -3},
        ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
         "spec.completions: Invalid value: -2: must be greater than or equal to 0",
         "spec.backoffLimit: Invalid value: -3: must be greater than or equal to 0"],
    ),
    (
        {"completionMode": "Indexed", "parallelism": 1},
        ["spec.completions: Required value: when completion mode is Indexed"],
    ),
    (
        {"completionMode": "Other"},
        ['spec.completionMode: Unsupported value: "Other": '
         'supported values: "NonIndexed", "Indexed"'],
    ),
    (
        {"backoffLimitPerIndex": 1},
        ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
    ),
    (
        {**INDEXED, "maxFailedIndexes": 6},
        ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
         "spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"],
    ),
    (
        {**INDEXED, "completions": 100_001, "parallelism": 10_001, "backoffLimitPerIndex": 1},
        ["spec.maxFailedIndexes: Required value: "
         "must be specified when completions is above 100000",
         "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when "
         "completions are above 100000 and used with backoff limit per index"],
    ),
    (
        {"managedBy": "me"},
        ['spec.managedBy: Invalid value: "me": '
         'must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    (
        failing(),
        [f'{RULES}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
         f"{RULES}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"],
    ),
    (
        failing(action="FailIndex", onPodConditions=[{"type": "DisruptionTarget"}]),
        [f'{RULES}.action: Invalid value: "FailIndex": '
         "requires the backoffLimitPerIndex to be set"],
    ),
    (exits(values=[]), [f"{RULES}.onExitCodes.values: Invalid value: []int32{{}}: "
                        "at least one value is required"]),
    (
        exits(values=[2, 0, 2], containerName="none"),
        [f'{RULES}.onExitCodes.containerName: Invalid value: "none": '
         "must be one of the container or initContainer names in the pod template",
         f"{RULES}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
         f"{RULES}.onExitCodes.values[2]: Duplicate value: 2",
         f"{RULES}.onExitCodes.values: Invalid value: []int32{{2, 0, 2}}: must be ordered"],
    ),
    (
        exits(operator=""),
        [f'{RULES}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]'],
    ),
    (
        failing(action="Ignore", onPodConditions=[{"type": "a b", "status": "Maybe"}]),
        [f'{RULES}.onPodConditions[0].type: Invalid value: "a b": name part must consist of '
         "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
         "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
         "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
         f'{RULES}.onPodConditions[0].status: Unsupported value: "Maybe": '
         'supported values: "False", "True", "Unknown"'],
    ),
    (
        {**exits(), "template": strategies.template(restartPolicy="OnFailure")},
        ['spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
         'only "Never" is supported when podFailurePolicy is specified'],
    ),
    (
        {**exits(), "podReplacementPolicy": "TerminatingOrFailed"},
        ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": '
         'supported values: "Failed"'],
    ),
    (
        {**INDEXED, "successPolicy": {"rules": []}},
        ["spec.successPolicy.rules: Required value: "
         "at least one rules must be specified when the successPolicy is specified"],
    ),
    (
        succeeding(),
        ["spec.successPolicy.rules[0]: Required value: "
         "at least one of succeededCount or succeededIndexes must be specified"],
    ),
    (
        succeeding(succeededIndexes="0-2,9"),
        ['spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-2,9": '
         'error parsing succeededIndexes: too large index: "9"'],
    ),
    (
        succeeding(succeededIndexes="3,1"),
        ['spec.successPolicy.rules[0].succeededIndexes: Invalid value: "3,1": '
         "error parsing succeededIndexes: non-increasing order, previous: 3, current: 1"],
    ),
    (
        succeeding(succeededIndexes="0-1", succeededCount=6),
        ["spec.successPolicy.rules[0].succeededCount: Invalid value: 6: "
         "must be less than or equal to 5 (the number of specified completions)",
         "spec.successPolicy.rules[0].succeededCount: Invalid value: 6: must be less than or "
         "equal to 2 (the number of indexes in the specified succeededIndexes field)"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), JOB_ROWS)
def test_a_job_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    assert strategies.create_errors(JOBS, job(**spec)) == messages


def test_a_job_copied_from_another_has_the_wrong_labels_and_selector() -> None:
    labels = {"batch.kubernetes.io/controller-uid": "other", "job-name": "other"}
    template = {**strategies.template(restartPolicy="Never"), "metadata": {"labels": labels}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": "other"}}

    found = strategies.create_errors(JOBS, job(template=template, selector=selector))

    shown = (
        'map[string]string{"batch.kubernetes.io/controller-uid":"other", '
        '"batch.kubernetes.io/job-name":"pi", "controller-uid":"u-1", "job-name":"other"}'
    )
    at = "spec.template.metadata.labels"
    assert found == [
        f"{at}[job-name]: Invalid value: {shown}: must be 'pi'",
        f"{at}[batch.kubernetes.io/controller-uid]: Invalid value: {shown}: must be 'u-1'",
        "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"
        '"batch.kubernetes.io/controller-uid":"other"}, '
        "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` not auto-generated",
    ]


def test_the_template_and_the_mode_of_a_job_are_fixed_and_its_parallelism_is_not() -> None:
    old = strategies.created(JOBS, job())

    assert strategies.update_errors(JOBS, strategies.with_spec(old, parallelism=3), old) == []
    changed = strategies.with_spec(old, completions=3, completionMode="Indexed", parallelism=3)
    assert strategies.update_errors(JOBS, changed, old) == [
        'spec.completionMode: Invalid value: "Indexed": field is immutable'
    ]


def cron(**spec: object) -> Object:
    inside = {"template": strategies.template(restartPolicy="Never")}
    fields = {"schedule": "* * * * *", "jobTemplate": {"spec": inside}, **spec}
    return strategies.named("CronJob", "batch/v1", "tick", spec=fields)


CRON_ROWS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({}, []),
    ({"schedule": ""}, ["spec.schedule: Required value"]),
    (
        {"schedule": "every day"},
        ['spec.schedule: Invalid value: "every day": '
         "expected exactly 5 fields, found 2: [every day]"],
    ),
    (
        {"schedule": "60 * * * *"},
        ['spec.schedule: Invalid value: "60 * * * *": '
         "end of range (60) above maximum (59): 60"],
    ),
    (
        {"schedule": "a * * * *"},
        ['spec.schedule: Invalid value: "a * * * *": failed to parse int from a: '
         'strconv.Atoi: parsing "a": invalid syntax'],
    ),
    (
        {"schedule": "@often"},
        ['spec.schedule: Invalid value: "@often": unrecognized descriptor: @often'],
    ),
    (
        {"schedule": "TZ=UTC * * * * *"},
        ['spec.schedule: Invalid value: "TZ=UTC * * * * *": '
         "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"],
    ),
    (
        {"timeZone": "Mars/Olympus"},
        ['spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus'],
    ),
    ({"timeZone": "Europe/Berlin"}, []),
    (
        {"timeZone": "Local"},
        ['spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as '
         "defined in https://www.iana.org/time-zones"],
    ),
    (
        {"concurrencyPolicy": "Queue"},
        ['spec.concurrencyPolicy: Unsupported value: "Queue": '
         'supported values: "Allow", "Forbid", "Replace"'],
    ),
    (
        {"startingDeadlineSeconds": -1, "failedJobsHistoryLimit": -1},
        ["spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
         "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
    ),
    (
        {"jobTemplate": {"spec": {"template": strategies.template()}}},
        ["spec.jobTemplate.spec.template.spec.restartPolicy: Required value: "
         'valid values: "OnFailure", "Never"'],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), CRON_ROWS)
def test_a_cron_job_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    assert strategies.create_errors(CRONJOBS, cron(**spec)) == messages


@pytest.mark.parametrize("key", ["deployments.apps", "replicasets.apps", JOBS])
def test_a_name_with_dots_is_warned_of_where_pods_are_called_after_it(key: str) -> None:
    obj = strategies.deployment() if key != JOBS else job()
    obj["metadata"]["name"] = "web.v1"

    info = strategies.of(key).info
    same = strategies.decoded(key, {**obj, "kind": info.kind, "apiVersion": info.api_version})
    told = strategies.of(key).warnings(strategies.context(), same, None)

    assert told == [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
        "behavior; a DNS label is recommended: [must not contain dots]"
    ]
