"""ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, Jobs and CronJobs."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.batch import cronjob
from tests.apiserver_app.registry.kinds import strategies

GOLDEN = pathlib.Path(__file__).parents[3] / "golden"
SELECTOR = {"matchLabels": {"app": "web"}}


def workload(kind: str, **spec: object) -> Object:
    spec = {"selector": SELECTOR, "template": strategies.template(), **spec}
    return strategies.named(kind, "apps/v1", spec=spec)


def test_the_golden_replica_set_is_complete() -> None:
    golden = yaml.safe_load((GOLDEN / "replicaset-1.22.yaml").read_text())

    decoded = strategies.decoded("replicasets.apps", golden)

    assert decoded["spec"] == golden["spec"]


def test_a_replica_set_has_one_replica_and_counts_none_yet() -> None:
    obj = strategies.created("replicasets.apps", workload("ReplicaSet"))

    assert obj["spec"]["replicas"] == 1
    assert obj["status"] == {"replicas": 0}


def test_a_replica_set_wants_no_number_below_zero() -> None:
    obj = workload("ReplicaSet", replicas=-1, minReadySeconds=-2)

    told = "Invalid value: -{}: must be greater than or equal to 0"
    assert strategies.create_errors("replicasets.apps", obj) == [
        f"spec.replicas: {told.format(1)}",
        f"spec.minReadySeconds: {told.format(2)}",
    ]


def test_a_replica_set_reports_no_more_ready_than_it_has() -> None:
    old = strategies.created("replicasets.apps", workload("ReplicaSet"))
    new = {**old, "status": {"replicas": 1, "readyReplicas": 2}}

    assert strategies.status_errors("replicasets.apps", new, old) == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"
    ]


def test_a_replication_controller_takes_its_selector_from_the_template() -> None:
    obj = strategies.named("ReplicationController", "v1", spec={"template": strategies.template()})

    stored = strategies.created("replicationcontrollers", obj)

    assert stored["spec"]["selector"] == stored["metadata"]["labels"] == {"app": "web"}
    assert strategies.create_errors("replicationcontrollers", obj) == []


def test_a_stateful_set_is_ordered_and_keeps_its_claims() -> None:
    spec = strategies.created("statefulsets.apps", workload("StatefulSet"))["spec"]

    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    retention = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert spec["persistentVolumeClaimRetentionPolicy"] == retention
    assert spec["revisionHistoryLimit"] == 10


def test_claims_of_a_stateful_set_are_volumes_of_its_pods() -> None:
    mount = {"name": "data", "mountPath": "/data"}
    container = {"name": "db", "image": "db", "volumeMounts": [mount]}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    obj = workload(
        "StatefulSet",
        template=strategies.template(containers=[container]),
        volumeClaimTemplates=[claim],
    )

    assert strategies.create_errors("statefulsets.apps", obj) == []


def test_most_of_a_stateful_set_is_fixed() -> None:
    old = strategies.created("statefulsets.apps", workload("StatefulSet", serviceName="a"))

    scaled = strategies.with_spec(old, replicas=3)
    renamed = strategies.with_spec(old, serviceName="b")

    assert strategies.update_errors("statefulsets.apps", scaled, old) == []
    assert strategies.update_errors("statefulsets.apps", renamed, old) == [
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
        "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
    ]


def test_a_daemon_set_replaces_one_pod_at_a_time_and_counts_its_templates() -> None:
    key, note = "daemonsets.apps", "deprecated.daemonset.template.generation"
    old = strategies.created(key, workload("DaemonSet"))
    template = strategies.template(hostPID=True)

    new = strategies.updated(key, strategies.with_spec(old, template=template), old)

    rolling = {"maxUnavailable": 1, "maxSurge": 0}
    assert old["spec"]["updateStrategy"]["rollingUpdate"] == rolling
    assert old["metadata"]["annotations"][note] == "1"
    assert new["metadata"]["annotations"][note] == "2"


def job(**spec: object) -> Object:
    spec = {"template": strategies.template(restartPolicy="Never"), **spec}
    return strategies.named("Job", "batch/v1", "pi", spec=spec)


def test_a_job_selects_pods_by_its_own_uid() -> None:
    obj = strategies.created("jobs.batch", job())

    spec = obj["spec"]
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert spec["template"]["metadata"]["labels"] == {
        "app": "web",
        "batch.kubernetes.io/controller-uid": "u-1",
        "controller-uid": "u-1",
        "batch.kubernetes.io/job-name": "pi",
        "job-name": "pi",
    }
    assert {key: spec[key] for key in ("parallelism", "completions", "backoffLimit")} == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
    }
    assert (spec["completionMode"], spec["suspend"]) == ("NonIndexed", False)
    assert strategies.create_errors("jobs.batch", job()) == []


def test_the_labels_of_jobs_have_a_prefix_since_1_27() -> None:
    ctx = strategies.context()
    ctx.version = Release(26)
    obj = strategies.created("jobs.batch", job(), ctx)

    labels = {"app": "web", "controller-uid": "u-1", "job-name": "pi"}
    assert obj["spec"]["selector"] == {"matchLabels": {"controller-uid": "u-1"}}
    assert obj["spec"]["template"]["metadata"]["labels"] == labels
    assert strategies.create_errors("jobs.batch", job(), ctx) == []


def test_pods_of_a_job_must_be_able_to_end() -> None:
    obj = job(template=strategies.template())

    assert strategies.create_errors("jobs.batch", obj) == [
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    ]


def test_a_job_may_not_be_given_another_number_of_completions() -> None:
    old = strategies.created("jobs.batch", job())

    assert strategies.update_errors(
        "jobs.batch", strategies.with_spec(old, completions=2), old
    ) == ["spec.completions: Invalid value: 2: field is immutable"]
    assert (
        strategies.update_errors("jobs.batch", strategies.with_spec(old, parallelism=2), old) == []
    )


def test_a_finished_job_stays_finished() -> None:
    done = {
        "conditions": [{"type": "Complete", "status": "True"}],
        "startTime": "2022-02-16T15:53:28Z",
        "completionTime": "2022-02-16T15:53:48Z",
    }
    old = {**strategies.created("jobs.batch", job()), "status": done}
    new = {**old, "status": {"startTime": "2022-02-16T15:53:28Z"}}

    assert strategies.status_errors("jobs.batch", new, old) == [
        "status.conditions: Invalid value: cannot disable the terminal Complete=True condition"
    ]


def cron(schedule: str = "*/5 * * * *") -> Object:
    return strategies.named(
        "CronJob", "batch/v1", spec={"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}}
    )


def test_a_cron_job_allows_overlap_and_keeps_some_history() -> None:
    spec = strategies.created("cronjobs.batch", cron())["spec"]

    assert spec["concurrencyPolicy"] == "Allow"
    assert spec["suspend"] is False
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert "completions" not in spec["jobTemplate"]["spec"]
    assert strategies.create_errors("cronjobs.batch", cron()) == []


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ("*/5 * * * *", ""),
        ("0 9-17 * jan,feb mon-fri", ""),
        ("@daily", ""),
        ("@often", "unrecognized descriptor: @often"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
    ],
)
def test_schedules_are_read_as_the_cron_library_reads_them(schedule: str, text: str) -> None:
    assert cronjob.schedule_error(schedule) == text


def test_a_pod_template_is_defaulted_and_checked() -> None:
    obj = strategies.named("PodTemplate", "v1", template=strategies.template())

    stored = strategies.created("podtemplates", obj)

    assert stored["template"]["spec"]["restartPolicy"] == "Always"
    assert strategies.create_errors(
        "podtemplates", {**obj, "template": {"spec": {"containers": []}}}
    ) == ["template.spec.containers: Required value"]


def test_two_containers_of_a_pod_have_two_names() -> None:
    container = strategies.template()["spec"]["containers"][0]
    pod = strategies.named("Pod", "v1", spec={"containers": [container, dict(container)]})

    assert strategies.create_errors("pods", pod) == [
        f'spec.containers[1].name: Duplicate value: "{container["name"]}"'
    ]
