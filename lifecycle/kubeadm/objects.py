"""The objects of kubeadm's phases, complete but for what the API server adds. Pure.

Models kubernetes cmd/kubeadm/app/phases/{uploadconfig,kubelet,kubeconfig}/*.go and
cmd/kubeadm/app/phases/addons/{dns,proxy}/manifests.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver_app.apis.servicenet import ServiceNet
from apiserver_app.auth.bootstrap import SECURE_PORT
from apiserver_app.auth.data import cast
from apiserver_app.auth.data.notation import rules
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from lifecycle.kubeadm import texts

Item = tuple[str, str, Object]  # resource key, namespace, object

SYSTEM = "kube-system"
CONFIG = "kubeadm-config"
ADMINS = "kubeadm:cluster-admins"
_TOKENS = "Group system:bootstrappers:kubeadm:default-node-token"
_NODES = "Group system:nodes"
_RBAC = "rbac.authorization.k8s.io"
_DNS = {"k8s-app": "kube-dns"}
_PROXY = {"k8s-app": "kube-proxy"}
# the coredns of a version; others have the last before them
_COREDNS = {
    22: "v1.8.4", 23: "v1.8.6", 25: "v1.9.3", 27: "v1.10.1", 29: "v1.11.1", 31: "v1.11.3",
    33: "v1.12.0", 34: "v1.12.1", 35: "v1.13.1",
}  # fmt: skip


def admins() -> Item:
    """Who holds admin.conf; bound by who holds super-admin.conf."""
    return _cluster_binding(ADMINS, "cluster-admin", [f"Group {ADMINS}"])


def configuration(version: Release, net: ServiceNet, pods: str) -> list[Item]:
    """What the phases upload-config leave: how the cluster and its kubelets are configured, and
    who may read it. The cluster's own configuration is the last of them."""
    name = "kubelet-config"
    if not version.has("RoleMasterLabelDropped"):
        name += f"-{version}"
    data = {"ClusterConfiguration": texts.cluster(version, str(net.cidr), pods)}
    return [
        _config_map(name, {"kubelet": texts.KUBELET.replace("{dns}", net.dns)}),
        *_readers(f"kubeadm:{name}", name, [_NODES, _TOKENS]),
        *_readers("kubeadm:nodes-kubeadm-config", CONFIG, [_NODES, _TOKENS]),
        _config_map(CONFIG, data),
    ]


def classroom_quota() -> Item:
    """What kubeadm does not do: nobody in the class can use up what all share."""
    hard = {
        "pods": "50",
        "services": "50",
        "configmaps": "200",
        "secrets": "200",
        "persistentvolumeclaims": "50",
        "replicationcontrollers": "50",
    }
    made = {**_object("v1", "ResourceQuota", "classroom"), "spec": {"hard": hard}}
    return "resourcequotas", cast.STUDENT_NAMESPACE, made


def dns(version: Release, net: ServiceNet) -> list[Item]:
    """The addon coredns."""
    role = _object(f"{_RBAC}/v1", "ClusterRole", "system:coredns")
    lines = (
        "list watch | core | endpoints services pods namespaces",
        "list watch | discovery.k8s.io | endpointslices",
    )
    return [
        _config_map("coredns", {"Corefile": texts.COREFILE}),
        (f"clusterroles.{_RBAC}", "", {**role, "rules": rules(lines)}),
        _cluster_binding("system:coredns", "system:coredns", ["ServiceAccount coredns"]),
        _account("coredns"),
        ("deployments.apps", SYSTEM, _coredns(version)),
        ("services", SYSTEM, _dns_service(net.dns)),
    ]


def proxy(version: Release, pods: str, address: str) -> list[Item]:
    """The addon kube-proxy; it asks the API server at `address`."""
    server = f"https://{address}:{SECURE_PORT}"
    data = {
        "config.conf": texts.PROXY.replace("{pods}", pods),
        "kubeconfig.conf": texts.PROXY_KUBECONFIG.format(server=server),
    }
    return [
        _account("kube-proxy"),
        _cluster_binding(
            "kubeadm:node-proxier", "system:node-proxier", ["ServiceAccount kube-proxy"]
        ),
        *_readers("kube-proxy", "kube-proxy", [_TOKENS]),
        _config_map("kube-proxy", data, {"app": "kube-proxy"}),
        ("daemonsets.apps", SYSTEM, _kube_proxy(version)),
    ]


# -- inside ---------------------------------------------------------------------------------------


def _object(api: str, kind: str, name: str, labels: Mapping[str, str] | None = None) -> Object:
    metadata: Object = {"name": name}
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def _config_map(
    name: str, data: Mapping[str, str], labels: Mapping[str, str] | None = None
) -> Item:
    return "configmaps", SYSTEM, {**_object("v1", "ConfigMap", name, labels), "data": dict(data)}


