"""What kubelets do with pods, on the whole cluster in virtual time."""

from __future__ import annotations

import itertools

import pytest

from apiserver_app.machinery.kernel import SECOND
from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import (
    PODS,
    addresses,
    cluster,
    condition,
    create,
    events,
    get,
    patch,
    pod,
    state,
)

HTTP = {"httpGet": {"path": "/", "port": 80}}


@pytest.fixture(scope="module")
def shared() -> Session:
    return cluster()


def history(session: Session, name: str) -> list[tuple[str, str]]:
    """(phase, waiting reason or state) of each revision of the pod's status, without repeats."""
    seen = []
    for record in session.records():
        if record["kind"] != "write" or record["resource"] != "pods" or record["name"] != name:
            continue
        status = record["object"]["status"]
        for container in status.get("containerStatuses") or ():
            ((kind, detail),) = container["state"].items()
            seen.append((status["phase"], detail.get("reason", kind)))
    return [key for key, _ in itertools.groupby(seen)]


# -- starting -------------------------------------------------------------------------------------


def seconds_of(session: Session, step: str, state: str) -> list[int]:
    """When a kubelet told that of a step."""
    records = [record for record in session.records() if record["kind"] == "kubelet"]
    told = [record for record in records if (record["step"], record["state"]) == (step, state)]
    return [record["t"] // SECOND for record in told]


def test_a_normal_start_takes_two_status_patches_a_token_and_four_events() -> None:
    session = cluster(nodes=1)
    begin = session.cluster.recorder.seq
    create(session, pod())
    asked = [
        (record["verb"], record["resource"], record["subresource"])
        for record in session.records()
        if record["seq"] > begin and record.get("client") == "kubelet/node-1"
    ]
    assert sorted(asked) == [
        ("create", "events", ""),
        ("create", "events", ""),
        ("create", "events", ""),
        ("create", "events", ""),
        ("create", "serviceaccounts", "token"),
        ("get", "pods", ""),
        ("get", "pods", ""),
        ("list", "configmaps", ""),
        ("patch", "pods", "status"),
        ("patch", "pods", "status"),
        ("watch", "configmaps", ""),
    ]


def test_a_running_pod_has_the_conditions_in_upstreams_order(shared: Session) -> None:
    create(shared, pod("order"))
    found = [one["type"] for one in get(shared, "order")["status"]["conditions"]]
    assert found == [
        "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    ]  # fmt: skip
    ready = condition(shared, "Ready", "order")
    assert ready["status"] == "True" and "reason" not in ready and "message" not in ready


def test_the_events_of_a_start_have_the_words_of_1_33(shared: Session) -> None:
    create(shared, pod("words", "redis:7"))
    words = events(shared, "words")
    assert [reason for _, reason, _ in words] == [
        "Scheduled", "Pulling", "Pulled", "Created", "Started",
    ]  # fmt: skip
    assert words[1][2] == 'Pulling image "redis:7"'
    assert words[2][2].startswith('Successfully pulled image "redis:7" in ')
    assert words[2][2].endswith(" including waiting). Image size: 40980000 bytes.")
    assert words[3][2] == "Created container: c" and words[4][2] == "Started container c"


def test_an_image_that_is_there_is_not_pulled_again() -> None:
    session = cluster(nodes=1)
    create(session, pod("a", "redis:7"))
    create(session, pod("b", "redis:7"))
    assert events(session, "b")[1] == (
        "Normal", "Pulled", 'Container image "redis:7" already present on machine'
    )  # fmt: skip


def test_one_node_pulls_one_image_at_a_time() -> None:
    session = cluster(nodes=1)
    create(session, pod("a", "postgres:16"), settle=False)
    session.cluster.kernel.run_ready(10_000)
    create(session, pod("b", "redis:7"))
    a, b = (
        next(words for _, reason, words in events(session, name) if reason == "Pulled")
        for name in "ab"
    )
    first = a.split(" in ")[1].split("s ")[0]
    waited = b.split("(")[1].split("s ")[0]
    assert float(waited) > float(first)


def test_container_statuses_are_sorted_by_name_and_the_spec_is_not(shared: Session) -> None:
    containers = [{"name": name, "image": "redis:7"} for name in ("z", "a")]
    create(shared, pod("two", containers=containers))
    found = get(shared, "two")
    assert [container["name"] for container in found["spec"]["containers"]] == ["z", "a"]
    assert [status["name"] for status in found["status"]["containerStatuses"]] == ["a", "z"]


def test_a_pod_of_the_host_network_has_the_nodes_address(shared: Session) -> None:
    create(shared, pod("host", hostNetwork=True))
    status = get(shared, "host")["status"]
    assert status["podIP"] == status["hostIP"]


# -- images ---------------------------------------------------------------------------------------


def test_a_missing_image_flaps_between_the_two_reasons_and_settles_in_back_off() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="nginx:no-such-tag"))
    told = history(session, "web")
    assert told[:5] == [
        ("Pending", "ContainerCreating"),
        ("Pending", "ErrImagePull"),
        ("Pending", "ImagePullBackOff"),
        ("Pending", "ErrImagePull"),
        ("Pending", "ImagePullBackOff"),
    ]
    waiting = state(session)["state"]["waiting"]
    assert waiting["reason"] == "ImagePullBackOff"
    assert waiting["message"].startswith(
        'Back-off pulling image "nginx:no-such-tag": ErrImagePull: rpc error: code = NotFound'
    )
    words = {(kind, reason, text) for kind, reason, text in events(session)}
    assert ("Warning", "Failed", "Error: ErrImagePull") in words
    assert ("Warning", "Failed", "Error: ImagePullBackOff") in words
    assert ("Normal", "BackOff", 'Back-off pulling image "nginx:no-such-tag"') in words


