"""A real cluster in memory in which the controllers run, and the scheduler if asked for: the tests
play the kubelets.

Everything goes through the API server's gates; nothing is mocked. `Lab` calls as an administrator
and moves virtual time.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from msgspec.structs import astuple

from apiserver_app.etcd.backend import MemoryBackend
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from lifecycle.cluster import composition
from lifecycle.cluster.inputs import Inputs
from tests import builders
from tests.apiserver_app.cluster import copied

STEPS_MAX = 100_000
LEASES = "leases.coordination.k8s.io"


START_SECONDS = 6  # for all that controllers make at first, at the rates of their clients


class Lab:
    """The cluster and the hands of the one who tests it."""

    def __init__(self, inputs: Inputs, backend: MemoryBackend, *, scheduler: bool = False) -> None:
        self.cluster = composition.Cluster(inputs, backend)
        self.kernel = self.cluster.kernel
        self._addresses = 0
        self.admin = self.cluster.clients.client("kubernetes-admin", "kubectl", ("system:masters",))
        runs = ("controllers", "scheduler") if scheduler else ("controllers",)
        self.cluster.start(lambda name: self.cluster.role(name, "start") if name in runs else None)
        self.run(START_SECONDS)

    # -- time -----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everything run that can run now."""
        self.kernel.run_ready(STEPS_MAX)
        assert not self.kernel.has_ready(), "does not settle"

    def run(self, seconds: float) -> None:
        """Let virtual time pass, with all that happens in it."""
        target = self.kernel.now + int(seconds * kernels.SECOND)
        self.settle()
        while self.kernel.fire_timer(target, jump=False):
            self.settle()
        self.kernel.advance(target)

    # -- calls ----------------------------------------------------------------------------------

    def call(self, coro: Coroutine[Any, Any, Any], seconds: float = 0.5) -> Any:
        """What the call gives or raises, after everything it caused within the time."""
        outcome: list[Any] = []

        async def go() -> None:
            try:
                outcome.append(await coro)
            except Exception as error:  # raised again below, in the test
                outcome.append(error)

        self.kernel.spawn("test", go())
        self.run(seconds)
        [result] = outcome
        if isinstance(result, Exception):
            raise result
        return result

    def create(self, resource: str, obj: Object, namespace: str = "default") -> Object:
        created: Object = self.call(self.admin.create(resource, namespace, obj))
        return created

    def get(self, resource: str, name: str, namespace: str = "default") -> Object:
        found = self.find(resource, name, namespace)
        assert found is not None, f"no {resource} {name}"
        return found

    def find(self, resource: str, name: str, namespace: str = "default") -> Object | None:
        return self.cluster.cache.get(resource, namespace, name)

    def all(self, resource: str, namespace: str = "default") -> list[Object]:
        """In the order of their names. A list, so that it stays as it was."""
        return list(self.cluster.cache.list(resource, namespace))

    def names(self, resource: str, namespace: str = "default") -> list[str]:
        return [meta.name_of(obj) for obj in self.all(resource, namespace)]

    def patch(
        self, resource: str, name: str, patch: Object, namespace: str = "default", **more: str
    ) -> Object:
        patched: Object = self.call(self.admin.patch(resource, namespace, name, patch, **more))
        return patched

    def delete(self, resource: str, name: str, namespace: str = "default", **options: Any) -> None:
        self.call(self.admin.delete(resource, namespace, name, options=options or None))

    # -- playing the kubelet --------------------------------------------------------------------

    def add_node(self, name: str, **more: Any) -> None:
        """A node whose kubelet has just said that it is ready."""
        self.create(
            "nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **more}}, ""
        )
        self.create(
            LEASES,
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": {"holderIdentity": name, "leaseDurationSeconds": 40},
            },
            "kube-node-lease",
        )
        self.beat(name)

    def beat(self, name: str, ready: bool = True) -> None:
        """What a kubelet says of itself every ten seconds."""
        now = self.kernel.now
        moment = meta.rfc3339(now)
        conditions = [
            {
                "type": kind,
                "status": "True" if (kind == "Ready") == ready else "False",
                "lastHeartbeatTime": moment,
                "lastTransitionTime": moment,
                "reason": "Kubelet",
            }
            for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ]
        if not ready:
            for condition in conditions[:3]:
                condition["status"] = "False"
        self.patch("nodes", name, {"status": {"conditions": conditions}}, "", subresource="status")
        renewal = {"spec": {"renewTime": meta.rfc3339_micro(now)}}
        self.patch(LEASES, name, renewal, "kube-node-lease")

    def start_pods(self, *names: str, namespace: str = "default", node: str = "node-1") -> None:
        """Bind and run these pods, or all that wait; each becomes ready."""
        for name in names or self.names("pods", namespace):
            pod = self.find("pods", name, namespace)
            if pod is None or meta.is_deleting(pod):  # gone by what an earlier one caused
                continue
            if (pod["status"].get("phase") or "Pending") != "Pending":
                continue
            if not pod["spec"].get("nodeName"):
                self.bind(name, node, namespace)
            self.set_pod(name, "Running", namespace=namespace)

    def bind(self, name: str, node: str, namespace: str = "default") -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self.call(
            self.admin.create("pods", namespace, binding, name=name, subresource="binding"), 0
        )

    def set_pod(
        self, name: str, phase: str, *, ready: bool | None = None, namespace: str = "default"
    ) -> None:
        """Say of a pod what its kubelet would."""
        ready = phase == "Running" if ready is None else ready
        status: Object = {
            "phase": phase,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if ready else "False",
                    "lastTransitionTime": meta.rfc3339(self.kernel.now),
                }
            ],
        }
        if phase == "Running":
            self._addresses += 1
            address = f"10.244.{self._addresses // 250}.{self._addresses % 250 + 1}"
            status |= {"podIP": address, "podIPs": [{"ip": address}]}
        self.patch("pods", name, {"status": status}, namespace, subresource="status")

    def finish_deletes(self, namespace: str = "default") -> None:
        """What a kubelet does last with a pod that is being deleted."""
        for pod in self.all("pods", namespace):
            if meta.is_deleting(pod):
                self.delete("pods", meta.name_of(pod), namespace, gracePeriodSeconds=0)

    # -- what was told --------------------------------------------------------------------------

    def events(self, kind: str = "", namespace: str = "default") -> list[tuple[str, str, int]]:
        """(reason, message, count), oldest first."""
        found = [
            event
            for event in self.stored("events", namespace)
            if not kind or event["involvedObject"]["kind"] == kind
        ]
        found.sort(key=lambda event: str(event["metadata"]["name"]).rpartition(".")[2])
        return [(event["reason"], event["message"], event["count"]) for event in found]

    def stored(self, resource: str, namespace: str) -> list[Object]:
        answer: Object = self.call(self.admin.list(resource, namespace), 0)
        return list(answer["items"])

    def records(self, kind: str) -> list[tuple[Any, ...]]:
        """The fields of all trace records of a kind."""
        return [
            astuple(record)[4:] for record in self.cluster.recorder.records if record.kind == kind
        ]

    def forget_records(self) -> None:
        while self.cluster.recorder.take(lambda revision: b"null") is not None:
            pass

    def done(self, component: str) -> list[tuple[str, str]]:
        """(result, said) of each reconcile of a controller."""
        spans: dict[int, str] = {}
        out = []
        for record in self.cluster.recorder.records:
            if record.kind == "work":
                spans[record.seq] = record.component
            elif record.kind == "done" and spans.get(record.span) == component:
                out.append((record.result, record.said))
        return out

    def requests(self, client: str, verb: str = "", resource: str = "") -> list[tuple[Any, ...]]:
        return [
            fields
            for fields in self.records("request")
            if fields[1] == client and fields[3] == verb and fields[5] == resource
        ]

    def assert_no_slips(self) -> None:
        """No reconcile ended by a programmer's error."""
        slips = [fields for fields in self.records("done") if fields[0] == "error"]
        assert slips == []


