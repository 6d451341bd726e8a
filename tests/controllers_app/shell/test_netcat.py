"""Ports that a container's own commands listen on: who reaches them, and what goes over."""

from __future__ import annotations

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import ask, execute, run
from tests.controllers_app.podlab import cluster, condition, create, get, pod

HELLO = (
    'while true; do echo -e "HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\n\\r\\nhello" '
    "| nc -l -p 8080 || true; done"
)


@pytest.fixture(scope="module")
def net() -> Session:
    session = cluster(nodes=1)
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
    served = {"command": ["sh", "-c", HELLO], "readinessProbe": probe}
    create(session, pod(image="busybox", container=served))
    echoing = {"command": ["nc", "-lk", "-p", "7", "-e", "cat"]}
    create(session, pod("echo", image="busybox", container=echoing))
    create(session, pod("box", image="busybox", container={"command": ["sleep", "infinity"]}))
    return session


def test_a_port_that_a_script_listens_on_answers_the_probe_and_every_client(net: Session) -> None:
    assert condition(net, "Ready")["status"] == "True"
    address = get(net)["status"]["podIP"]
    for _ in range(2):
        answer = ask(net, port=8080)
        assert (answer.status, answer.body) == (200, b"hello\n")
        assert execute(net, "wget", "-qO-", f"{address}:8080", name="box") == ("hello\n", 0)


def test_a_forwarded_connection_carries_the_bytes_of_the_script(net: Session) -> None:
    async def talk() -> bytes:
        connection = await net.cluster.nodes.dial(get(net), 8080)
        connection.write(b"GET / HTTP/1.1\r\n\r\n")
        data = b""
        while (part := await connection.read()) is not None:
            data += part
        connection.close()
        return data

    assert run(net, talk()) == b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
    log = execute(net, "sh", "-c", "echo x | nc -w 1 127.0.0.1 9 || echo refused")[0]
    assert log.endswith("refused\n")


def test_a_program_behind_a_port_reads_and_answers_until_the_client_ends(net: Session) -> None:
    address = get(net, "echo")["status"]["podIP"]
    for word in ("one", "two"):
        said = execute(net, "sh", "-c", f"echo {word} | nc {address} 7", name="box")
        assert said == (f"{word}\n", 0)


def test_a_port_has_one_listener_and_is_free_when_its_process_is_gone(net: Session) -> None:
    said = execute(net, "sh", "-c", "nc -l -p 8080; echo $?")[0]
    assert said == "nc: bind: Address already in use\n1\n"
    assert execute(net, "timeout", "1", "nc", "-l", "-p", "9000", name="box")[1] == 143
    said = execute(net, "sh", "-c", "nc -z 127.0.0.1 9000 || echo free", name="box")[0]
    assert said == "free\n"
