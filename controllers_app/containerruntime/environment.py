"""What all containers of a cluster share, and what those of one node do."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from controllers_app.containerruntime import hostdisk
from controllers_app.containerruntime.logs import Logs
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.cri.services import Volumes
from controllers_app.shell import cgroup, tools
from controllers_app.shell.cgroup import Cgroup
from controllers_app.shell.filesystem import NODE_BYTES_MAX, NODE_FILES_MAX, Disk, Files, Folder
from controllers_app.shell.tools import Tool

Lookup = Callable[[str, str, str], Object | None]
Listing = Callable[[str, str], Sequence[Object]]


class Environment:
    """`lookup` and `listing` read what the kubelets' and the proxies' watches hold: services,
    endpoints, config maps, secrets."""

    def __init__(
        self,
        kernel: Kernel,
        lookup: Lookup,
        listing: Listing,
        volumes: Volumes,
        dns_address: str,
        more: Sequence[Tool],
    ) -> None:
        """`more` are commands of single images; the catalog names their sets."""
        self.kernel = kernel
        self.lookup = lookup
        self.listing = listing
        self.volumes = volumes
        self.tools = tools.by_set((*tools.TOOLS, *more))
        self.templates: dict[str, Folder] = {}  # image -> its files
        self.dns_address = dns_address
        self._ids = 0

    def exec_id(self) -> str:
        """What the runtime calls the next process that it is asked to start."""
        self._ids += 1
        return hashlib.sha256(str(self._ids).encode()).hexdigest()


class Host:
    """One node as its containers see it: what stays when its kubelet is replaced."""

    def __init__(self, environment: Environment, name: str, address: str) -> None:
        self.environment = environment
        self.name = name
        self.address = address
        self.sandboxes: dict[str, PodSandbox] = {}  # by the pod's uid, while the kubelet runs
        self.cgroup = Cgroup(cgroup.NODE_CORES, cgroup.NODE_PIDS_MAX, cgroup.NODE_MEMORY_MAX)
        self.logs = Logs()
        self.storage = Disk(NODE_BYTES_MAX, NODE_FILES_MAX)
        self._since = environment.kernel.now
        self._disk: Files | None = None
        self._on_disk: Callable[[Files], None] | None = None

    @property
    def dns_address(self) -> str:
        return self.environment.dns_address

    @property
    def disk(self) -> Files:
        """What pods find by hostPath."""
        if self._disk is None:
            environment = self.environment
            commands = environment.tools.get(hostdisk.TOOLS, {})
            root = hostdisk.laid_out(
                self.name, self.address, commands, self._since, environment.dns_address
            )
            self._disk = Files(root, Disk(above=self.storage))
            if self._on_disk is not None:
                self._on_disk(self._disk)
        return self._disk

    def on_disk(self, found: Callable[[Files], None]) -> None:
        self._on_disk = found
        if self._disk is not None:
            found(self._disk)
