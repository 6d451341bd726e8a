"""What really runs around a container: hooks, traps, messages of its end, mounted files."""

from __future__ import annotations

from typing import Any

from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute, log
from tests.controllers_app.podlab import PODS, cluster, create, events, get, pod, state
from tests.likeness.stage import Recording

MAPS = "/api/v1/namespaces/default/configmaps"


def script(text: str, **more: Any) -> dict[str, Any]:
    return {"command": ["sh", "-c", text], **more}


def test_a_message_of_its_end_is_what_a_container_wrote_or_the_end_of_its_log() -> None:
    session = cluster(nodes=1)
    says = script("echo why > /dev/termination-log; exit 1")
    falls = script("echo last words; exit 2", terminationMessagePolicy="FallbackToLogsOnError")
    create(session, pod("says", "busybox", container=says, restartPolicy="Never"))
    create(session, pod("falls", "busybox", container=falls, restartPolicy="Never"))
    assert state(session, "says")["state"]["terminated"]["message"] == "why\n"
    assert state(session, "falls")["state"]["terminated"]["message"] == "last words\n"


def after_start(hook: dict[str, Any], name: str = "web", **spec: Any) -> dict[str, Any]:
    return pod(name, container={"lifecycle": {"postStart": hook}}, **spec)


def test_hooks_are_run_and_a_failed_one_after_the_start_ends_the_container() -> None:
    session = cluster(nodes=1)
    create(session, after_start({"exec": {"command": ["sh", "-c", "echo up > /tmp/up"]}}))
    assert execute(session, "cat", "/tmp/up")[0] == "up\n"
    bad = after_start({"exec": {"command": ["false"]}}, "bad", restartPolicy="Never")
    create(session, bad)
    assert ("Warning", "FailedPostStartHook", "PostStartHook failed") in events(session, "bad")
    assert "terminated" in state(session, "bad")["state"]


def words_of(hook: dict[str, Any]) -> str:
    """What a container waits with whose hook failed, without the pod's UID."""
    session = cluster(nodes=1)
    recording = Recording(session.cluster)
    create(session, after_start(hook), settle=False)
    session.wait(30)
    uid = get(session)["metadata"]["uid"]
    sent = [
        request.body["status"]["containerStatuses"][0]["state"]
        for request in recording.sent
        if request.line == "patch pods/status 200" and "containerStatuses" in request.body["status"]
    ]
    assert not any("running" in state for state in sent), "that it ran is never told"
    told = [state["waiting"] for state in sent if "waiting" in state]
    words = [event["message"] for event in told if event["reason"] == "PostStartHookError"]
    return str(words[0]).replace(uid, "UID")


def test_a_container_whose_hook_failed_waits_with_the_words_of_it() -> None:
    where = 'for Container "c" in Pod "web_default(UID)" failed - error:'
    assert words_of({"exec": {"command": ["false"]}}) == (
        f"Exec lifecycle hook ([false]) {where} command 'false' exited with 1: , message: \"\""
    )
    says = words_of({"exec": {"command": ["sh", "-c", "echo so; echo why >&2; exit 3"]}})
    assert says == (
        f"Exec lifecycle hook ([sh -c echo so; echo why >&2; exit 3]) {where} command "
        "'sh -c echo so; echo why >&2; exit 3' exited with 3: why\n, message: \"so\\nwhy\\n\""
    )
    missing = words_of({"exec": {"command": ["nope"]}})
    assert missing.startswith(
        f"Exec lifecycle hook ([nope]) {where} rpc error: code = Unknown desc = failed to exec in "
        "container: failed to start exec "
    )
    assert missing.endswith(
        'exec: "nope": executable file not found in $PATH: unknown, message: ""'
    )
    refused = words_of({"httpGet": {"path": "/up", "port": 81}})
    dial = 'Get "http://10.244.0.2:81/up": dial tcp 10.244.0.2:81: connect: connection refused'
    assert refused == f"HTTP lifecycle hook (/up) {where} {dial}"


def test_a_request_after_the_start_succeeds_whatever_the_answer_is() -> None:
    session = cluster(nodes=1)
    create(session, after_start({"httpGet": {"path": "/nothing-there", "port": 80}}))
    assert state(session)["ready"]
    assert not [event for event in events(session) if event[1] == "FailedPostStartHook"]


