"""Static pods from the address that a kubelet's configuration names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controllers_app.kubelet.pods import manifesturl
from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import PODS, cluster, create, get, pod

NODE = "node-1"


def manifest(name: str, image: str = "redis:7") -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": image}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def served(session: Session, body: Any) -> None:
    """The pod `web` answers with it at /pods."""
    text = body if isinstance(body, str) else json.dumps(body)
    file = "/usr/share/nginx/html/pods"
    assert execute(session, "sh", "-c", f"cat > {file}", stdin=text.encode())[1] == 0


def configured(session: Session, line: str) -> None:
    """The kubelet of the node is started again with one more line in its configuration."""
    disk: Any = session.cluster.hosts.nodes[NODE].host.disk
    path = manifesturl.CONFIG
    disk.write(path, disk.read(path) + f"{line}\n".encode(), session.cluster.kernel.now)
    session.cluster.role("kubelet", "fail", component=f"kubelet/{NODE}")
    session.settle()
    session.cluster.role("kubelet", "start", component=f"kubelet/{NODE}")
    session.wait(5)


def names(session: Session) -> list[str]:
    found = session.request("GET", PODS).json()["items"]
    return [each["metadata"]["name"] for each in found if each["metadata"]["name"] != "web"]


@pytest.fixture
def session() -> Session:
    """A pod `web` that serves the manifest of one pod, and a kubelet that asks it."""
    session = cluster(nodes=1)
    create(session, pod())
    served(session, manifest("cache"))
    configured(session, f"staticPodURL: http://{get(session)['status']['podIP']}/pods")
    return session


def test_the_pod_that_is_described_there_runs_with_a_mirror(session: Session) -> None:
    found = get(session, f"cache-{NODE}")
    assert found["metadata"]["annotations"]["kubernetes.io/config.source"] == "http"
    assert found["metadata"]["ownerReferences"][0]["kind"] == "Node"
    session.wait(20)
    assert get(session, f"cache-{NODE}")["status"]["phase"] == "Running"


def test_a_list_is_taken_whole_and_what_is_there_no_more_ends(session: Session) -> None:
    items = [manifest("cache"), {**manifest("queue"), "kind": ""}]
    del items[1]["kind"]
    served(session, {"apiVersion": "v1", "kind": "PodList", "items": items})
    session.wait(25)
    assert names(session) == [f"cache-{NODE}", f"queue-{NODE}"]
    served(session, {"apiVersion": "v1", "kind": "PodList", "items": items[1:]})
    session.wait(60)
    assert names(session) == [f"queue-{NODE}"]


@pytest.mark.parametrize(
    "text", ["{", "kind: Service", "[1]", "{kind: PodList, items: 1}", "{kind: List, items: [a]}"]
)
def test_what_is_no_pod_changes_nothing(session: Session, text: str) -> None:
    served(session, text)
    session.wait(60)
    assert names(session) == [f"cache-{NODE}"]


def test_an_address_that_cannot_be_reached_changes_nothing(session: Session) -> None:
    session.request("DELETE", f"{PODS}/web")
    session.wait(120)
    assert names(session) == [f"cache-{NODE}"]


@pytest.mark.parametrize(
    "url", ["https://10.0.0.1/pods", "http://web.default.svc/pods", "file:///pods", "1"]
)
def test_no_other_address_is_asked(url: str) -> None:
    session = cluster(nodes=1)
    create(session, pod())
    configured(session, f"staticPodURL: {url}")
    session.wait(30)
    assert names(session) == []


@pytest.mark.parametrize("headers", ["1", "[a]", "{a: 1}", "{a: [1]}"])
def test_with_headers_that_are_no_lists_of_texts_nothing_is_asked_and_pods_run(
    headers: str,
) -> None:
    session = cluster(nodes=1)
    create(session, pod())
    served(session, manifest("cache"))
    url = f"staticPodURL: http://{get(session)['status']['podIP']}/pods"
    configured(session, f"{url}\nstaticPodURLHeader: {headers}")
    session.wait(30)
    assert names(session) == []
    create(session, pod("next"))
    assert get(session, "next")["status"]["phase"] == "Running"
