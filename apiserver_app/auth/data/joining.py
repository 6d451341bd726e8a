"""What lets nodes join with a bootstrap token: cluster-info for everybody, and their roles.

Models kubernetes cmd/kubeadm/app/phases/bootstraptoken/{clusterinfo/clusterinfo.go,
node/tlsbootstrap.go}.
"""

from __future__ import annotations

import base64

import yaml

TOKEN_GROUP = "Group system:bootstrappers:kubeadm:default-node-token"
PUBLIC, INFO = "kube-public", "cluster-info"
INFO_ROLE, GET_NODES = "kubeadm:bootstrap-signer-clusterinfo", "kubeadm:get-nodes"
INFO_RULES = ("get | core | configmaps | cluster-info",)
NODE_RULES = ("get | core | nodes",)
ANYBODY = "User system:anonymous"

_SIGNING = "system:certificates.k8s.io:certificatesigningrequests"
# ClusterRoleBinding -> (ClusterRole, subject)
BINDINGS = {
    "kubeadm:kubelet-bootstrap": ("system:node-bootstrapper", TOKEN_GROUP),
    "kubeadm:node-autoapprove-bootstrap": (f"{_SIGNING}:nodeclient", TOKEN_GROUP),
    "kubeadm:node-autoapprove-certificate-rotation": (
        f"{_SIGNING}:selfnodeclient",
        "Group system:nodes",
    ),
    GET_NODES: (GET_NODES, TOKEN_GROUP),
}


def kubeconfig(server: str, ca_pem: str) -> str:
    """Returns the kubeconfig in cluster-info: the server and its CA, without a user."""
    cluster = {
        "certificate-authority-data": base64.b64encode(ca_pem.encode()).decode(),
        "server": server,
    }
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "clusters": [{"cluster": cluster, "name": ""}],
            "contexts": None,
            "current-context": "",
            "kind": "Config",
            "preferences": {},
            "users": None,
        }
    )
