"""Clusters of the articles' versions, with the real kubectl of their time and of today."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lifecycle.hosting import options
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import REAL, Demo
from tests.suite import seeds

MANIFEST = """
apiVersion: extensions/v1beta1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: "nginx:1.7.9"}]}
---
apiVersion: extensions/v1beta1
kind: Ingress
metadata: {name: web}
spec: {backend: {serviceName: web, servicePort: 80}}
"""

# what kubectl 1.17.17 sends for `run NAME --image=IMAGE --replicas=3` and `--restart=Never`, its
# generators deployment/v1beta1 (extensions/v1beta1), deployment/apps.v1 (apps/v1) and run-pod/v1
DEPLOYMENT_OF_RUN = (
    '{"kind":"Deployment","apiVersion":"%s","metadata":{"name":"nginx","creationTimestamp":null,'
    '"labels":{"run":"nginx"}},"spec":{"replicas":3,"selector":{"matchLabels":{"run":"nginx"}},'
    '"template":{"metadata":{"creationTimestamp":null,"labels":{"run":"nginx"}},"spec":'
    '{"containers":[{"name":"nginx","image":"nginx","resources":{}}]}},"strategy":{}},"status":{}}'
)
POD_OF_RUN = (
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"once","creationTimestamp":null,"labels":'
    '{"run":"once"}},"spec":{"containers":[{"name":"once","image":"busybox","resources":{}}],'
    '"restartPolicy":"Never","dnsPolicy":"ClusterFirst"},"status":{}}'
)


# one of those with extensions/v1beta1 for all, and one of the others, each day
ALL = [name for name in options.profiles() if name.startswith("v")]
OLDER = [name for name in ALL if int(name.partition(".")[2]) < 16]
NEWER = [name for name in ALL if name not in OLDER]
VERSIONS = [*seeds.draw("older", OLDER, 1), *seeds.draw("newer", NEWER, 1)]


@pytest.fixture(scope="module", params=VERSIONS)
def profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def old(
    profile: str, tmp_path_factory: pytest.TempPathFactory, home: Path
) -> Iterator[dict[str, Kubectl]]:
    """The oldest and the newest program, on a cluster of the profile."""
    where = tmp_path_factory.mktemp(profile) / "data"
    with Demo(where, "--speed", "max", "--profile", profile, driver=REAL) as demo:
        yield {
            name: Kubectl(program, demo.data_dir, home)
            for name, program in (("oldest", kubectls.oldest()), ("newest", kubectls.newest()))
        }


def test_a_deployment_of_the_time_runs(profile: str, old: dict[str, Kubectl]) -> None:
    kubectl = old["oldest"]
    version = yaml.safe_load(kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    assert version.startswith(f"{profile}.")
    if int(profile.partition(".")[2]) < 16:
        said = kubectl("apply", "-f", "-", given=MANIFEST)
        assert said == "deployment.extensions/web created\ningress.extensions/web created\n"
        assert kubectl("get", "deploy", "-o", "name") == "deployment.extensions/web\n"
        backend = kubectl.object("ing", "web")["spec"]["backend"]
        assert backend == {"serviceName": "web", "servicePort": 80}
    else:
        said = kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
        assert said == "deployment.apps/web created\n"
        assert kubectl("get", "deploy", "-o", "name") == "deployment.apps/web\n"

    for one in old.values():
        one("rollout", "status", "deployment/web", PATIENTLY)
        rows = one.until(lambda out: out.count("Running") == 2, "get", "pods", "-l", "app=web")
        assert rows.count("1/1") == 2
    groups = old["newest"]("api-versions").split()
    assert ("extensions/v1beta1" in groups) is (int(profile.partition(".")[2]) < 22)
    assert ("apps/v1" in groups) is (profile != "v1.8")


def test_the_cluster_has_nothing_that_its_version_had_not(
    profile: str, old: dict[str, Kubectl]
) -> None:
    minor = int(profile.partition(".")[2])
    kubectl = old["oldest"]
    # a newer kubectl does not show managed fields unless it is told to
    metadata = yaml.safe_load(kubectl("get", "--raw", "/api/v1/namespaces/default"))["metadata"]
    assert ("managedFields" in metadata) is (minor >= 18)
    found = kubectl("api-resources", "-o", "name").split()
    assert ("leases.coordination.k8s.io" in found) is (minor >= 12)
    assert ("podsecuritypolicies.policy" in found) is (minor >= 10)
    assert ("flowschemas.flowcontrol.apiserver.k8s.io" in found) is (minor >= 20)


def test_what_run_once_sent_becomes_a_deployment_or_a_pod(
    profile: str, old: dict[str, Kubectl]
) -> None:
    group = "extensions/v1beta1" if profile == "v1.8" else "apps/v1"
    kubectl = old["oldest"]
    deployments, pods = (
        f"/apis/{group}/namespaces/default/deployments",
        "/api/v1/namespaces/default/pods",
    )
    kubectl.until(bool, "get", "serviceaccount", "default", "--ignore-not-found", "-o", "name")
    kubectl("create", "--raw", deployments, "-f", "-", given=DEPLOYMENT_OF_RUN % group)
    kubectl("create", "--raw", pods, "-f", "-", given=POD_OF_RUN)

    kubectl("rollout", "status", "deployment/nginx", PATIENTLY)
    kubectl.until(lambda out: "Completed" in out, "get", "pod", "once")
    labelled = yaml.safe_load(kubectl("get", "deploy,rs,pods", "-l", "run=nginx", "-o", "json"))
    made = labelled["items"]
    kinds = [each["kind"] for each in made]
    assert kinds == ["Deployment", "ReplicaSet", "Pod", "Pod", "Pod"]
    assert len({pod["spec"]["nodeName"] for pod in made if pod["kind"] == "Pod"}) >= 2
    assert "ownerReferences" not in kubectl.object("pod", "once")["metadata"]
