"""The static pods of a control plane as kubeadm writes them, on the first node.

They stand for the store, the server and the managers that run inside the simulation: who execs
into the etcd pod finds the cluster's own store there. The node has no taint and the pods request
nothing, so that lessons place pods as before; probes are left out.

Models kubernetes cmd/kubeadm/app/phases/{controlplane/manifests,etcd/local}.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app import flags
from apiserver_app.etcd.server import release_of
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.kubelet.pods.staticpods import Manifests
from lifecycle.cluster.rates import DEFAULT_RATES, Rates, rate_flags

NODE = "node-1"
_PKI = "/etc/kubernetes/pki"
_SIMULATED = (
    "-----BEGIN {0}-----\nc2ltdWxhdGVkOiB0aGVyZSBpcyBubyB3aXJlIHRvIGV0Y2Q=\n-----END {0}-----\n"
)


def manifests(
    version: Release,
    given: flags.Flags | None = None,
    *,
    pods: str,
    rates: Rates = DEFAULT_RATES,
    node: str = NODE,
    scheduler: Sequence[str] = (),
) -> Manifests:
    """What is on the first node's disk, for a version of Kubernetes such as 1.33; `given` is the
    command line of its API server, `pods` the range of their addresses, `rates` what the
    manager and the scheduler may send, `node` what the first node is called, `scheduler` the flags
    that were given to it."""
    given = given or flags.Flags()
    services, address = given.service_cluster_ip_range, given.advertise_address
    manifests = (
        _etcd(version, node, address),
        _pod("kube-apiserver", version, _apiserver(services, address), {"k8s-certs": _PKI}, {
            "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": f"{address}:6443",
        }),
        _pod("kube-controller-manager", version, (
            "--allocate-node-cidrs=true", "--bind-address=0.0.0.0",
            f"--cluster-cidr={pods}", "--cluster-name=kubernetes",
            "--controllers=*,bootstrapsigner,tokencleaner",
            *rate_flags(rates.manager, DEFAULT_RATES.manager),
            "--kubeconfig=/etc/kubernetes/controller-manager.conf", "--leader-elect=true",
            f"--root-ca-file={_PKI}/ca.crt", f"--service-cluster-ip-range={services}",
            "--use-service-account-credentials=true",
        ), {"k8s-certs": _PKI}),
        _pod("kube-scheduler", version, (
            "--bind-address=0.0.0.0", *rate_flags(rates.scheduler, DEFAULT_RATES.scheduler),
            "--kubeconfig=/etc/kubernetes/scheduler.conf", "--leader-elect=true", *scheduler,
        ), {}),
    )  # fmt: skip
    return Manifests(manifests, _files())


def _files() -> dict[str, str]:
    names = ("ca", "server", "peer", "healthcheck-client")
    out = {}
    for name in names:
        out[f"{_PKI}/etcd/{name}.crt"] = _SIMULATED.format("CERTIFICATE")
        out[f"{_PKI}/etcd/{name}.key"] = _SIMULATED.format("RSA PRIVATE KEY")
    return out


def _etcd(version: Release, node: str, address: str) -> Object:
    url = f"https://{address}:2379"
    pki = f"{_PKI}/etcd"
    flags = (
        f"--advertise-client-urls={url}",
        f"--cert-file={pki}/server.crt",
        "--client-cert-auth=true",
        "--data-dir=/var/lib/etcd",
        f"--initial-advertise-peer-urls=https://{address}:2380",
        f"--initial-cluster={node}=https://{address}:2380",
        f"--key-file={pki}/server.key",
        f"--listen-client-urls=https://127.0.0.1:2379,{url}",
        "--listen-metrics-urls=http://127.0.0.1:2381",
        f"--listen-peer-urls=https://{address}:2380",
        f"--name={node}",
        f"--trusted-ca-file={pki}/ca.crt",
    )
    notes = {"kubeadm.kubernetes.io/etcd.advertise-client-urls": url}
    pod = _pod("etcd", version, flags, {"etcd-certs": pki, "etcd-data": "/var/lib/etcd"}, notes)
    container = pod["spec"]["containers"][0]
    container["image"] = f"registry.k8s.io/etcd:{release_of(version)}-0"
    # so that etcdctl needs no flags in the pod; a real manifest leaves that to who runs it
    container["env"] = [
        {"name": "ETCDCTL_CACERT", "value": f"{pki}/ca.crt"},
        {"name": "ETCDCTL_CERT", "value": f"{pki}/server.crt"},
        {"name": "ETCDCTL_KEY", "value": f"{pki}/server.key"},
    ]
    return pod


def _apiserver(services: str, address: str) -> Sequence[str]:
    return (
        f"--advertise-address={address}",
        "--allow-privileged=true",
        "--authorization-mode=Node,RBAC",
        f"--client-ca-file={_PKI}/ca.crt",
        "--enable-admission-plugins=NodeRestriction",
        "--enable-bootstrap-token-auth=true",
        f"--etcd-cafile={_PKI}/etcd/ca.crt",
        "--etcd-servers=https://127.0.0.1:2379",
        "--secure-port=6443",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-cluster-ip-range={services}",
    )


def _pod(
    name: str,
    version: Release,
    flags: Sequence[str],
    volumes: dict[str, str],
    notes: dict[str, str] | None = None,
) -> Object:
    mounts = [{"name": volume, "mountPath": path} for volume, path in volumes.items()]
    metadata: Object = {
        "name": name,
        "namespace": "kube-system",
        "labels": {"component": name, "tier": "control-plane"},
    }
    if notes:
        metadata["annotations"] = notes
    container: Object = {
        "name": name,
        "image": f"registry.k8s.io/{name}:v{version.patched}",
        "imagePullPolicy": "IfNotPresent",
        "command": [name, *flags],
    }
    if mounts:
        container["volumeMounts"] = mounts
    return {
        "metadata": metadata,
        "spec": {
            "containers": [container],
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [
                {"name": volume, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
                for volume, path in volumes.items()
            ],
        },
    }
