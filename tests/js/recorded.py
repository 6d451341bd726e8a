"""Traces for the tests of the page's model: short runs of a cluster, recorded in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.trace import archive
from lifecycle.trace.recorder import Breakpoint

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TAINT = {"spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}}
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
STUDENTS_VIEW = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "students-view"},
    "subjects": [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "students"},
    ],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
}
IN_ADMISSION = Breakpoint(
    "bp-1", "plugin", {"plugin": "ServiceAccount", "phase": "mutating", "namespace": "default"}
)
AFTER_SELECT = Breakpoint("bp-2", "schedule", {"phase": "select"})


def record(folder: Path) -> None:
    """Records every story into a file of its own."""
    for name, story in STORIES.items():
        session = Session(default_inputs(seed=7))
        story(session)
        archive.write_file(folder / f"{name}.jsonl.gz", session.header(), session.records())


def full(session: Session) -> None:
    """kubectl create deployment nginx --image=nginx --replicas=3, until all runs."""
    assert _create(session).status == 201
    session.wait(30)


def breakpoint_(session: Session) -> None:
    """Held inside mutating admission, when the first pod is created."""
    session.cluster.recorder.arm(breakpoints=(IN_ADMISSION,))
    _create(session)
    assert session.cluster.recorder.held is not None


def scheduling(session: Session) -> None:
    """Held when the second pod's node has been chosen."""
    _taint(session)
    session.cluster.recorder.arm(breakpoints=(AFTER_SELECT,))
    _create(session)
    session.host.resume()
    session.settle()
    assert session.cluster.recorder.held is not None


def refused(session: Session) -> None:
    """A student may look at deployments, but not create them."""
    assert session.request("POST", BINDINGS, STUDENTS_VIEW).status == 201
    assert _create(session, "student").status == 403


def preemption(session: Session) -> None:
    """Two nodes are full; an important pod makes the less important of two others leave."""
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for name, value in (("low", -100), ("mid", 1000), ("high", 100000)):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        body = {**kind, "metadata": {"name": name}, "value": value}
        assert session.request("POST", classes, body).status == 201
    _taint(session)
    _big(session, "v1", "mid", nodeName="node-1")
    _big(session, "v2", "low", nodeName="node-2")
    _big(session, "web", "high")


STORIES = {
    "full": full, "breakpoint": breakpoint_, "scheduling": scheduling, "refused": refused,
    "preemption": preemption,
}  # fmt: skip


def _taint(session: Session) -> None:
    patch = {"content-type": "application/merge-patch+json"}
    answer = session.request("PATCH", "/api/v1/nodes/node-3", TAINT, headers=patch)
    assert answer.status == 200


def _big(session: Session, name: str, klass: str, **spec: Any) -> None:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "3"}}}
    body = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [container], "priorityClassName": klass, **spec},
    }  # fmt: skip
    assert session.request("POST", "/api/v1/namespaces/default/pods", body).status == 201


def _create(session: Session, user: str = "kubernetes-admin") -> Any:
    labels = {"app": "nginx"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx", "labels": labels},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
            },
        },
    }
    kubectl = {"user-agent": "kubectl/v1.33.1"}
    return session.request("POST", DEPLOYMENTS, deployment, user=user, headers=kubectl)