def _account(name: str) -> Item:
    return "serviceaccounts", SYSTEM, _object("v1", "ServiceAccount", name)


def _readers(name: str, config_map: str, subjects: Sequence[str]) -> list[Item]:
    """A role that reads one config map, and its binding."""
    role = _object(f"{_RBAC}/v1", "Role", name)
    role["rules"] = rules((f"get | core | configmaps | {config_map}",))
    binding = _object(f"{_RBAC}/v1", "RoleBinding", name)
    binding["roleRef"] = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    binding["subjects"] = [_subject(subject) for subject in subjects]
    return [(f"roles.{_RBAC}", SYSTEM, role), (f"rolebindings.{_RBAC}", SYSTEM, binding)]


def _cluster_binding(name: str, role: str, subjects: Sequence[str]) -> Item:
    binding = _object(f"{_RBAC}/v1", "ClusterRoleBinding", name)
    binding["roleRef"] = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    binding["subjects"] = [_subject(subject) for subject in subjects]
    return f"clusterrolebindings.{_RBAC}", "", binding


def _subject(text: str) -> Object:
    kind, _, name = text.partition(" ")
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, "namespace": SYSTEM}
    return {"kind": kind, "apiGroup": _RBAC, "name": name}


def _coredns(version: Release) -> Object:
    release = _COREDNS[max((coredn for coredn in _COREDNS if coredn <= version.minor), default=22)]
    roles = (
        ["control-plane"] if version.has("ControlPlaneRoleOnly") else ["master", "control-plane"]
    )
    ports = (
        ("dns", 53, "UDP"),
        ("dns-tcp", 53, "TCP"),
        ("metrics", 9153, "TCP"),
        ("liveness-probe", 8080, "TCP"),
        ("readiness-probe", 8181, "TCP"),
    )
    container: Object = {
        "name": "coredns",
        "image": f"{texts.registry(version)}/coredns/coredns:{release}",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
        "ports": [{"containerPort": p, "name": name, "protocol": kind} for name, p, kind in ports],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": "liveness-probe", "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        },
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"}
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    files = {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}
    same = {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]}
    apart = {"labelSelector": same, "topologyKey": "kubernetes.io/hostname"}
    spec: Object = {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "podAffinityTerm": apart}
                ]
            }
        },
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            *({"key": f"node-role.kubernetes.io/{role}", "effect": "NoSchedule"} for role in roles),
        ],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [container],
        "dnsPolicy": "Default",
        "volumes": [{"name": "config-volume", "configMap": files}],
    }
    return {
        **_object("apps/v1", "Deployment", "coredns", _DNS),
        "spec": {
            "replicas": 2,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": dict(_DNS)},
            "template": {"metadata": {"labels": dict(_DNS)}, "spec": spec},
        },
    }


def _dns_service(address: str) -> Object:
    labels = {**_DNS, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}
    service = _object("v1", "Service", "kube-dns", labels)
    service["metadata"]["annotations"] = {
        "prometheus.io/port": "9153",
        "prometheus.io/scrape": "true",
    }
    ports = (("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP"))
    service["spec"] = {
        "clusterIP": address,
        "ports": [
            {"name": name, "port": port, "protocol": protocol, "targetPort": port}
            for name, port, protocol in ports
        ],
        "selector": dict(_DNS),
    }
    return service


def _kube_proxy(version: Release) -> Object:
    host = {"xtables-lock": "/run/xtables.lock", "lib-modules": "/lib/modules"}
    container: Object = {
        "name": "kube-proxy",
        "image": f"{texts.registry(version)}/kube-proxy:v{version.patched}",
        "imagePullPolicy": "IfNotPresent",
        "command": [
            "/usr/local/bin/kube-proxy",
            "--config=/var/lib/kube-proxy/config.conf",
            "--hostname-override=$(NODE_NAME)",
        ],
        "securityContext": {"privileged": True},
        "volumeMounts": [
            {"mountPath": "/var/lib/kube-proxy", "name": "kube-proxy"},
            {"mountPath": host["xtables-lock"], "name": "xtables-lock"},
            {"mountPath": host["lib-modules"], "name": "lib-modules", "readOnly": True},
        ],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    }
    spec: Object = {
        "priorityClassName": "system-node-critical",
        "containers": [container],
        "hostNetwork": True,
        "serviceAccountName": "kube-proxy",
        "volumes": [
            {"name": "kube-proxy", "configMap": {"name": "kube-proxy"}},
            {
                "name": "xtables-lock",
                "hostPath": {"path": host["xtables-lock"], "type": "FileOrCreate"},
            },
            {"name": "lib-modules", "hostPath": {"path": host["lib-modules"]}},
        ],
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
    }
    return {
        **_object("apps/v1", "DaemonSet", "kube-proxy", _PROXY),
        "spec": {
            "selector": {"matchLabels": dict(_PROXY)},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": dict(_PROXY)}, "spec": spec},
        },
    }
