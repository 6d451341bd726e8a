"""Templates of pods, jobs and claims as they are stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver_app.cluster import server_session

_CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
_POD = {
    "restartPolicy": "Never",
    "containers": [{"name": "c", "image": "nginx"}],
    "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": _CLAIM}}],
}


@pytest.mark.parametrize(("release", "written"), [("1.33", True), ("1.34", False), ("1.36", False)])
def test_a_template_has_an_empty_creation_time_until_1_33(release: str, written: bool) -> None:
    session = server_session(version=release)
    body = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "x"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": _POD}}}},
    }
    path = "/apis/batch/v1/namespaces/default/cronjobs?dryRun=All"
    job: dict[str, Any] = session.request("POST", path, body).json()["spec"]["jobTemplate"]
    pod = job["spec"]["template"]
    claim = pod["spec"]["volumes"][0]["ephemeral"]["volumeClaimTemplate"]
    empty = {"creationTimestamp": None} if written else {}
    assert [item["metadata"] for item in (job, pod, claim)] == [empty] * 3
