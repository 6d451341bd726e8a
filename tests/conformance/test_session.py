"""The cluster of the articles' session (`--profile session`), told by a real kubectl.

What was printed then and what is printed now differ in what chance and the clock put into it,
and in nothing else.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lifecycle import catalog
from lifecycle.trace.archive import Archive
from tests.browser import asking
from tests.conformance import kubectl as kubectls
from tests.conformance.api import Api
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.conformance.test_golden import GOLDEN, KUBECTL, leveled, plain
from tests.lifecycle.hosting.running import REAL, Demo

MANIFEST = Path(catalog.__file__).parent / "session" / "nginx-deployment.yaml"
SET = "nginx-deployment-6799fc88d8"
SYSTEM_PODS = """
    coredns-HASH-ID coredns-HASH-ID etcd-k8s-master kube-apiserver-k8s-master
    kube-controller-manager-k8s-master kube-flannel-ds-ID kube-flannel-ds-ID kube-flannel-ds-ID
    kube-proxy-ID kube-proxy-ID kube-proxy-ID kube-scheduler-k8s-master
"""
SIGNS_OF_LIFE = ("leases.coordination.k8s.io", "nodes")
EVENTS = (
    r"Normal +Scheduled +\S+ +default-scheduler +Successfully assigned default/\S+ to k8s-node\d",
    r'Normal +Pulling +\S+ +kubelet +Pulling image "nginx"',
    r'Normal +Pulled +\S+ +kubelet +Successfully pulled image "nginx" in [0-9.]+s',
    r"Normal +Created +\S+ +kubelet +Created container nginx",
    r"Normal +Started +\S+ +kubelet +Started container nginx",
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    where = tmp_path_factory.mktemp("session") / "data"
    with Demo(where, "--speed", "max", "--profile", "session", driver=REAL) as demo:
        yield demo


@pytest.fixture(scope="module")
def old(demo: Demo, home: Path) -> Kubectl:
    """The oldest program, which is as old as the cluster where Debian's is there."""
    kubectl = Kubectl(kubectls.oldest(), demo.data_dir, home)
    uploaded = ("get", "configmap", "kubeadm-config", "--ignore-not-found", "-o", "name")
    kubectl.until(bool, "-n", "kube-system", *uploaded)
    for each in ("deployment/coredns", "daemonset/kube-proxy", "daemonset/kube-flannel-ds"):
        kubectl("-n", "kube-system", "rollout", "status", each, PATIENTLY)
    listed = ("-n", "kube-system", "get", "pods", "-o", "name")
    wanted = len(SYSTEM_PODS.split())  # the machine's own come by themselves
    kubectl.until(lambda out: len(out.splitlines()) == wanted, *listed)
    kubectl("-n", "kube-system", "wait", "--for=condition=Ready", "pod", "--all", PATIENTLY)
    return kubectl


@pytest.fixture(scope="module")
def new(demo: Demo, home: Path) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, home)


@pytest.fixture(scope="module")
def created(old: Kubectl) -> str:
    """What `kubectl create -f` of the bundled manifest wrote at level 9."""
    said = old.run("create", "-f", str(MANIFEST), "-v=9")
    assert said.out == "deployment.apps/nginx-deployment created\n", said.err
    old("rollout", "status", "deployment/nginx-deployment", PATIENTLY)
    return said.err


@pytest.fixture(scope="module")
def pod(created: str, old: Kubectl) -> dict[str, Any]:
    (pod,) = old.object("pods", "-l", "app=nginx")["items"]
    return dict(pod)