def test_a_sidecar_that_ends_well_is_never_said_to_wait() -> None:
    session = cluster(nodes=1)
    recording = Recording(session.cluster)
    brief = {"name": "s", "image": "busybox", "restartPolicy": "Always", "command": ["true"]}
    create(session, pod(initContainers=[brief]), settle=False)
    session.wait(60)
    sent = [
        request.body["status"]["initContainerStatuses"][0]
        for request in recording.sent
        if request.line == "patch pods/status 200"
        and "initContainerStatuses" in request.body["status"]
    ]
    assert max(status["restartCount"] for status in sent) > 1
    reasons = {
        status["state"]["waiting"]["reason"] for status in sent if "waiting" in status["state"]
    }
    assert reasons == {"PodInitializing"}
    last = [status for status in sent if "terminated" in status["state"]][-1]
    assert last["lastState"] == {}, "of its instances that ended only the last is kept"


def test_a_failed_pre_stop_hook_is_reported() -> None:
    session = cluster(nodes=1)
    hook = {"preStop": {"exec": {"command": ["false"]}}}
    create(session, pod(container={"lifecycle": hook}))
    session.request("DELETE", f"{PODS}/web")
    assert ("Warning", "FailedPreStopHook", "PreStopHook failed") in events(session)
    assert session.request("GET", f"{PODS}/web").status == 404


def test_a_trap_runs_when_the_container_is_stopped() -> None:
    session = cluster(nodes=1)
    text = "trap 'echo bye > /data/said; exit 0' TERM; while true; do sleep 1; done"
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}
    volumes = [{"name": "v", "hostPath": {"path": "/srv/shared"}}]
    create(session, pod("traps", "busybox", container=script(text, **mount), volumes=volumes))
    create(session, pod(container=mount, volumes=volumes))
    session.request("DELETE", f"{PODS}/traps")
    session.wait(5)
    assert session.request("GET", f"{PODS}/traps").status == 404
    assert execute(session, "cat", "/data/said")[0] == "bye\n"


def test_commands_of_an_unknown_image_are_run_too() -> None:
    session = cluster(nodes=1)
    text = "echo hello; exit 3"
    create(session, pod("odd", "example.org/odd:1", container=script(text), restartPolicy="Never"))
    assert log(session, "odd") == "hello\n"
    assert state(session, "odd")["state"]["terminated"]["exitCode"] == 3
    create(session, pod("serves", "example.org/odd:1", container=script("exec ./server")))
    assert "running" in state(session, "serves")["state"]


def mounted(source: dict[str, Any], **more: Any) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/etc/v", **more.pop("mount", {})}]
    return pod(
        container={"volumeMounts": mounts, **more.pop("container", {})},
        volumes=[{"name": "v", **source}],
        **more,
    )


def config(session: Session, **data: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}
    if session.request("PUT", f"{MAPS}/c", body).status == 404:
        session.request("POST", MAPS, body)


def test_a_config_map_is_mounted_through_a_link_that_is_moved_when_it_changes() -> None:
    session = cluster(nodes=1)
    config(session, key="one")
    create(session, mounted({"configMap": {"name": "c", "defaultMode": 0o400}}))
    assert execute(session, "readlink", "/etc/v/key")[0] == "..data/key\n"
    first = execute(session, "readlink", "/etc/v/..data")[0]
    assert "-r--------  1 root root" in execute(session, "ls", "-l", "/etc/v/..data/")[0]
    config(session, key="two")
    assert execute(session, "cat", "/etc/v/key")[0] == "one"
    session.wait(61)
    assert execute(session, "cat", "/etc/v/key")[0] == "two"
    assert execute(session, "readlink", "/etc/v/..data")[0] != first
    out, code = execute(session, "sh", "-c", "echo x > /etc/v/key")
    assert code != 0 and "Read-only file system" in out


def test_files_belong_to_who_made_them_and_others_are_refused() -> None:
    session = cluster(nodes=1)
    context = {"runAsUser": 1000, "runAsGroup": 3000, "fsGroup": 2000}
    create(session, mounted({"emptyDir": {}}, securityContext=context))
    out, _ = execute(session, "sh", "-c", "echo x > /etc/v/f; ls -l /etc/v; ls -ld /etc/v")
    assert "1000 3000" in out and "root 2000" in out
    out, code = execute(session, "sh", "-c", "echo x > /etc/passwd2")
    assert code != 0 and "Permission denied" in out


def test_a_root_that_is_read_only_refuses_writes_but_not_in_volumes() -> None:
    session = cluster(nodes=1)
    context = {"securityContext": {"readOnlyRootFilesystem": True}}
    create(session, mounted({"emptyDir": {}}, container=context))
    out, code = execute(session, "touch", "/tmp/x")
    assert code == 1 and "Read-only file system" in out
    assert execute(session, "touch", "/etc/v/x") == ("", 0)