def labelled(app: str) -> dict[str, str]:
    return {"app": app}


def template(image: str = "nginx", **labels: str) -> Object:
    return {
        "metadata": {"labels": labels or labelled("web")},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }


def deployment(name: str = "web", replicas: int = 3, image: str = "nginx", **spec: Any) -> Object:
    return builders.deployment(name, image, container="web", **{"replicas": replicas, **spec})


def replica_set(name: str = "web", replicas: int = 3, **spec: Any) -> Object:
    return {**deployment(name, replicas, **spec), "kind": "ReplicaSet"}


def pod(name: str, **labels: str) -> Object:
    return builders.pod(name, container="web", labels=labels)


def snapshot(inputs: Inputs) -> MemoryBackend:
    """What a cluster has stored after its first start."""
    backend = MemoryBackend()
    cluster = Lab(inputs, backend).cluster
    state = cluster.state
    state.revision = cluster.store.revision
    state.now, state.steps, state.rand = (
        cluster.kernel.now,
        cluster.kernel.steps,
        cluster.rand.state,
    )
    backend.commit(state, list(cluster.store.pending), [], [])
    return backend


def restored(inputs: Inputs, backend: MemoryBackend) -> Lab:
    """A cluster that goes on from the snapshot, which stays as it is."""
    lab = Lab(inputs, copied(backend))
    lab.forget_records()
    return lab
