"""What containers with commands of their own do: output, exit codes, restarts, attached clients."""

from __future__ import annotations

from tests.controllers_app.nodelab import execute, log, run
from tests.controllers_app.podlab import cluster, create, events, get, pod, state


def script(text: str, **more: object) -> dict[str, object]:
    return {"command": ["sh", "-c", text], **more}


def test_a_script_writes_its_log_and_ends_the_container_with_its_code() -> None:
    session = cluster(nodes=1)
    body = pod(image="busybox", container=script("echo hello; sleep 5; echo bye >&2; exit 3"))
    create(session, {**body, "spec": {**body["spec"], "restartPolicy": "Never"}})
    assert log(session) == "hello\nbye\n"
    assert log(session, stream="Stderr") == "bye\n"
    ended = state(session)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    assert get(session)["status"]["phase"] == "Failed"


def test_what_an_init_container_of_an_unknown_image_runs_ends_and_its_server_goes_on() -> None:
    session = cluster(nodes=1)
    init = {"name": "migrate", "image": "example.org/app:1"}
    body = pod(image=init["image"], container=script("echo a; app serve; echo b"))
    body["spec"]["initContainers"] = [{**init, **script("echo c; app migrate && echo d")}]
    create(session, body)
    session.wait(10)
    assert log(session, container="migrate") == "c\nd\n"
    assert log(session) == "a\n"
    assert "running" in state(session)["state"]


def test_the_log_of_the_instance_before_is_kept() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="busybox", container=script("echo $RANDOM; sleep 1; exit 1")))
    assert state(session)["restartCount"] > 1
    assert log(session, previous=True) != "" and log(session) != ""


def test_an_endless_loop_neither_runs_away_with_the_clock_nor_misses_a_second() -> None:
    session = cluster(nodes=1)
    began = session.cluster.kernel.now
    loop = script("while true; do date +%s; sleep 1; done")
    create(session, pod(image="busybox", container=loop))
    assert session.cluster.kernel.now - began < 120_000_000
    session.wait(30)
    seconds = [int(line) for line in log(session).splitlines()]
    assert len(seconds) > 50
    assert seconds == list(range(seconds[0], seconds[0] + len(seconds)))


def test_an_annotation_says_more_than_the_command() -> None:
    session = cluster(nodes=1)
    body = pod(image="busybox", container=script("exit 1"), notes={"run-seconds": "never"})
    create(session, body)
    assert "running" in state(session)["state"]


def test_a_program_that_the_image_has_not_is_a_start_error() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="busybox", container={"command": ["nope"]}))
    last = state(session)["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (128, "StartError")
    assert 'exec: "nope": executable file not found in $PATH' in last["message"]
    assert any(
        text.startswith("Error: failed to create containerd task") for *_, text in events(session)
    )


def test_the_back_off_of_a_container_that_cannot_start_doubles_too() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="busybox", container={"command": ["nope"]}))
    assert state(session)["state"]["waiting"]["message"].startswith("back-off 5m0s")
    assert state(session)["restartCount"] == 6


def test_an_attached_client_talks_to_the_containers_shell() -> None:
    session = cluster(nodes=1)
    shell = {"stdin": True, "tty": True, "stdinOnce": True}
    body = pod(image="busybox", container=shell)
    create(session, {**body, "spec": {**body["spec"], "restartPolicy": "Never"}})
    assert "running" in state(session)["state"]

    async def go() -> str:
        process = await session.cluster.nodes.attach(pod_now, "c", stdin=True, tty=True)
        process.write(b"echo hi\rexit 2\r")
        out = b""
        while (part := await process.read()) is not None:
            out += part[1]
        return out.decode()

    pod_now = get(session)
    assert "echo hi\r\n" in run(session, go())
    assert state(session)["state"]["terminated"]["exitCode"] == 2
    assert "hi\r\n/ # " in log(session)


def test_a_shell_without_a_terminal_answers_line_by_line() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="busybox", container={"command": ["sleep", "3600"]}))

    async def go() -> tuple[list[bytes], int | None]:
        process = await session.cluster.nodes.exec(pod_now, "c", ["sh"], stdin=True, tty=False)
        said = []
        for line in (b"echo one\n", b"if true; then\n echo two\nfi; break\n"):
            process.write(line)
            part = await process.read()
            assert part is not None
            said.append(part[1])
        process.write(b"trap 'echo bye' EXIT; exit 4\n")
        while (part := await process.read()) is not None:
            said.append(part[1])
        return said, process.exit_code

    pod_now = get(session)
    assert run(session, go()) == ([b"one\n", b"two\n", b"bye\n"], 4)


def test_containers_of_a_pod_share_an_empty_dir_and_each_restart_begins_anew() -> None:
    session = cluster(nodes=1)
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/data"}]}
    writer = script("echo from-a > /data/f; sleep infinity", image="busybox", name="a", **mount)
    reader = script("sleep infinity", **mount)
    body = pod(image="busybox", container=reader)
    body["spec"]["containers"].append(writer)
    body["spec"]["volumes"] = [{"name": "shared", "emptyDir": {}}]
    create(session, body)
    assert execute(session, "cat", "/data/f") == ("from-a\n", 0)


def test_a_config_map_is_seen_as_files_and_variables() -> None:
    session = cluster(nodes=1)
    session.request(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        {"metadata": {"name": "conf"}, "data": {"color": "blue"}},
    )
    container = script(
        "sleep infinity",
        env=[{"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "color"}}}],
        volumeMounts=[{"name": "conf", "mountPath": "/conf"}],
    )
    volumes = [{"name": "conf", "configMap": {"name": "conf"}}]
    create(session, pod(image="busybox", container=container, volumes=volumes))
    assert execute(session, "sh", "-c", "echo $COLOR $(cat /conf/color)") == ("blue blue\n", 0)


def test_a_shell_that_starts_nginx_serves_its_page() -> None:
    session = cluster(nodes=1)
    text = "echo custom > /usr/share/nginx/html/index.html && nginx -g 'daemon off;'"
    create(session, pod(container=script(text)))
    assert execute(session, "curl", "-s", "localhost") == ("custom\n", 0)


def test_a_sleeping_first_process_ignores_the_request_to_stop() -> None:
    session = cluster(nodes=1)
    body = pod(image="busybox", container={"command": ["sleep", "infinity"]})
    create(session, body)
    before = session.cluster.kernel.now
    session.request("DELETE", "/api/v1/namespaces/default/pods/web")
    assert session.cluster.kernel.now - before >= 30_000_000


def test_what_a_script_wrote_is_there_again_after_the_worker_was_replaced() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="busybox", container=script("echo hello; sleep infinity")))
    before = log(session, timestamps=True)
    session.restart()
    assert state(session)["restartCount"] == 0
    assert log(session, timestamps=True)[:19] == before[:19]


def test_a_pod_that_nobody_looks_into_has_no_inside() -> None:
    session = cluster(nodes=1)
    create(session, pod())
    cluster_ = session.cluster
    assert len(cluster_.hosts.nodes["node-1"]) == 0 and cluster_.nodes.volumes.folders == {}
