"""The configuration files that kubeadm keeps in config maps. Plain texts, filled in by version.

Models kubernetes cmd/kubeadm/app/apis/kubeadm/{v1beta3,v1beta4}/types.go,
cmd/kubeadm/app/componentconfigs/{kubelet,kubeproxy}.go and
cmd/kubeadm/app/phases/addons/dns/manifests.go.
"""

from __future__ import annotations

from apiserver_app.machinery.releases import Release
from controllers_app.cri.environment import DOMAIN

COREFILE = f"""\
.:53 {{
    errors
    health {{
       lameduck 5s
    }}
    ready
    kubernetes {DOMAIN} in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :9153
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success {DOMAIN}
       disable denial {DOMAIN}
    }}
    loop
    reload
    loadbalance
}}
"""

PROXY_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: {server}
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"""

PROXY = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: {pods}
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
kind: KubeProxyConfiguration
metricsBindAddress: ""
mode: ""
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: "" """.rstrip()

KUBELET = f"""\
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- {{dns}}
clusterDomain: {DOMAIN}
cpuManagerReconcilePeriod: 0s
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMinimumGCAge: 0s
kind: KubeletConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {{}}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
"""

_CLUSTER = """\
{server}apiVersion: kubeadm.k8s.io/{api}
{validity}certificatesDir: /etc/kubernetes/pki
clusterName: kubernetes
controllerManager: {{}}
dns: {{}}
{algorithm}etcd:
  local:
    dataDir: /var/lib/etcd
imageRepository: {registry}
kind: ClusterConfiguration
kubernetesVersion: v{version}
networking:
  dnsDomain: {domain}
  podSubnet: {pods}
  serviceSubnet: {services}
{proxy}scheduler: {{}}
"""
_SERVER_BEFORE = """\
apiServer:
  extraArgs:
    authorization-mode: Node,RBAC
  timeoutForControlPlane: 4m0s
"""


def registry(version: Release) -> str:
    """Where the images of a version come from."""
    return "registry.k8s.io" if version.has("RegistryK8sIo") else "k8s.gcr.io"


def cluster(version: Release, services: str, pods: str) -> str:
    """The ClusterConfiguration in kubeadm-config; `services` and `pods` are the ranges of their
    addresses."""
    newer = version.has("KubeadmConfigV1beta4")
    return _CLUSTER.format(
        server="apiServer: {}\n" if newer else _SERVER_BEFORE,
        api="v1beta4" if newer else "v1beta3",
        validity="caCertificateValidityPeriod: 87600h0m0s\ncertificateValidityPeriod: 8760h0m0s\n"
        if newer
        else "",
        algorithm="encryptionAlgorithm: RSA-2048\n" if newer else "",
        registry=registry(version),
        version=version.patched,
        domain=DOMAIN,
        pods=pods,
        services=services,
        proxy="proxy: {}\n" if newer else "",
    )
