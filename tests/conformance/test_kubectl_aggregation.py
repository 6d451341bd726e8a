"""APIServices and the metrics API of an aggregated server, with the real kubectl."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifecycle import catalog
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl, since
from tests.lifecycle.hosting.running import Demo

MANIFEST = str(Path(catalog.__file__).parent / "metrics-server.yaml")
METRICS = "v1beta1.metrics.k8s.io"
UNABLE = "the server is currently unable to handle the request"
SYSTEM = ("-n", "kube-system")


@pytest.fixture(scope="module")
def fresh(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Behind it there is no metrics API, as before it."""
    kubectl.forget()
    yield kubectl
    kubectl("delete", "-f", MANIFEST, "--ignore-not-found")
    kubectl("delete", "pod", "one", "--ignore-not-found")
    kubectl.forget()


@since(1, 27, "it does not know aggregated discovery")
def test_the_life_of_the_metrics_api(fresh: Kubectl) -> None:
    rows = fresh.until(lambda out: "v2.autoscaling" in out, "get", "apiservices")
    assert re.search(r"(?m)^NAME +SERVICE +AVAILABLE +AGE$", rows)
    assert re.search(r"(?m)^v1\.apps +Local +True +\d+", rows)
    assert fresh.fails("top", "node") == "error: Metrics API not available"
    assert fresh.fails("top", "pod") == "error: Metrics API not available"

    fresh("apply", "-f", MANIFEST)
    fresh("wait", "--for=condition=Available", f"apiservice/{METRICS}", PATIENTLY)
    rows = fresh("get", "apiservice", METRICS)
    assert re.search(r"(?m)^v1beta1\.metrics\.k8s\.io +kube-system/metrics-server +True +", rows)
    assert "metrics.k8s.io/v1beta1" in fresh("api-versions").splitlines()
    assert "NodeMetrics" in fresh("api-resources", "--api-group=metrics.k8s.io")

    fresh("run", "one", "--image=nginx")
    fresh("wait", "--for=condition=Ready", "pod/one", PATIENTLY)
    nodes = fresh.until(lambda out: "node-1" in out, "top", "node")
    assert re.search(r"(?m)^NAME +CPU\(cores\) +CPU\(?%\)? +MEMORY\(bytes\) +MEMORY\(?%\)?", nodes)
    assert re.search(r"(?m)^node-1 +\d+m +\d+% +\d+Mi +\d+%", nodes)
    fresh.until(lambda out: re.search(r"(?m)^one +\d+m +\d+Mi", out), "top", "pod")
    assert re.search(r"(?m)^one +one +\d+m", fresh("top", "pod", "one", "--containers"))
    server = r"(?m)^kube-system +metrics-server-"
    fresh.until(lambda out: re.search(server, out), "top", "pod", "-A")
    assert re.search(r"(?m)^NAME +CPU +MEMORY +WINDOW", fresh("get", "nodes.metrics.k8s.io"))

    fresh(*SYSTEM, "scale", "deployment/metrics-server", "--replicas=0")
    shown = fresh.until(lambda out: "MissingEndpoints" in out, "get", "apiservice", METRICS)
    assert "False (MissingEndpoints)" in shown
    # a group version that is stale is not there for a client of aggregated discovery
    assert fresh.fails("top", "node") == "error: Metrics API not available"
    raw = fresh.fails("get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes")
    assert raw == f"Error from server (ServiceUnavailable): {UNABLE}"
    assert "one " in fresh("get", "pods")

    fresh(*SYSTEM, "scale", "deployment/metrics-server", "--replicas=1")
    fresh("wait", "--for=condition=Available", f"apiservice/{METRICS}", PATIENTLY)
    fresh.until(lambda out: "node-1" in out, "top", "node")
    fresh("delete", "apiservice", METRICS)
    assert fresh.fails("top", "node") == "error: Metrics API not available"


def test_the_product_api_says_how_the_server_was_built(cluster: Demo, kubectl: Kubectl) -> None:
    answer = cluster.get("/viz/v1/clusters/demo/startup")
    told = json.loads(answer.read())
    assert [server["name"] for server in told["servers"]][-1] == "kube-aggregator"
    assert told["flags"]["client-ca-file"].endswith("pki/ca.crt")
    wanted = ["POST", "/apis/apps/v1/namespaces/{namespace}/deployments", "deployments.apps"]
    assert [*wanted, "kube-apiserver"] in told["table"]


@pytest.mark.parametrize("program", kubectls.drawn("top"), ids=lambda path: path.name)
def test_every_kubectl_can_say_top(program: Path, home: Path, fresh: Kubectl) -> None:
    fresh("apply", "-f", MANIFEST)
    fresh("wait", "--for=condition=Available", f"apiservice/{METRICS}", PATIENTLY)
    one = Kubectl(program, fresh.data_dir, home)
    one.until(lambda out: re.search(r"(?m)^node-1 +\d+m", out), "top", "node")
    server = r"(?m)^metrics-server-\S+ +\d+m"
    one.until(lambda out: re.search(server, out), "top", "pod", *SYSTEM)
