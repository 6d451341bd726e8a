"""The sample initializers of the catalog: shell scripts in a pod of the cluster that they serve."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from apiserver_app import flags
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import PODS, pod

MANIFEST = Path(__file__).parents[2] / "lifecycle" / "catalog" / "initializers.yaml"
FLAGS = (
    "enable-admission-plugins=Initializers",
    "runtime-config=admissionregistration.k8s.io/v1alpha1=true",
)
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture(scope="module")
def session() -> Session:
    given = flags.parse(FLAGS, lambda name: "", Release(10))
    running = Session(default_inputs(nodes=1, version="1.10", flags=given))
    answers = running.apply(MANIFEST.read_text())
    assert [answer.status for answer in answers] == [201] * len(answers)
    running.wait(30)
    return running


def made(session: Session, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    answer = session.request("POST", path, body)
    session.wait(25)
    return answer.status, answer.json()


def web(**container: Any) -> dict[str, Any]:
    body = pod("web")
    body["spec"]["containers"][0].update(container)
    return body


def test_a_pod_that_exposes_port_80_gets_a_sidecar_and_no_other(session: Session) -> None:
    status, got = made(session, PODS, web(ports=[{"containerPort": 80}]))
    assert status == 201
    assert [container["name"] for container in got["spec"]["containers"]] == ["main", "sidecar"]
    assert "initializers" not in got["metadata"]
    status, other = made(session, PODS, {**pod("other")})
    assert (status, len(other["spec"]["containers"])) == (201, 1)
    session.wait(30)
    assert session.request("GET", f"{PODS}/web").json()["status"]["phase"] == "Running"


def test_pods_of_the_namespace_test_get_a_volume_with_the_certificate(session: Session) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "test"}}
    assert made(session, "/api/v1/namespaces", space)[0] == 201
    status, got = made(session, "/api/v1/namespaces/test/pods", web())
    assert status == 201
    assert "certificate" in [volume["name"] for volume in got["spec"]["volumes"]]
    mounts = got["spec"]["containers"][0]["volumeMounts"]
    assert "/etc/test-certificate" in [mount["mountPath"] for mount in mounts]


@pytest.mark.parametrize(("password", "code"), [("short", 422), ("x" * 20, 201)])
def test_a_secret_with_a_short_password_is_refused(
    session: Session, password: str, code: int
) -> None:
    data = {"password": base64.b64encode(password.encode()).decode()}
    metadata = {"name": f"of-{len(password)}"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    status, said = made(session, SECRETS, body)
    assert status == code
    if code == 422:
        assert said["message"] == "a password has at least 20 characters"
    found = session.request("GET", f"{SECRETS}/of-{len(password)}").status
    assert found == (404 if code == 422 else 200)
