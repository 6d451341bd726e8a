"""One cluster at full speed and one kubectl for all conformance tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import REAL, Demo


@pytest.fixture(autouse=True)
def is_new_enough(request: pytest.FixtureRequest) -> None:
    """An old kubectl cannot say what some tests ask for; where CI runs, there is a newer one."""
    mark = request.node.get_closest_marker("kubectl_since")
    if mark is None:
        return
    needed, why = mark.args
    if kubectls.minor_of(kubectls.newest()) < needed:
        missing = "kubectl {}.{} or newer is needed: {}".format(*needed, why)
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    where = tmp_path_factory.mktemp("cluster") / "data"
    with Demo(where, "--speed", "max", driver=REAL) as demo:
        yield demo


@pytest.fixture(scope="session")
def of_1_10(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A cluster of 1.10 with what only such an old one has: passwords, and initializers."""
    where = tmp_path_factory.mktemp("old")
    passwords = where / "passwords.csv"
    passwords.write_text('of-the-file,somebody,1\nof-the-flag,else,2,"system:masters"\n')
    flags = (
        f"basic-auth-file={passwords}",
        "enable-admission-plugins=NodeRestriction,Initializers",
        "runtime-config=admissionregistration.k8s.io/v1alpha1=true",
    )
    given = [word for flag in flags for word in ("--apiserver-arg", flag)]
    with Demo(where / "data", "--speed", "max", "--profile", "v1.10", *given, driver=REAL) as demo:
        yield demo


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def kubectl(cluster: Demo, home: Path) -> Kubectl:
    """The newest program as admin, once every node is ready and kubeadm is done."""
    kubectl = Kubectl(kubectls.newest(), cluster.data_dir, home)
    uploaded = ("get", "configmap", "kubeadm-config", "--ignore-not-found", "-o", "name")
    kubectl.until(bool, "-n", "kube-system", *uploaded)
    kubectl("-n", "kube-system", "rollout", "status", "deployment/coredns", PATIENTLY)
    kubectl("wait", "--for=condition=Ready", "node", "--all", PATIENTLY)
    return kubectl
