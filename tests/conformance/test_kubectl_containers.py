"""Containers as one looks into them with kubectl: logs, exec, cp, run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.kubectl import PATIENTLY, Kubectl


@pytest.fixture(scope="module")
def kubectl(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("containers") as within:
        within("run", "web", "--image=nginx")
        within("wait", "--for=condition=Ready", "pod/web", PATIENTLY)
        yield within


def test_logs_are_what_the_image_writes(kubectl: Kubectl) -> None:
    assert "Configuration complete; ready for start up" in kubectl("logs", "web")
    assert len(kubectl("logs", "web", "--tail=2").splitlines()) == 2


def test_exec_runs_commands_and_gives_their_exit_code(kubectl: Kubectl) -> None:
    assert kubectl("exec", "web", "--", "sh", "-c", "echo $HOSTNAME") == "web\n"
    assert "Welcome to nginx!" in kubectl("exec", "web", "--", "curl", "-s", "localhost")


def test_a_file_is_copied_into_a_pod_and_back(kubectl: Kubectl, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text("mine\n")
    kubectl("cp", str(page), "web:/usr/share/nginx/html/index.html")
    assert kubectl("exec", "web", "--", "curl", "-s", "localhost") == "mine\n"
    kubectl("cp", "web:/etc/hostname", str(tmp_path / "name"))
    assert (tmp_path / "name").read_text() == "web\n"


def test_run_shows_what_the_command_writes(kubectl: Kubectl) -> None:
    kubectl("run", "once", "--image=busybox", "--restart=Never", "--", "echo", "hi")
    phase = ("get", "pod", "once", "-o", "jsonpath={.status.phase}")
    kubectl.until(lambda out: out == "Succeeded", *phase)
    assert kubectl("logs", "once") == "hi\n"


def test_every_kube_proxy_has_the_same_rules_for_a_service(kubectl: Kubectl) -> None:
    kubectl("expose", "pod", "web", "--port=80")
    address = kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    pod = kubectl("get", "pod", "web", "-o", "jsonpath={.status.podIP}")
    system = kubectl.within("kube-system")
    names = system("get", "pods", "-l", "k8s-app=kube-proxy", "-o", "name").split()
    assert len(names) == 3
    show = ("exec", names[0], "--", "iptables-save", "-t", "nat")
    system.until(lambda text: f"--to-destination {pod}:80\n" in text, *show)
    texts = [
        [
            line
            for line in system("exec", name, "--", "iptables-save").splitlines()
            if '"containers/web' in line
        ]
        for name in names
    ]
    assert texts[0] == texts[1] == texts[2]
    assert any(line.startswith(f"-A KUBE-SERVICES -d {address}/32 -p tcp") for line in texts[0])