def test_pulls_are_tried_again_after_10_20_40_80_and_160_seconds() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="nginx:no-such-tag"))
    failed = seconds_of(session, "image", "fail")
    waits = [b - a for a, b in itertools.pairwise(failed)]
    assert [round(wait / 10) * 10 for wait in waits] == [10, 20, 40, 80, 160]


def test_mending_the_image_of_a_waiting_pod_starts_it_at_once() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="nginx:no-such-tag"))
    patch(session, f"{PODS}/web", {"spec": {"containers": [{"name": "c", "image": "redis:7"}]}})
    assert get(session)["status"]["phase"] == "Running"
    assert state(session)["image"] == "docker.io/library/redis:7"
    assert state(session)["restartCount"] == 0


def test_another_image_replaces_a_running_container() -> None:
    session = cluster(nodes=1)
    create(session, pod())
    patch(session, f"{PODS}/web", {"spec": {"containers": [{"name": "c", "image": "redis:7"}]}})
    assert state(session)["restartCount"] == 1 and "running" in state(session)["state"]
    words = "Container c definition changed, will be restarted"
    assert ("Normal", "Killing", words) in events(session)


def test_a_name_that_is_no_image_is_told_and_not_pulled(shared: Session) -> None:
    create(shared, pod("bad", "Nginx:::x"))
    words = (
        'Failed to apply default image tag "Nginx:::x": couldn\'t parse image reference '
        '"Nginx:::x": invalid reference format'
    )
    assert state(shared, "bad")["state"]["waiting"] == {
        "reason": "InvalidImageName",
        "message": words,
    }
    assert events(shared, "bad")[1:] == [
        ("Warning", "InspectFailed", words),
        ("Warning", "Failed", "Error: InvalidImageName"),
    ]


def test_the_policy_never_does_not_pull(shared: Session) -> None:
    create(shared, pod("never", "ghost:1", container={"imagePullPolicy": "Never"}))
    waiting = state(shared, "never")["state"]["waiting"]
    assert waiting == {
        "reason": "ErrImageNeverPull",
        "message": 'Container image "ghost:1" is not present with pull policy of Never',
    }


# -- what a pod names -----------------------------------------------------------------------------