def test_the_machines_the_addresses_and_the_namespaces_are_the_sessions(
    demo: Demo, old: Kubectl
) -> None:
    nodes = old.object("nodes")["items"]
    assert {node["metadata"]["name"]: addresses(node)["InternalIP"] for node in nodes} == {
        "k8s-master": "192.168.0.154",
        "k8s-node1": "192.168.0.155",  # which no article tells
        "k8s-node2": "192.168.0.156",
    }
    assert all(node["spec"]["podCIDR"].startswith("10.244.") for node in nodes)
    info = nodes[0]["status"]["nodeInfo"]
    assert info["kubeletVersion"] == "v1.22.2"
    assert info["containerRuntimeVersion"].startswith("docker://")
    assert old.object("service", "kubernetes")["spec"]["clusterIP"] == "10.96.0.1"
    subset = old.object("endpoints", "kubernetes")["subsets"][0]
    assert subset["addresses"] == [{"ip": "192.168.0.154"}]
    assert subset["ports"][0]["port"] == 6443
    namespaces = {each["metadata"]["name"] for each in old.object("namespaces")["items"]}
    classroom = {"student"}  # where the page's student works; in no real cluster
    assert namespaces - classroom == {
        "default", "development", "kube-node-lease", "kube-public", "kube-system",
    }  # fmt: skip


def addresses(node: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["address"] for each in node["status"]["addresses"]}


def test_kube_system_has_the_twelve_pods_sorted_by_name(old: Kubectl) -> None:
    said = old.run("get", "pod", "-n", "kube-system")
    assert said.lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    names = [row[0] for row in said.rows()]
    shapes = [re.sub(r"-[a-z0-9]{5}$", "-ID", name) for name in names]
    shapes = [re.sub(r"^coredns-[a-z0-9]+-ID$", "coredns-HASH-ID", name) for name in shapes]
    # what ends in five letters by itself
    shapes = [f"{name[:-2]}proxy" if name == "kube-ID" else name for name in shapes]
    assert shapes == SYSTEM_PODS.split()
    assert names == sorted(names)
    assert {(row[1], row[2]) for row in said.rows()} == {("1/1", "Running")}


def test_the_bundled_manifest_is_the_sessions() -> None:
    assert yaml.safe_load(MANIFEST.read_text()) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx-deployment"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {
                "metadata": {"labels": {"app": "nginx"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
            },
        },
    }


def test_kubectl_sends_the_sessions_body_to_the_byte(created: str) -> None:
    body = created.partition("Request Body: ")[2].splitlines()[0]
    assert body == (
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"nginx-deployment",'
        '"namespace":"default"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"nginx"}},'
        '"template":{"metadata":{"labels":{"app":"nginx"}},"spec":{"containers":[{"image":"nginx",'
        '"name":"nginx"}]}}}}'
    )
    assert len(body) == 278


def test_kubectl_sends_it_in_the_sessions_request(created: str) -> None:
    line = next(line for line in created.splitlines() if "-XPOST" in line)
    assert re.search(
        r"https://[^/]+/apis/apps/v1/namespaces/default/deployments\?"
        r"fieldManager=kubectl-create(&fieldValidation=\w+)?'",
        line,
    )
    for header in ("Accept: application/json", "Content-Type: application/json"):
        assert header in line
    assert re.search(r"User-Agent: kubectl\S*/v\S+ \(linux/amd64\) kubernetes/[0-9a-f]{7}", line)


def test_the_replica_set_is_what_it_was_and_written_after_the_pod(
    demo: Demo, old: Kubectl, pod: dict[str, Any]
) -> None:
    """The next revision, 438315 after 438314, but for who says meanwhile that it is alive."""
    found = old.object("rs", SET)
    was = yaml.safe_load((GOLDEN / "replicaset-1.22.yaml").read_text())
    assert found["status"] == was["status"]
    assert plain(found) == plain(was)
    first, last = (int(each["metadata"]["resourceVersion"]) for each in (pod, found))
    written = [
        record["resource"]
        for record in asking.records(demo)
        if record["kind"] == "write" and first <= record["rev"] <= last
    ]
    assert [each for each in written if each not in SIGNS_OF_LIFE] == ["pods", "replicasets.apps"]


def test_the_pod_is_the_sessions_with_dockers_names(pod: dict[str, Any]) -> None:
    was = yaml.safe_load((GOLDEN / "pod-1.22.yaml").read_text())
    container, then = (state["status"]["containerStatuses"][0] for state in (pod, was))
    assert re.fullmatch(r"docker://[0-9a-f]{64}", container["containerID"])
    assert container["image"] == then["image"] == "nginx:latest"
    assert container["imageID"] == then["imageID"]
    made, started = (
        datetime.datetime.fromisoformat(text)
        for text in (pod["metadata"]["creationTimestamp"], pod["status"]["startTime"])
    )
    assert (started - made).total_seconds() in (0, 1)  # both are whole seconds of the cluster
    assert plain(pod) == plain(was)


