"""What becomes of a name that a pod looks up, step by step. The resolver that containers use is
asked as a pod of a namespace would; nothing comes of it in the cluster.
"""

from __future__ import annotations

from typing import Any

import msgspec

from controllers_app.cri import dns
from controllers_app.shell import resolver
from lifecycle.cluster.composition import Cluster

NO_NAME = (
    f"a name has at most {resolver.NAME_MAX} characters: parts of letters, digits, - and _, "
    f"of at most {resolver.LABEL_MAX} each, with a dot between two"
)


def is_asked(name: str) -> bool:
    """Whether a resolver would do anything with it."""
    return resolver.is_address(name) or resolver.is_name(name)


def has(cluster: Cluster, namespace: str) -> bool:
    return cluster.cache.get("namespaces", "", namespace) is not None


def resolved(cluster: Cluster, name: str, namespace: str) -> dict[str, Any]:
    network, server = cluster.hosts.network, cluster.hosts.environment.dns_address
    text = dns.resolv_conf({"metadata": {"namespace": namespace}, "spec": {}}, server)
    config = resolver.parsed(text)
    found = network.resolve(name, config)
    is_dns = network.dns is not None and found.server == server
    return {
        "asked": name,
        "namespace": namespace,
        "resolv_conf": text,
        "search": config.domains,
        "ndots": config.ndots,
        **msgspec.to_builtins(found),
        "service": "/".join(network.dns) if network.dns is not None and is_dns else "",
        "revision": cluster.store.revision,
    }
