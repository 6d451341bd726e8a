"""What nodes answer to the API server: logs, ports, the kubelet's own paths, and their refusals."""

from __future__ import annotations

import orjson
import pytest

from apiserver_app.machinery.net.nodeapi import HttpRequest, NodeError
from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import ask, log, run
from tests.controllers_app.podlab import cluster, create, get, pod

READY = "/docker-entrypoint.sh: Configuration complete; ready for start up"


@pytest.fixture(scope="module")
def web() -> Session:
    session = cluster(nodes=1)
    create(session, pod())
    return session


def test_the_log_of_an_image_has_its_lines_with_the_time_of_the_start(web: Session) -> None:
    lines = log(web, timestamps=True).splitlines()
    assert any(line.endswith(READY) for line in lines)
    began = get(web)["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    assert lines[0].startswith(began[:-1] + ".000000000Z ")


def test_every_http_request_that_nginx_answers_is_a_line_of_its_log(web: Session) -> None:
    answer = ask(web, "/?a=b")
    assert answer.status == 200 and b"<h1>Welcome to nginx!</h1>" in answer.body
    assert ask(web, "/none").status == 404
    lines = log(web, tail_lines=3).splitlines()
    assert '"GET /?a=b HTTP/1.1" 200 615 "-" "test"' in lines[0]
    assert "[error]" in lines[1] and "No such file or directory" in lines[1]
    assert '"GET /none HTTP/1.1" 404 153' in lines[2]


def test_a_tail_and_a_limit_of_bytes_cut_the_log(web: Session) -> None:
    assert log(web, tail_lines=0) == ""
    assert len(log(web, tail_lines=2).splitlines()) == 2
    assert len(log(web, limit_bytes=10)) == 10


def test_a_port_where_nothing_listens_refuses_the_connection(web: Session) -> None:
    address = get(web)["status"]["podIP"]
    with pytest.raises(NodeError, match=f"dial tcp {address}:81: connect: connection refused"):
        ask(web, port=81)


def test_there_is_no_log_of_a_former_instance_that_never_was(web: Session) -> None:
    with pytest.raises(NodeError) as caught:
        log(web, previous=True)
    assert str(caught.value) == 'previous terminated container "c" in pod "web" not found'
    assert caught.value.code == 400


def test_a_container_that_waits_for_its_image_has_no_log_yet() -> None:
    session = cluster(nodes=1)
    create(session, pod(image="nginx:no-such-tag"))
    with pytest.raises(NodeError, match='"c" in pod "web" is waiting to start: trying and failing'):
        log(session)


def test_a_stopped_kubelet_refuses_the_connection_in_upstreams_words() -> None:
    session = cluster(nodes=1)
    create(session, pod())
    session.cluster.role("kubelet", "stop")
    with pytest.raises(NodeError) as caught:
        log(session)
    assert str(caught.value) == (
        'Get "https://10.0.0.11:10250/containerLogs/default/web/c": '
        "dial tcp 10.0.0.11:10250: connect: connection refused"
    )
    with pytest.raises(NodeError, match=r"^error dialing backend: dial tcp 10.0.0.11:10250: "):
        run(session, session.cluster.nodes.dial(get(session), 80))


def test_the_kubelet_answers_for_its_health_its_pods_and_its_figures(web: Session) -> None:
    def node(path: str) -> bytes:
        answer = run(web, web.cluster.nodes.node("node-1", HttpRequest("GET", path)))
        body: bytes = answer.body
        return body

    assert node("/healthz") == b"ok"
    assert orjson.loads(node("/configz"))["kubeletconfig"]["maxPods"] == 110
    assert [item["metadata"]["name"] for item in orjson.loads(node("/pods"))["items"]] == ["web"]
    summary = orjson.loads(node("/stats/summary"))
    assert summary["pods"][0]["containers"][0]["name"] == "c"


def test_the_resource_metrics_have_upstreams_names_and_agree_with_the_summary(web: Session) -> None:
    def node(path: str) -> bytes:
        answer = run(web, web.cluster.nodes.node("node-1", HttpRequest("GET", path)))
        body: bytes = answer.body
        return body

    lines = node("/metrics/resource").decode().splitlines()
    assert [line.split()[2] for line in lines if line.startswith("# TYPE")] == [
        "container_cpu_usage_seconds_total",
        "container_memory_working_set_bytes",
        "container_start_time_seconds",
        "node_cpu_usage_seconds_total",
        "node_memory_working_set_bytes",
        "pod_cpu_usage_seconds_total",
        "pod_memory_working_set_bytes",
        "resource_scrape_error",
    ]
    values = {words[0]: words[1] for line in lines if (words := line.split())[0] != "#"}
    labels = '{container="c",namespace="default",pod="web"}'
    pod = orjson.loads(node("/stats/summary"))["pods"][0]
    assert pod["cpu"]["usageCoreNanoSeconds"] == sum(
        container["cpu"]["usageCoreNanoSeconds"] for container in pod["containers"]
    )
    seconds = pod["containers"][0]["cpu"]["usageCoreNanoSeconds"] / 1e9
    assert float(values[f"container_cpu_usage_seconds_total{labels}"]) == seconds
    size = pod["containers"][0]["memory"]["workingSetBytes"]
    assert float(values[f"container_memory_working_set_bytes{labels}"]) == size
    assert values["node_memory_working_set_bytes"].partition("e+")[2] in ("08", "09")


def test_the_containers_metrics_name_pod_image_and_cgroup(web: Session) -> None:
    request = HttpRequest("GET", "/metrics/cadvisor")
    body = run(web, web.cluster.nodes.node("node-1", request)).body.decode()
    status = get(web)["status"]["containerStatuses"][0]
    name = status["containerID"].rpartition("/")[2]
    uid = get(web)["metadata"]["uid"].replace("-", "_")
    level = get(web)["status"]["qosClass"].lower()
    cgroup = f"/kubepods.slice/kubepods-{level}.slice/kubepods-{level}-pod{uid}.slice"
    series = (
        f'container_cpu_usage_seconds_total{{container="c",cpu="total",'
        f'id="{cgroup}/cri-containerd-{name}.scope",image="{status["image"]}",name="{name}",'
        f'namespace="default",pod="web"}} '
    )
    assert body.count(series) == 1
    assert 'container_memory_working_set_bytes{container="",id="/",image=""' in body


def test_a_forwarded_port_speaks_http(web: Session) -> None:
    async def talk() -> bytes:
        connection = await web.cluster.nodes.dial(get_pod, 80)
        connection.write(b"GET / HTTP/1.1\r\nhost: x\r\n")
        connection.write(b"connection: close\r\n\r\n")
        data = b""
        while (part := await connection.read()) is not None:
            data += part
        return data

    get_pod = get(web)
    data = run(web, talk())
    assert data.startswith(b"HTTP/1.1 200 OK\r\n") and b"Welcome to nginx!" in data