def test_describe_tells_the_pod_as_it_did(old: Kubectl, pod: dict[str, Any]) -> None:
    if kubectls.minor_of(old.program) > (1, 23):
        pytest.skip("a newer kubectl than the session's describes pods in other words")
    then = (GOLDEN / "describe-pod-1.22.txt").read_text()
    now = old("describe", "pod", pod["metadata"]["name"])
    assert masked(now).splitlines() == masked(then).splitlines()


def test_the_five_events_come_in_their_order_and_words(old: Kubectl, pod: dict[str, Any]) -> None:
    lines = old("describe", "pod", pod["metadata"]["name"]).splitlines()
    told = lines[lines.index("Events:") + 3 :]
    assert len(told) == len(EVENTS)
    for line, pattern in zip(told, EVENTS, strict=True):
        assert re.fullmatch(pattern, line.strip()), line


def test_yaml_is_shown_as_it_was(new: Kubectl, pod: dict[str, Any]) -> None:
    """Keys are sorted, and kubectl hides the managed fields since 1.21."""
    if kubectls.minor_of(new.program) < (1, 21):
        pytest.skip("an older kubectl shows managed fields")
    for what, name, golden in (
        ("pod", pod["metadata"]["name"], "pod-1.22.yaml"),
        ("rs", SET, "replicaset-1.22.yaml"),
    ):
        now, then = new("get", what, name, "-o", "yaml"), (GOLDEN / golden).read_text()
        assert masked(now).splitlines() == masked(then).splitlines()


def test_the_openapi_document_is_asked_for_and_answered_as_it_was(
    demo: Demo, old: Kubectl, tmp_path: Path
) -> None:
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    path = "/openapi/v2?timeout=32s"
    answer = Api(demo, tmp_path).ask("GET", path, Accept=accept, User_Agent=KUBECTL)
    assert answer.code == 200
    assert {name for name, _ in answer.headers} - {"Content-Length"} == {
        "Audit-Id", "Etag", "Content-Type", "Date", "X-Kubernetes-Pf-Flowschema-Uid",
        "Accept-Ranges", "Cache-Control", "X-Kubernetes-Pf-Prioritylevel-Uid", "Last-Modified",
        "Vary",
    }  # fmt: skip
    assert answer.header("Content-Type") == "application/octet-stream"
    assert answer.header("Accept-Ranges") == "bytes"
    assert answer.header("Cache-Control") == "no-cache, private"
    assert re.fullmatch(r'"[0-9A-F]{128}"', answer.header("Etag"))
    assert [value for name, value in answer.headers if name == "Vary"] == [
        "Accept-Encoding",
        "Accept",
    ]
    shown = json.loads(Api(demo, tmp_path).ask("GET", path).body)
    assert shown["swagger"] == "2.0"
    assert shown["info"] == {"title": "Kubernetes", "version": "v1.22.2"}


def test_the_recorded_story_is_among_the_saved_traces(demo: Demo) -> None:
    (saved,) = Archive(demo.data_dir).all()
    assert (saved.id, saved.header["profile"]) == ("session", "session")
    assert [each["title"] for each in saved.header["bookmarks"]] == [
        "kubectl reads its configuration",
        "kubectl asks for the OpenAPI document",
        "kubectl posts the Deployment",
    ]


def masked(text: str) -> str:
    """Without what chance and the clock put in. The age of an event that has a time to the
    microsecond only is `<unknown>` to a kubectl of 1.20, which makes the column wider."""
    text = re.sub(r"k8s-node\d", "k8s-node2", leveled(text))
    text = re.sub(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "DATE", text)
    text = re.sub(r"(Normal  \w+ +)\S+ +(?=\S+ +\S)", r"\1AGE  ", text)
    text = re.sub(r"(Age|----) +(?=From|----  )", r"\1   ", text)
    text = re.sub(r'(resourceVersion: )"\d+"', r'\1"N"', text)
    return re.sub(r"(?<= in )[0-9.]+s", "SECONDS", text)
