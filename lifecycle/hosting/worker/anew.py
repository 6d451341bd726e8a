"""Begins a cluster anew: what its origin was made from, run until its own pods run.

It is what a demo is in an empty data directory once it is ready, whatever has happened in its
origin since: no log has to be kept for it and nothing has to be repeated. It runs as fast as it
can; what comes from outside comes afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from msgspec import structs

from apiserver_app.etcd.backend import ClusterState
from apiserver_app.machinery import conditions
from apiserver_app.machinery.kernel import FOREVER, SECOND, UNBROKEN_MAX
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand
from lifecycle.cluster.composition import Cluster
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.kubeadm import objects

SLICE_SECONDS = 0.005
LOOK_RECORDS = 50  # between two looks at the pods
KEPT_RECORDS = 2000  # with one commit
SECONDS_MAX = 180  # of virtual time; whoever has flags by which no pod runs gets it as it is then
BOOTED = 0.5  # of the work, when the cluster is ready and its own pods are still to come


def state_of(cluster: Cluster, name: str) -> ClusterState:
    """What a cluster begins with that is made from the same, under another name."""
    seed = cluster.state.seed
    return structs.replace(
        cluster.inputs.state(),
        name=name,
        seed=seed,
        rand=Rand(seed).state,
        incarnation=-1,  # which counts starts from a state that is stored
    )


def run(host: ClusterHost, ask: Callable[[str], None]) -> Iterator[float]:
    """Until its own pods run; yields the part that is done. Roles that are to run later are asked
    for by `ask`."""
    cluster, kernel = host.cluster, host.kernel
    kernel.unbroken_max, kernel.reach = 0, (FOREVER, FOREVER)
    roles: list[str] = []
    asks = roles.append
    cluster.start(lambda role: asks(role))
    last, looked, kept = kernel.now + SECONDS_MAX * SECOND, 0, 0
    end = time.monotonic() + SLICE_SECONDS
    while kernel.now < last:
        if roles:
            role = roles.pop(0)
            host.input_now("role", [role, "start", {}])
            cluster.role(role, "start")
        elif not kernel.run_ready(1) and not kernel.fire_timer(FOREVER, jump=False):
            break
        if cluster.recorder.seq - looked >= LOOK_RECORDS:
            looked = cluster.recorder.seq
            if looked - kept >= KEPT_RECORDS:
                kept = looked
                _keep(host)
            if _done(cluster) >= 1.0:
                break
        if time.monotonic() >= end:
            yield _done(cluster)
            end = time.monotonic() + SLICE_SECONDS
    asks = ask
    kernel.unbroken_max = UNBROKEN_MAX
    host.clock.rebase()
    _keep(host)


def _keep(host: ClusterHost) -> None:
    """In the store; nobody listens yet."""
    host.commit()
    host.staged.clear()


def _done(cluster: Cluster) -> float:
    if not cluster.ready:
        return BOOTED * len(cluster.cache.list("nodes")) / (cluster.inputs.nodes + 1)
    if not cluster.inputs.options.get("kubeadm"):
        return 1.0
    if cluster.cache.get("configmaps", objects.SYSTEM, objects.CONFIG) is None:
        return BOOTED
    pods = cluster.cache.list("pods", objects.SYSTEM)
    ready = sum(conditions.is_true(pod.get("status"), "Ready") for pod in pods)
    if ready == len(pods) and _have_pods(cluster):
        return 1.0
    return BOOTED + (1.0 - BOOTED) * ready / (len(pods) + 1)


def _have_pods(cluster: Cluster) -> bool:
    """Whether what is to have pods has them."""
    listed = cluster.cache.list
    counts = [
        *(
            (deployment["spec"]["replicas"], _status(deployment, "readyReplicas"))
            for deployment in listed("deployments.apps", objects.SYSTEM)
        ),
        *(
            (_status(daemon_set, "desiredNumberScheduled"), _status(daemon_set, "numberReady"))
            for daemon_set in listed("daemonsets.apps", objects.SYSTEM)
        ),
    ]
    return all(ready == wanted > 0 for wanted, ready in counts)


def _status(obj: Object, name: str) -> int:
    return int(obj.get("status", {}).get(name, 0))
