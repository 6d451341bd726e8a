"""What is in volumes behind claims outlives the worker, and goes with its volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_app.etcd.backend import Backend, MemoryBackend
from apiserver_app.etcd.log import DatabaseBackend
from lifecycle.hosting.scripted import Session, default_inputs
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import create, pod

pytestmark = pytest.mark.django_db(transaction=True)

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def user(name: str, script: str = "sleep infinity") -> dict[str, Any]:
    container = {
        "command": ["sh", "-c", script],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    return pod(name, image="busybox", container=container, volumes=volumes)


@pytest.fixture(params=["memory", "database"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    backend: Backend = MemoryBackend()
    if request.param == "database":
        request.getfixturevalue("transactional_db")
        backend = DatabaseBackend("demo")
    session = Session(default_inputs(nodes=1), backend)
    made = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "example.com/fast",
    }
    assert session.request("POST", CLASSES, made).status == 201
    assert session.request("POST", CLAIMS, claim("data")).status == 201
    session.wait(3)
    yield session


def sh(session: Session, script: str, name: str = "web") -> str:
    return execute(session, "sh", "-c", script, name=name)[0]


def test_files_modes_and_links_are_there_after_a_restart(session: Session) -> None:
    create(session, user("web"))
    script = "mkdir -p /data/a/b; echo hi > /data/a/b/f; chmod 600 /data/a/b/f; ln -s a/b /data/l"
    sh(session, f"{script}; echo gone > /data/x; rm /data/x")
    session.restart()
    said = sh(session, "cat /data/l/f; ls /data; ls -l /data/a/b; echo more >> /data/a/b/f")
    assert said.startswith("hi\na\nl\n") and "\n-rw------- " in said
    session.restart()
    assert sh(session, "cat /data/a/b/f") == "hi\nmore\n"


def test_a_script_that_is_run_again_after_a_restart_writes_nothing_twice(session: Session) -> None:
    create(session, user("web", "echo began >> /data/log; sleep 5; echo on >> /data/log; sleep 1d"))
    session.wait(10)
    assert sh(session, "cat /data/log") == "began\non\n"
    session.restart()
    session.wait(10)
    assert sh(session, "cat /data/log") == "began\non\n"


def test_what_is_in_a_volume_goes_with_it(session: Session) -> None:
    create(session, user("web"))
    sh(session, "echo old > /data/f")
    session.request("DELETE", "/api/v1/namespaces/default/pods/web?gracePeriodSeconds=0")
    session.wait(2)
    session.request("DELETE", f"{CLAIMS}/data")
    session.wait(5)
    assert session.request("POST", CLAIMS, claim("data")).status == 201
    session.wait(3)
    create(session, user("again"))
    assert sh(session, "ls /data; echo new > /data/f; cat /data/f", "again") == "new\n"
    session.settle()
    state = session.backend.load()
    assert state is not None and sum(data is not None for data in state.volumes.values()) == 1


def test_a_big_volume_is_kept_now_and_then_and_at_the_end(session: Session) -> None:
    create(session, user("web"))
    sh(session, "seq 40000 > /data/big; echo 1 > /data/n")
    sh(session, "echo 2 > /data/n")
    claims = session.cluster.volumes
    assert claims.changed() == {}
    session.host.commit(last=True)
    session.restart()
    assert sh(session, "cat /data/n; wc -c < /data/big") == "2\n228894\n"
