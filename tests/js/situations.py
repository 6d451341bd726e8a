"""Situations of a cluster in virtual time: what the program kubectl prints of an object at a
revision, and what the page says of it there.

kubectl asks by a port on loopback, and no time passes in the cluster until it has printed. Of its
row the name and the age are left out; `*` stands for what depends on the moment.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from lifecycle.hosting.scripted import Session, default_inputs
from tests import builders
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.js.recorded import AUTOSCALER, CLAIM, SHOP

CRASHES = {"simulation.lifecycle/crash": "true"}
TAKES = {"simulation.lifecycle/memory-bytes": "100000000"}
RUNS = {"simulation.lifecycle/run-seconds": "3"}
OF_CONTAINER = {"env", "readinessProbe", "resources"}
LOOKS_MAX = 400  # four in a second
KEY = {"name": "none", "key": "a"}
MERGE = {"content-type": "application/merge-patch+json"}
PATHS = {
    "pods": "/api/v1/namespaces/default/pods",
    "persistentvolumeclaims": "/api/v1/namespaces/default/persistentvolumeclaims",
    "namespaces": "/api/v1/namespaces",
    "nodes": "/api/v1/nodes",
    "deployments.apps": "/apis/apps/v1/namespaces/default/deployments",
    "statefulsets.apps": "/apis/apps/v1/namespaces/default/statefulsets",
    "daemonsets.apps": "/apis/apps/v1/namespaces/default/daemonsets",
    "jobs.batch": "/apis/batch/v1/namespaces/default/jobs",
    "horizontalpodautoscalers.autoscaling":
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
}  # fmt: skip

# the situation: the object, what kubectl prints of it, what the page says
SITUATIONS = {
    "a pod that starts": (
        "pods/crash", "0/1 ContainerCreating 0",
        "crash is starting",
    ),
    "an image that was not found": (
        "pods/typo", "0/1 ErrImagePull 0",
        "0 of 1 runs: image ngnix cannot be pulled (access denied)",
    ),
    "an image that is tried again": (
        "pods/typo", "0/1 ImagePullBackOff 0",
        "0 of 1 runs: image ngnix cannot be pulled (access denied)",
    ),
    "a container that runs": (
        "pods/crash", "1/1 Running 0",
        "1 of 1 container of crash is ready",
    ),
    "a container that exited": (
        "pods/crash", "0/1 Error 0",
        "0 of 1 runs: c has exited 1 time, code 1",
    ),
    "a container that was started again": (
        "pods/crash", "1/1 Running 1 (* ago)",
        "1 of 1 runs, started again 1 time",
    ),
    "a container that exits again and again": (
        "pods/crash", "0/1 CrashLoopBackOff 2 (* ago)",
        "0 of 1 runs: c has exited 3 times, code 1; next try in * s",
    ),
    "a config map that is missing": (
        "pods/config", "0/1 CreateContainerConfigError 0",
        '0 of 1 runs: CreateContainerConfigError, configmap "none" not found',
    ),
    "a pod that is not ready": (
        "pods/unready", "0/1 Running 0",
        "unready runs and is not ready",
    ),
    "a pod that has failed": (
        "pods/once", "0/1 Error 0",
        "c has failed with code 3",
    ),
    "a container that took too much memory": (
        "pods/greedy", "0/1 OOMKilled 0",
        "0 of 1 runs: c has exited 1 time, code 137 (OOMKilled)",
    ),
    "an init container without an image": (
        "pods/init", "0/1 Init:ImagePullBackOff 0",
        "0 of 1 runs: image ngnix cannot be pulled (access denied)",
    ),
    "more processors than a node has": (
        "pods/cpu", "0/1 Pending 0",
        "Pending: no node has 64 CPU free; the largest has 4",
    ),
    "more memory than a node has": (
        "pods/memory", "0/1 Pending 0",
        "Pending: no node has 512 GiB of memory free; the largest has 7.9 GiB",
    ),
    "a label that no node has": (
        "pods/picky", "0/1 Pending 0",
        "Pending: 3 node(s) didn't match Pod's node affinity/selector",
    ),
    "a taint, and too little room elsewhere": (
        "pods/tight", "0/1 Pending 0",
        "Pending: 1 node(s) had untolerated taint {dedicated: gpu}, 2 Insufficient cpu",
    ),
    "a pod for which others leave": (
        "pods/urgent", "0/1 Pending 0",
        "Pending: room is being made on node-1",
    ),
    "a pod that is preempted": (
        "pods/small", "1/1 Terminating 0",
        "small has to leave: a pod of higher priority needs its place",
    ),
    "a scheduling gate": (
        "pods/gated", "0/1 SchedulingGated 0",
        "Pending: a scheduling gate holds it",
    ),
    "a claim that is not bound": (
        "pods/keeps", "0/1 Pending 0",
        "Pending: its claim has no volume",
    ),
    "a claim without a class": (
        "persistentvolumeclaims/data", "Pending     <unset>",
        "Pending: it names no class, and no volume fits",
    ),
    "a claim of a class that is missing": (
        "persistentvolumeclaims/other", "Pending    gold <unset>",
        "Pending: there is no class gold",
    ),
    "a Deployment that was just made": (
        "deployments.apps/web", "0/3 3 0",
        "0 of 3 ready",
    ),
    "a Deployment as wanted": (
        "deployments.apps/web", "3/3 3 3",
        "3 of 3 ready",
    ),
    "a DaemonSet as wanted": (
        "daemonsets.apps/agent", "3 3 3 3 3 <none>",
        "3 of 3 ready",
    ),
    "a StatefulSet whose first pod has no image": (
        "statefulsets.apps/db", "0/2",
        "0 of 2 ready: image ngnix cannot be pulled (access denied)",
    ),
    "a Deployment beyond the quota": (
        "deployments.apps/many", "2/5 2 2",
        '2 of 5 ready: pods "many-*" is forbidden: exceeded quota: few, requested: pods=1, *',
    ),
    "an autoscaler without metrics": (
        "horizontalpodautoscalers.autoscaling/web", "Deployment/web cpu: <unknown>/50% 1 5 3",
        "Not scaling: no metrics API",
    ),
    "a Deployment of none": (
        "deployments.apps/many", "0/0 0 0",
        "0 of 0 ready",
    ),
    "a rollout that begins": (
        "deployments.apps/web", "3/3 1 3",
        "0 of 3 new ones ready, 3 old",
    ),
    "a rollout that is stuck": (
        "deployments.apps/web", "3/3 1 3",
        "0 of 3 new ones ready, 3 old: image ngnix cannot be pulled (access denied)",
    ),
    "a Job that runs": (
        "jobs.batch/pi", "Running 0/1 *s",
        "0 of 1 finished",
    ),
    "a Job that has finished": (
        "jobs.batch/pi", "Complete 1/1 *s",
        "Job pi has finished: 1 of 1",
    ),
    "a Job that has failed": (
        "jobs.batch/broken", "Failed 0/1 *s",
        "Job broken has failed 2 times: Job has reached the specified backoff limit",
    ),
    "a Job that is suspended": (
        "jobs.batch/later", "Suspended 0/1 ",
        "Job later is suspended",
    ),
    "a node as wanted": (
        "nodes/node-1", "Ready <none> v*",
        "node-1 is ready",
    ),
    "a pod that ends": (
        "pods/kept", "1/1 Terminating 0",
        "kept is being deleted, and held by example.com/keep",
    ),
    "a pod that a finalizer holds": (
        "pods/kept", "0/1 Completed 0",
        "kept is being deleted, and held by example.com/keep",
    ),
    "a namespace that was just deleted": (
        "namespaces/shop", "Terminating",
        "shop is being deleted: 0 of 3 kinds gone",
    ),
    "a namespace that a finalizer holds": (
        "namespaces/shop", "Terminating",
        "shop is being deleted: 2 of 3 kinds gone, example.com/keep holds the rest",
    ),
}  # fmt: skip


@dataclass
class Stage:
    """A cluster, the program that looks at it, and what was seen."""

    session: Session
    kubectl: Kubectl
    seen: list[dict[str, Any]] = field(default_factory=list)

    def see(self, *situations: str) -> None:
        """Wait until kubectl prints what stands in the table, each after the other."""
        for situation in situations:
            self._see(situation)

    def _see(self, situation: str) -> None:
        what, wanted, _ = SITUATIONS[situation]
        resource, name = what.split("/")
        rev, row = "", ""
        for _ in range(LOOKS_MAX):
            if rev != (rev := self._revision(resource, name)):
                row = printed(self.kubectl("get", resource, name))
                if fnmatchcase(row, wanted):
                    break
            self.session.wait(0.25)
        else:
            raise AssertionError(f"{situation}: kubectl prints {row!r}, never {wanted!r}")
        assert self._revision(resource, name) == rev
        namespace = "default" if "/namespaces/" in PATHS[resource] else ""
        self.seen.append({
            "situation": situation, "key": f"{resource}/{namespace}/{name}",
            "rev": rev, "seq": self.session.cluster.recorder.seq,
        })  # fmt: skip

    def _revision(self, resource: str, name: str) -> str:
        answer = self.session.request("GET", f"{PATHS[resource]}/{name}")
        return str(answer.json()["metadata"]["resourceVersion"])

    def make(self, *manifests: dict[str, Any]) -> None:
        answers = self.session.apply("\n---\n".join(json.dumps(manifest) for manifest in manifests))
        self.session.settle()
        assert [answer.status for answer in answers] == [201] * len(manifests)

    def patch(self, resource: str, name: str, change: Any) -> None:
        path = f"{PATHS[resource]}/{name}"
        answer = self.session.request("PATCH", path, change, headers=MERGE)
        assert answer.status == 200, answer.text


@contextlib.contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """A cluster that kubectl reaches until it is left."""
    session = Session(default_inputs(seed=7))
    session.host.set_speed("run", 1.0)  # time passes when it is waited for, and only then
    with http.server.HTTPServer(("127.0.0.1", 0), door_to(session)) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "stage",
            "clusters": [{"name": "stage", "cluster": {"server": address}}],
            "contexts": [{"name": "stage", "context": {"cluster": "stage"}}],
        }  # fmt: skip
        (folder / "kubeconfig").write_text(json.dumps(config))
        threading.Thread(target=server.serve_forever).start()
        try:
            yield Stage(session, Kubectl(kubectls.newest(), folder, folder))
        finally:
            server.shutdown()


def door_to(session: Session) -> type[http.server.BaseHTTPRequestHandler]:
    """What is asked there is asked of the cluster; whoever asks waits, and nobody else works."""

    class Door(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = session.request("GET", self.path, headers=headers)
            self.send_response_only(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.text)

    return Door


def printed(table: str) -> str:
    """The row that kubectl prints of an object, without name and age."""
    head, row = table.splitlines()
    columns = [(each.start(), each[0].strip()) for each in re.finditer(r"\S+( \S+)* *", head)]
    ends = [start for start, _ in columns[1:]] + [None]
    cells = {name: row[at:end].strip() for (at, name), end in zip(columns, ends, strict=True)}
    return " ".join(cell for name, cell in cells.items() if name not in ("NAME", "AGE"))


def pods_that_fail(stage: Stage) -> None:
    stage.make(
        pod("crash", CRASHES), pod("typo", image="ngnix"),
        pod("config", env=[{"name": "A", "valueFrom": {"configMapKeyRef": KEY}}]),
        pod("unready", readinessProbe={"tcpSocket": {"port": 1}}),
        pod("once", RUNS | {"simulation.lifecycle/exit-code": "3"}, restartPolicy="Never"),
        pod("init", initContainers=[{"name": "first", "image": "ngnix"}]),
    )  # fmt: skip
    stage.see(
        "a pod that starts", "an image that was not found", "an image that is tried again",
        "a container that runs", "a container that exited", "a container that was started again",
        "a container that exits again and again", "a config map that is missing",
        "a pod that is not ready", "a pod that has failed", "an init container without an image",
    )  # fmt: skip
    stage.make(pod("greedy", TAKES, resources={"limits": {"memory": "64Mi"}}))
    stage.see("a container that took too much memory")


def pods_without_a_node(stage: Stage) -> None:
    stage.make(
        pod("cpu", resources={"requests": {"cpu": "64"}}),
        pod("memory", resources={"requests": {"memory": "512Gi"}}),
        pod("picky", nodeSelector={"disk": "ssd"}),
        pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
        yaml.safe_load(CLAIM), pod("keeps", volumes=[
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]),
        claim("other", "gold"),
    )  # fmt: skip
    stage.see(
        "more processors than a node has", "more memory than a node has",
        "a label that no node has", "a scheduling gate", "a claim that is not bound",
        "a claim without a class", "a claim of a class that is missing",
    )  # fmt: skip
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    stage.patch("nodes", "node-3", {"spec": {"taints": [taint]}})
    three = {"requests": {"cpu": "3"}}
    stage.make(*[pod(f"on-{n}", nodeName=n, resources=three) for n in ("node-1", "node-2")])
    stage.make(pod("tight", resources=three))
    stage.see("a taint, and too little room elsewhere")


def workloads(stage: Stage) -> None:
    stage.make(
        workload("Deployment", "web", 3), workload("DaemonSet", "agent"),
        workload("StatefulSet", "db", 2, image="ngnix", serviceName="db"),
        yaml.safe_load(AUTOSCALER.replace("nginx", "web")),
    )  # fmt: skip
    stage.see("a Deployment that was just made")
    stage.session.wait(5)  # no image for db, which the table does not tell
    stage.see(
        "a Deployment as wanted", "a DaemonSet as wanted",
        "a StatefulSet whose first pod has no image", "an autoscaler without metrics",
    )  # fmt: skip
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    stage.make(quota | {"spec": {"hard": {"pods": "9"}}})
    stage.make(workload("Deployment", "many", 5))
    stage.see("a Deployment beyond the quota")
    stage.patch("deployments.apps", "many", {"spec": {"replicas": 0}})
    stage.see("a Deployment of none")
    image = {"containers": [{"name": "c", "image": "ngnix"}]}
    stage.patch("deployments.apps", "web", {"spec": {"template": {"spec": image}}})
    stage.see("a rollout that begins")
    stage.session.wait(5)  # no image yet, which the table does not tell
    stage.see("a rollout that is stuck")


def what_ends(stage: Stage) -> None:
    stage.make(
        job("pi", RUNS), job("broken", RUNS | {"simulation.lifecycle/exit-code": "1"}),
        job("later", RUNS, suspend=True),
        pod("kept") | {"metadata": {"name": "kept", "finalizers": ["example.com/keep"]}},
        *yaml.safe_load_all(SHOP),
    )  # fmt: skip
    stage.see(
        "a Job that runs", "a Job that has finished", "a Job that has failed",
        "a Job that is suspended", "a node as wanted",
    )  # fmt: skip
    for path in (f"{PATHS['pods']}/kept", f"{PATHS['namespaces']}/shop"):
        stage.session.request("DELETE", path)
    stage.see("a pod that ends", "a namespace that was just deleted")
    stage.session.wait(40)  # the namespace is looked at again
    stage.see("a pod that a finalizer holds", "a namespace that a finalizer holds")


def preemption(stage: Stage) -> None:
    for name, value in (("low", -100), ("high", 1000)):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        body = kind | {"metadata": {"name": name}, "value": value}
        answer = stage.session.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
        assert answer.status == 201
    room = {"requests": {"cpu": "3"}}
    places = {"small": "node-1", "other": "node-2", "third": "node-3"}
    stage.make(*[
        pod(name, priorityClassName="low" if name == "small" else "high", nodeName=node,
            resources=room)
        for name, node in places.items()
    ])  # fmt: skip
    stage.session.wait(5)  # until small runs, or there is nobody to leave
    stage.make(pod("urgent", priorityClassName="high", resources=room))
    stage.see("a pod for which others leave", "a pod that is preempted")


STORIES = (pods_that_fail, pods_without_a_node, workloads, what_ends, preemption)


def pod(name: str, annotations: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A pod of one container; what a container has goes to it."""
    container = {"name": "c", "image": more.pop("image", "nginx")}
    for key in more.keys() & OF_CONTAINER:
        container[key] = more.pop(key)
    return builders.pod(name, annotations=annotations or {}, containers=[container], **more)


def workload(kind: str, name: str, replicas: int = 0, *, image: str = "nginx", **more: Any) -> Any:
    count: dict[str, Any] = {"replicas": replicas} if replicas else {}
    return builders.deployment(name, image, **count, **more) | {"kind": kind}


def job(name: str, annotations: dict[str, str], **more: Any) -> dict[str, Any]:
    template = pod("", annotations, restartPolicy="Never")
    return builders.job(name, backoffLimit=1, template=template, **more)


def claim(name: str, storage_class: str) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": spec}  # fmt: skip