def test_a_missing_config_map_is_told_and_waited_for() -> None:
    session = cluster(nodes=1)
    volume = {"name": "settings", "configMap": {"name": "app"}}
    mount = {"name": "settings", "mountPath": "/etc/app"}
    create(session, pod(volumes=[volume], container={"volumeMounts": [mount]}))
    words = 'MountVolume.SetUp failed for volume "settings" : configmap "app" not found'
    assert ("Warning", "FailedMount", words) in events(session)
    assert state(session)["state"] == {"waiting": {"reason": "ContainerCreating"}}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app"}}
    session.request("POST", "/api/v1/namespaces/default/configmaps", made)
    session.wait(125)
    assert get(session)["status"]["phase"] == "Running"


def test_a_volume_that_no_container_mounts_holds_nothing_up(shared: Session) -> None:
    volume = {"name": "settings", "configMap": {"name": "app"}}
    create(shared, pod("unmounted", volumes=[volume]))
    assert get(shared, "unmounted")["status"]["phase"] == "Running"
    assert "FailedMount" not in [reason for _, reason, _ in events(shared, "unmounted")]


def test_a_variable_from_a_missing_secret_is_a_config_error_until_it_exists() -> None:
    session = cluster(nodes=1)
    variable = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    create(session, pod(container={"env": [variable]}))
    waiting = state(session)["state"]["waiting"]
    assert waiting == {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}
    assert ("Warning", "Failed", 'Error: secret "s" not found') in events(session)
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {}}
    session.request("POST", "/api/v1/namespaces/default/secrets", made)
    session.wait(13)
    words = "couldn't find key k in Secret default/s"
    assert state(session)["state"]["waiting"]["message"] == words
    patch(session, "/api/v1/namespaces/default/secrets/s", {"data": {"k": "eA=="}})
    session.wait(13)
    assert get(session)["status"]["phase"] == "Running"


# -- ends and restarts ----------------------------------------------------------------------------


def test_a_failed_start_is_tried_again_once_the_sandbox_is_noticed() -> None:
    """Recorded: the event is written again at the next look, and then not for ten seconds."""
    session = cluster(nodes=1)
    reference = {"configMapKeyRef": {"name": "nope", "key": "a"}}
    create(session, pod(container={"env": [{"name": "A", "valueFrom": reference}]}))
    times = [
        record["t"] for record in session.records()
        if record["kind"] == "write" and record["resource"] == "events"
        and record["object"]["message"] == 'Error: configmap "nope" not found'
    ]  # fmt: skip
    assert times[1] - times[0] < 2 * SECOND and times[2] - times[1] > 10 * SECOND


def test_a_crash_loop_restarts_at_once_then_backs_off_from_10_seconds() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"crash": "true"}))
    found = state(session)
    uid = get(session)["metadata"]["uid"]
    assert found["restartCount"] == 6
    assert found["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": f"back-off 5m0s restarting failed container=c pod=web_default({uid})",
    }
    last = found["lastState"]["terminated"]
    assert last["exitCode"] == 1 and last["containerID"] == found["containerID"]
    words = f"Back-off restarting failed container c in pod web_default({uid})"
    assert ("Warning", "BackOff", words) in events(session)
    starts = seconds_of(session, "container", "begin")
    waits = [b - a - 1 for a, b in itertools.pairwise(starts)]
    assert waits[0] <= 1
    # the restart comes with the first sync after the back-off, and syncs are up to 15 s apart
    for wait, backoff in zip(waits[1:], (10, 20, 40, 80, 160), strict=True):
        assert backoff <= wait <= backoff + 16


def test_the_back_off_starts_anew_after_ten_good_minutes() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"run-seconds": "700", "exit-code": "1"}), settle=False)
    session.settle()
    assert state(session)["restartCount"] > 3
    waits = {
        record["said"].split(" restarting")[0]
        for record in session.records()
        if record["kind"] == "done" and record["said"].startswith("back-off")
    }
    assert waits == {"back-off 10s"}


def test_a_crashed_container_says_how_it_ended_until_the_next_sync_says_that_it_waits() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"crash": "true"}))
    told = [
        (next(iter(status["state"])), status["restartCount"], record["t"])
        for record in session.records()
        if record["kind"] == "write"
        and record["resource"] == "pods"
        and record["subresource"] == "status"
        for status in record["object"]["status"].get("containerStatuses", ())
    ]
    second = [(kind, t) for kind, restarts, t in told if restarts == 1]
    assert [kind for kind, _ in second] == ["running", "terminated", "waiting"]
    # seen beside kubelet 1.33.4: 11.7, 12.2 and 14.7 s after the end
    assert 10 <= (second[2][1] - second[1][1]) / SECOND <= 16.5


