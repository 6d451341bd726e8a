"""What lies on a node's own disk, as a pod finds it that mounts / of its node."""

from __future__ import annotations

from collections.abc import Mapping

from controllers_app.cri.dns import NODE_SERVER
from controllers_app.shell import resolver
from controllers_app.shell.filesystem import File, Files, Folder, Link, tree
from controllers_app.shell.tools import DEBIAN, Tool

_FOLDERS = tuple(
    """
    /bin /boot /dev /etc/cni/net.d /etc/containerd /etc/kubernetes/manifests /home /lib /mnt
    /opt/cni/bin /proc /root /run /sbin /srv /sys /tmp /usr/bin /usr/local/bin /usr/sbin
    /var/lib/containerd /var/lib/kubelet/pods /var/lib/kubelet/pki /var/log/containers /var/log/pods
    """.split()
)
_CONFIG = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
cgroupDriver: systemd
clusterDNS:
- {dns}
clusterDomain: cluster.local
staticPodPath: /etc/kubernetes/manifests
"""


def laid_out(node: str, address: str, commands: Mapping[str, Tool], now: int, dns: str) -> Folder:
    """The node's root."""
    root = tree(
        {
            "/etc/hostname": f"{node}\n",
            "/etc/hosts": f"127.0.0.1 localhost\n{address} {node}\n",
            "/etc/os-release": 'PRETTY_NAME="Simulated Linux"\nNAME="Simulated Linux"\nID=linux\n',
            resolver.PATH: f"nameserver {NODE_SERVER}\n",
            "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
            "/etc/containerd/config.toml": "version = 3\n",
            "/etc/cni/net.d/10-simulated.conflist": '{"cniVersion": "1.0.0", "plugins": []}\n',
            "/var/lib/kubelet/config.yaml": _CONFIG.format(dns=dns),
        },
        _FOLDERS,
        now,
    )
    files = Files(root)
    for tool in commands.values():
        if tool.name.isalnum() or "-" in tool.name:
            files.put(f"{tool.folder}/{tool.name}", File(b"\x7fELF", 0o755, now), now)
    files.put("/var/run", Link("/run"), now)
    return root


TOOLS = DEBIAN  # whose commands there are
