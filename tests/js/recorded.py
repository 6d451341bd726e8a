"""Traces for the tests of the page's model: short runs of a cluster, recorded in virtual time."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.trace import archive, keyframes
from lifecycle.trace.recorder import Breakpoint

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TAINT = {"spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}}
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
STUDENTS_VIEW = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "students-view"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "students"}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
}
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: ""}
"""
AUTOSCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: nginx}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nginx}
  minReplicas: 1
  maxReplicas: 5
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
"""
ORDERED = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: postgres}]}
"""
SHOP = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: shop, finalizers: [example.com/keep]}
---
apiVersion: v1
kind: Secret
metadata: {name: gone, namespace: shop}
"""
IN_ADMISSION = Breakpoint(
    "bp-1", "plugin", {"plugin": "ServiceAccount", "phase": "mutating", "namespace": "default"}
)
KEYFRAME_EVERY = 7  # commits
AFTER_SELECT = Breakpoint("bp-2", "schedule", {"phase": "select"})


def record(folder: Path) -> None:
    """Records every story into a file of its own.

    All begin with the same start of a cluster, so each is told in a copy of the process that has
    one, and its end is the story's.
    """
    session = Session(default_inputs(seed=7))
    copies = multiprocessing.get_context("fork")
    for name in STORIES:
        copy = copies.Process(target=_record, args=(folder, name, session), daemon=True)
        copy.start()
        copy.join()
        assert copy.exitcode == 0, f"{name}: the copy ended with {copy.exitcode}"


def _record(folder: Path, name: str, session: Session) -> None:
    STORIES[name](session)
    archive.write_file(folder / f"{name}.jsonl.gz", session.header(), session.records())
    backend = session.cluster.store.backend
    frames = keyframes.Keyframes(backend)
    for segment in list(backend.segments(1, 10**9))[::KEYFRAME_EVERY]:
        message = frames.message(frames.at(segment.last))
        (folder / f"{name}.{segment.last}.keyframe.json").write_text(message)


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


def hidden(session: Session) -> None:
    """A student may not look at nodes."""
    assert session.request("GET", "/api/v1/nodes", user="student").status == 403


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


def crash(session: Session) -> None:
    """A container that ends at once is started again and again, each time later."""
    session.apply(_pod("crash", annotations={"simulation.lifecycle/crash": "true"}))
    session.wait(100)


def image(session: Session) -> None:
    """No registry has the image."""
    session.apply(_pod("typo", image="ngnix"))
    session.wait(30)


def pending(session: Session) -> None:
    """No node has room for it; another waits for a claim that nobody can fill."""
    session.apply(_pod("huge", resources={"requests": {"cpu": "64"}}))
    session.apply(CLAIM)
    session.apply(_pod("keeps", claim="data"))
    session.wait(5)


def jobs(session: Session) -> None:
    """One job finishes, the other fails for good."""
    session.apply(_job("pi", "2"))
    session.apply(_job("broken", "2", code="1"))
    session.wait(60)


def ordered(session: Session) -> None:
    """A StatefulSet whose pods come one after the other, and go the other way round."""
    session.apply(ORDERED)
    session.wait(60)
    path = "/apis/apps/v1/namespaces/default/statefulsets/db"
    patch = {"content-type": "application/merge-patch+json"}
    answer = session.request("PATCH", path, {"spec": {"replicas": 1}}, headers=patch)
    assert answer.status == 200
    session.wait(40)


def autoscaler(session: Session) -> None:
    """An autoscaler where nothing measures."""
    session.apply(AUTOSCALER)
    _create(session)
    session.wait(40)


def namespace(session: Session) -> None:
    """A namespace that is deleted and held by a finalizer of one of its objects."""
    session.apply(SHOP)
    session.host.set_speed("run", 1.0)  # it is tried again for ever, so that it never settles
    session.request("DELETE", "/api/v1/namespaces/shop")
    session.wait(20)


def rollout(session: Session) -> None:
    """A Deployment gets an image that nobody has: the old pods stay."""
    _create(session)
    session.wait(20)
    _change(session, template=_template("ngnix"))
    session.wait(20)


def surge(session: Session) -> None:
    """Six pods get another image, some at a time; then the old one again."""
    _create(session, replicas=6)
    session.wait(12)
    for image in ("httpd", "nginx"):
        _change(session, template=_template(image))
        session.wait(12)


def recreate(session: Session) -> None:
    """All old pods end before the new ones start; then an image that nobody has, too late, and
    a pause."""
    _create(session, strategy={"type": "Recreate"})
    session.wait(20)
    _change(session, template=_template("httpd"))
    session.wait(20)
    _change(session, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    _change(session, template=_template("ngnix"), progressDeadlineSeconds=5)
    session.wait(20)
    _change(session, paused=True)
    session.wait(5)


STORIES = {
    "full": full, "breakpoint": breakpoint_, "scheduling": scheduling, "refused": refused,
    "hidden": hidden, "preemption": preemption,
    "crash": crash, "image": image, "pending": pending, "jobs": jobs, "autoscaler": autoscaler,
    "namespace": namespace, "ordered": ordered,
    "rollout": rollout, "surge": surge, "recreate": recreate,
}  # fmt: skip


def _taint(session: Session) -> None:
    patch = {"content-type": "application/merge-patch+json"}
    answer = session.request("PATCH", "/api/v1/nodes/node-3", TAINT, headers=patch)
    assert answer.status == 200


def _big(session: Session, name: str, klass: str, **spec: Any) -> None:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "3"}}}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "priorityClassName": klass, **spec},
    }
    assert session.request("POST", "/api/v1/namespaces/default/pods", body).status == 201


def _template(image: str) -> Any:
    return {"spec": {"containers": [{"name": "nginx", "image": image}]}}


def _change(session: Session, **spec: Any) -> None:
    """Patches the Deployment as kubectl does."""
    patch = {"content-type": "application/strategic-merge-patch+json"}
    answer = session.request("PATCH", f"{DEPLOYMENTS}/nginx", {"spec": spec}, headers=patch)
    assert answer.status == 200


def _create(session: Session, user: str = "kubernetes-admin", **spec: Any) -> Any:
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
            **spec,
        },
    }
    kubectl = {"user-agent": "kubectl/v1.33.1"}
    return session.request("POST", DEPLOYMENTS, deployment, user=user, headers=kubectl)


def _pod(
    name: str,
    *,
    image: str = "busybox",
    claim: str = "",
    annotations: dict[str, str] | None = None,
    resources: Any = None,
) -> str:
    container = {"name": name, "image": image, "resources": resources or {}}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"containers": [container], "volumes": volumes},
        }
    )


def _job(name: str, seconds: str, *, code: str = "0") -> str:
    base = "simulation.lifecycle"
    simulated = {f"{base}/run-seconds": seconds, f"{base}/exit-code": code}
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "backoffLimit": 1,
                "template": {
                    "metadata": {"annotations": simulated},
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": name, "image": "busybox"}],
                    },
                },
            },
        }
    )