def test_the_last_state_keeps_the_former_containers_id() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"run-seconds": "400", "exit-code": "3"}, restartPolicy="OnFailure"))
    found = state(session)
    assert found["restartCount"] >= 1
    ids = {found["containerID"], found["lastState"]["terminated"]["containerID"]}
    waiting = "waiting" in found["state"]
    assert len(ids) == (1 if waiting else 2)


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded")],
)
def test_a_pod_that_ends_for_good(shared: Session, policy: str, code: int, phase: str) -> None:
    name = f"end-{policy.lower()}-{code}"
    notes = {"run-seconds": "2", "exit-code": str(code)}
    create(shared, pod(name, notes=notes, restartPolicy=policy))
    assert get(shared, name)["status"]["phase"] == phase
    done = state(shared, name)["state"]["terminated"]
    assert (done["exitCode"], done["reason"]) == (code, "Error" if code else "Completed")
    ready = condition(shared, "Ready", name)
    assert ready["reason"] == ("PodFailed" if code else "PodCompleted")
    assert condition(shared, "PodReadyToStartContainers", name)["status"] == "False"
    assert get(shared, name)["status"]["podIP"]


def test_the_end_of_a_pod_is_told_in_two_steps(shared: Session) -> None:
    notes = {"run-seconds": "2"}
    create(shared, pod("steps", notes=notes, restartPolicy="Never"))
    told = [
        (
            record["object"]["status"]["phase"],
            *(
                (condition["status"], condition.get("reason"))
                for condition in record["object"]["status"]["conditions"]
                if condition["type"] in ("PodReadyToStartContainers", "Ready")
            ),
            record["t"],
        )
        for record in shared.records()
        if record["kind"] == "write"
        and (record["name"], record["subresource"]) == ("steps", "status")
        and "terminated" in record["object"]["status"]["containerStatuses"][0]["state"]
    ]
    completed = ("False", "PodCompleted")
    assert [one[:3] for one in told] == [
        ("Running", ("True", None), completed),
        ("Succeeded", ("False", None), completed),
    ]
    assert SECOND <= told[1][3] - told[0][3] <= 1.1 * SECOND


def test_a_finished_pods_address_is_free_again() -> None:
    session = cluster(nodes=1)
    create(session, pod("a", "busybox", restartPolicy="Never"))
    assert len(addresses(session)) == 0


