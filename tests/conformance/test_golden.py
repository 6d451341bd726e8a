"""The golden session again: the same manifest gives the same objects.

The objects of the session come from a real 1.22 cluster (containerd was not yet its runtime, and
kubectl was 1.23). What 1.33 does otherwise is listed here, and nothing else may differ.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance import kubectl as kubectls
from tests.conformance import manifests
from tests.conformance.api import Answer, Api
from tests.conformance.kubectl import PATIENTLY, Kubectl, since
from tests.lifecycle.hosting.running import REAL, Demo

GOLDEN = Path(__file__).parents[1] / "golden"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments"
KUBECTL = "kubectl/v1.23.3 (linux/amd64) kubernetes/816c97a"  # who sent it in the session
HASHES = ("6799fc88d8", "5869d7778c")  # of one template in 1.22 and in 1.33

# what is random, or says where and when
CHANCE = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", "TIME"),
    (r'("resourceVersion": )"[0-9]+"', r'\1"N"'),
    (r"(containerd|docker)://[0-9a-f]{64}", "CONTAINER"),
    (r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+", "IP"),
    (r"(k8s-)?node-?[0-9]", "NODE"),
    (rf"(({'|'.join(HASHES)}|kube-api-access)-)[a-z0-9]{{5}}", r"\1ID"),
)


@pytest.fixture(scope="module")
def created(
    cluster: Demo, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Answer]:
    """The answer to the session's one request, sent as it was sent then."""
    api = Api(cluster, tmp_path_factory.mktemp("certificate"))
    body = yaml.safe_load(manifests.GOLDEN)
    yield api.ask("POST", f"{DEPLOYMENT}?fieldManager=kubectl-create", body, User_Agent=KUBECTL)
    kubectl("delete", "deployment", "nginx-deployment", "--cascade=foreground")


@pytest.fixture(scope="module")
def running(created: Answer, kubectl: Kubectl) -> None:
    kubectl("rollout", "status", "deployment/nginx-deployment")


def test_the_answer_is_the_golden_one_to_the_byte(created: Answer) -> None:
    golden = json.loads((GOLDEN / "deployment-1.22.json").read_text())
    metadata = created.json["metadata"]
    for name in ("uid", "resourceVersion", "creationTimestamp"):
        golden["metadata"][name] = metadata[name]
    golden["metadata"]["managedFields"][0]["time"] = metadata["creationTimestamp"]
    assert created.code == 201
    assert created.body == json.dumps(golden, separators=(",", ":")).encode() + b"\n"
    shorter = len("438272") - len(metadata["resourceVersion"])
    assert created.header("Content-Length") == str(1585 - shorter)


def test_the_answer_has_the_golden_headers(created: Answer) -> None:
    golden = {
        "X-Kubernetes-Pf-Prioritylevel-Uid",
        "Content-Length",
        "Date",
        "Audit-Id",
        "Cache-Control",
        "Content-Type",
        "X-Kubernetes-Pf-Flowschema-Uid",
    }
    assert {name for name, _ in created.headers} == golden
    assert created.header("Cache-Control") == "no-cache, private"
    assert created.header("Content-Type") == "application/json"


@pytest.mark.usefixtures("running")
def test_the_replica_set_is_the_golden_one(kubectl: Kubectl) -> None:
    name = f"nginx-deployment-{HASHES[1]}"
    assert plain(kubectl.object("rs", name)) == plain(golden("replicaset-1.22.yaml"))


@pytest.mark.usefixtures("running")
def test_the_pod_is_the_golden_one_but_for_what_1_33_adds(kubectl: Kubectl) -> None:
    pod = golden("pod-1.22.yaml")
    pod["metadata"]["generation"] = 1
    status = pod["status"]
    status["hostIPs"] = [{"ip": "10.0.0.1"}]
    status["conditions"].insert(0, {**status["conditions"][0], "type": "PodReadyToStartContainers"})
    container = in_containerd(pod)
    container["resources"] = {}
    container["volumeMounts"] = [
        {**pod["spec"]["containers"][0]["volumeMounts"][0], "recursiveReadOnly": "Disabled"}
    ]
    (found,) = kubectl.object("pods", "-l", "app=nginx")["items"]
    assert plain(found) == plain(pod)


def test_a_cluster_of_the_same_version_gives_the_golden_objects(
    tmp_path_factory: pytest.TempPathFactory, home: Path
) -> None:
    where = tmp_path_factory.mktemp("then") / "data"
    with Demo(where, "--speed", "max", "--profile", "v1.22", driver=REAL) as demo:
        kubectl = Kubectl(kubectls.newest(), demo.data_dir, home)
        kubectl("create", "-f", "-", given=manifests.GOLDEN)
        kubectl("rollout", "status", "deployment/nginx-deployment", PATIENTLY)
        replica_set = kubectl.object("rs", f"nginx-deployment-{HASHES[0]}")
        (pod,) = kubectl.object("pods", "-l", "app=nginx")["items"]
    was = yaml.safe_load((GOLDEN / "pod-1.22.yaml").read_text())
    in_containerd(was)
    assert plain(pod) == plain(was)
    was = yaml.safe_load((GOLDEN / "replicaset-1.22.yaml").read_text())
    assert plain(replica_set) == plain(was)


def in_containerd(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod's one container, as containerd says otherwise than Docker did."""
    container: dict[str, Any] = pod["status"]["containerStatuses"][0]
    container["image"] = "docker.io/library/nginx:latest"
    container["imageID"] = "docker.io/library/" + container["imageID"].rpartition("/")[2]
    return container


@since(1, 33, "`describe` has another word")
@pytest.mark.usefixtures("running")
def test_the_pod_is_described_in_the_golden_layout(kubectl: Kubectl) -> None:
    then = words((GOLDEN / "describe-pod-1.22.txt").read_text())
    now = words(kubectl("describe", "pods", "-l", "app=nginx"))
    changes = [line for line in difflib.ndiff(then, now) if line[0] in "+-"]
    assert changes == [
        "+ Service Account",
        "+ PodReadyToStartContainers",
        "- ConfigMapOptional",
        "+ Optional",
    ]


def golden(name: str) -> dict[str, Any]:
    """An object of the session, with the template's hash of 1.33."""
    return dict(yaml.safe_load((GOLDEN / name).read_text().replace(*HASHES)))


def plain(obj: dict[str, Any]) -> Any:
    """The object without what chance, place and time put into it."""
    return json.loads(leveled(json.dumps(obj)))


def leveled(text: str) -> str:
    for pattern, word in CHANCE:
        text = re.sub(pattern, word, text)
    return text


def words(described: str) -> list[str]:
    """The first words of each line: what is told, not what is told of it."""
    text = leveled(described.replace(*HASHES))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [re.split(r":| {2,}", line)[0].strip() for line in lines]
