"""What `kubeadm init` and whoever ran it leave in a cluster, as its inputs ask for it."""

from __future__ import annotations

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds.kinds import Resources
from controllers_app.cri import runtimes
from lifecycle.cluster.clients import Clients
from lifecycle.cluster.inputs import Inputs, pod_range
from lifecycle.kubeadm import phases
from lifecycle.kubeadm.objects import Item


def kubeadm(inputs: Inputs, context: ClusterContext, clients: Clients) -> phases.Init:
    """The phases that run once the API server is ready."""
    kubelet = inputs.options.get("kubelet", {})
    runtime = runtimes.KINDS[kubelet.get("container_runtime", runtimes.CONTAINERD.name)]
    return phases.Init(
        context.kernel,
        lambda user, groups: clients.client(user, phases.AGENT, groups),
        version=context.version,
        ca_pem=inputs.ca_pem,
        node=inputs.machine(1).name,
        address=context.addresses.advertised,
        key=inputs.service_account_key,
        net=context.addresses.net,
        pods=pod_range(inputs.nodes),
        more=_more(inputs, context.resources),
        taint=inputs.options.get("taint", False),
        socket=runtime.socket,
    )


def _more(inputs: Inputs, resources: Resources) -> list[Item]:
    """The objects beside kubeadm's, as far as this version serves their kinds."""
    found: list[Item] = []
    for obj in inputs.options.get("objects", ()):
        group, _, version = obj["apiVersion"].rpartition("/")
        info = resources.by_gvk(group, version, obj["kind"])
        if info is not None:
            found.append((info.key, meta.namespace_of(obj), obj))
    return found