def test_a_pod_over_its_deadline_fails() -> None:
    session = cluster(nodes=1)
    create(session, pod(activeDeadlineSeconds=60))
    session.wait(70)
    status = get(session)["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert "terminated" in state(session)["state"]


# -- init containers and sidecars -----------------------------------------------------------------


def test_init_containers_run_in_order_before_the_others() -> None:
    session = cluster(nodes=1)
    inits = [{"name": name, "image": "busybox"} for name in ("one", "two")]
    create(session, pod(initContainers=inits))
    assert get(session)["status"]["phase"] == "Running"
    started = [words for _, reason, words in events(session) if reason == "Started"]
    assert [words.split()[-1] for words in started] == ["one", "two", "c"]
    found = get(session)["status"]["initContainerStatuses"]
    assert all(one["ready"] and one["state"]["terminated"]["exitCode"] == 0 for one in found)


def test_a_failing_init_container_holds_the_pod_in_pending() -> None:
    session = cluster(nodes=1)
    init = {"name": "setup", "image": "busybox"}
    create(session, pod(initContainers=[init], notes={"setup.exit-code": "1"}))
    status = get(session)["status"]
    assert status["phase"] == "Pending"
    assert status["initContainerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert state(session)["state"]["waiting"]["reason"] == "PodInitializing"
    said = condition(session, "Initialized")
    assert said["message"] == "containers with incomplete status: [setup]"


def test_a_failing_init_container_fails_a_pod_that_never_restarts(shared: Session) -> None:
    init = {"name": "setup", "image": "busybox"}
    body = pod("once", initContainers=[init], notes={"setup.exit-code": "1"}, restartPolicy="Never")
    create(shared, body)
    assert get(shared, "once")["status"]["phase"] == "Failed"
    assert condition(shared, "Ready", "once")["reason"] == "PodFailed"


def test_a_sidecar_starts_first_and_stops_when_the_others_are_done(shared: Session) -> None:
    sidecar = {"name": "log", "image": "redis:7", "restartPolicy": "Always"}
    create(shared, pod("job", "busybox", initContainers=[sidecar], restartPolicy="Never"))
    assert get(shared, "job")["status"]["phase"] == "Succeeded"
    words = [(reason, text.split()[-1]) for _, reason, text in events(shared, "job")]
    assert words.index(("Started", "log")) < words.index(("Started", "c"))
    assert words[-1] == ("Killing", "log")


# -- probes ---------------------------------------------------------------------------------------


def test_a_readiness_probe_makes_the_pod_ready_when_the_image_is(shared: Session) -> None:
    probe = {**HTTP, "periodSeconds": 2}
    body = pod("slow", container={"readinessProbe": probe}, notes={"ready-after-seconds": "5"})
    create(shared, body)
    assert condition(shared, "Ready", "slow")["status"] == "True"
    words = "Readiness probe failed: HTTP probe failed with statuscode: 503"
    assert ("Warning", "Unhealthy", words) in events(shared, "slow")


def test_a_pod_that_is_never_ready_runs_on_unready_and_the_cluster_settles() -> None:
    session = cluster(nodes=1)
    body = pod(container={"readinessProbe": HTTP}, notes={"ready-after-seconds": "never"})
    create(session, body)
    assert get(session)["status"]["phase"] == "Running"
    said = condition(session, "Ready")
    assert (said["status"], said["reason"]) == ("False", "ContainersNotReady")
    assert said["message"] == "containers with unready status: [c]"


def test_a_failing_liveness_probe_restarts_the_container() -> None:
    session = cluster(nodes=1)
    probe = {**HTTP, "periodSeconds": 5, "failureThreshold": 2}
    notes = {"liveness-fails-after-seconds": "900"}
    create(session, pod(container={"livenessProbe": probe}, notes=notes))
    words = [(reason, text) for _, reason, text in events(session)]
    assert ("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503") in words
    assert ("Killing", "Container c failed liveness probe, will be restarted") in words
    assert state(session)["restartCount"] >= 1


def test_a_startup_probe_that_never_succeeds_kills_the_container() -> None:
    session = cluster(nodes=1)
    probe = {**HTTP, "periodSeconds": 1, "failureThreshold": 2}
    notes = {"ready-after-seconds": "never"}
    create(session, pod(container={"startupProbe": probe}, notes=notes))
    words = [text for _, reason, text in events(session) if reason == "Killing"]
    assert words[0] == "Container c failed startup probe, will be restarted"
    assert state(session)["started"] is False


def test_an_annotation_on_a_running_pod_changes_what_it_does() -> None:
    session = cluster(nodes=1)
    create(session, pod(container={"readinessProbe": {**HTTP, "periodSeconds": 1}}))
    assert condition(session, "Ready")["status"] == "True"
    note = {"metadata": {"annotations": {"simulation.lifecycle/unready-after-seconds": "30"}}}
    patch(session, f"{PODS}/web", note)
    assert condition(session, "Ready")["status"] == "False"


def test_a_readiness_gate_holds_the_pod_until_somebody_says_so(shared: Session) -> None:
    create(shared, pod("gate", readinessGates=[{"conditionType": "example.com/ok"}]))
    said = condition(shared, "Ready", "gate")
    assert said["reason"] == "ReadinessGatesNotReady"
    assert said["message"] == (
        'corresponding condition of pod readiness gate "example.com/ok" does not exist.'
    )
    conditions = [{"type": "example.com/ok", "status": "True"}]
    answer = shared.request(
        "PATCH", f"{PODS}/gate/status", {"status": {"conditions": conditions}},
        headers={"content-type": "application/strategic-merge-patch+json"},
    )  # fmt: skip
    assert answer.status == 200
    said = condition(shared, "Ready", "gate")
    assert said["status"] == "True" and "message" not in said
