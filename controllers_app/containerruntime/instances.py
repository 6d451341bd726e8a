"""One instance of a container: what is known of it from its pod and its image."""

from __future__ import annotations

import zlib

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.containerruntime import entrypoint, sandboxes
from controllers_app.containerruntime.environment import Host
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.cri import environment
from controllers_app.cri.images import Image
from controllers_app.shell import tools
from controllers_app.shell.tools import Tool


def label(pod: Object, name: str, argv: list[str]) -> bytes:
    """What the kernel calls a task that runs these words in a container: the same for all pods of
    a namespace. The words may hold secrets and are not told."""
    words = zlib.crc32("\0".join(argv).encode("utf-8", "surrogateescape"))
    namespace = meta.namespace_of(pod)
    return f"container {namespace} {words:08x} in {meta.name_of(pod)}/{name}".encode()


class Instance:
    """From a container's start until nobody can ask for it any more."""

    __slots__ = ("_variables", "environment", "host", "id", "image", "name", "pod", "since")

    def __init__(
        self, host: Host, pod: Object, name: str, image: Image, container_id: str, since: int
    ) -> None:
        self.host = host
        self.environment = host.environment
        self.pod = pod
        self.name = name
        self.image = image
        self.id = container_id
        self.since = since
        self._variables: dict[str, str] | None = None

    @property
    def spec(self) -> Object:
        return sandboxes.spec_of(self.pod, self.name)

    @property
    def now(self) -> int:
        return self.environment.kernel.now

    @property
    def address(self) -> str:
        """The pod's."""
        sandbox = self.sandbox()
        if sandbox is not None and sandbox.network is not None:
            return sandbox.network.address
        ip: str = (self.pod.get("status") or {}).get("podIP") or ""
        return ip

    def sandbox(self) -> PodSandbox | None:
        """The pod on its node, while the node's kubelet is there."""
        return self.host.sandboxes.get(meta.uid_of(self.pod))

    @property
    def pod_context(self) -> Object:
        """The pod's security context."""
        context: Object = self.pod["spec"].get("securityContext") or {}
        return context

    @property
    def owner(self) -> tuple[int, int]:
        """uid and gid of the container's processes."""
        own, pod = self.spec.get("securityContext") or {}, self.pod_context
        user, group = (
            own.get(key) if own.get(key) is not None else pod.get(key) or 0
            for key in ("runAsUser", "runAsGroup")
        )
        return int(user or 0), int(group or 0)

    def variables(self) -> dict[str, str]:
        """The environment of its processes."""
        if self._variables is None:
            shared = self.environment
            self._variables = environment.variables(
                self.pod,
                self.spec,
                image=self.image.env,
                lookup=shared.lookup,
                services=shared.listing("services", ""),
                host_ip=self.host.address,
                since=self.since,
            )
        return self._variables

    def command(self) -> list[str]:
        """The words of its main process."""
        return entrypoint.argv(self.spec, self.image, self.variables())

    def label(self, argv: list[str] | None = None) -> bytes:
        """What the kernel calls a task that runs these words, or those of the main process."""
        words = entrypoint.argv(self.spec, self.image, {}) if argv is None else argv
        return label(self.pod, self.name, words)

    def workdir(self) -> str:
        return self.spec.get("workingDir") or self.image.workdir

    def tool(self, name: str) -> Tool | None:
        """The command of that name or path, when the image has it."""
        if self.image.userland == "none":
            return None
        return tools.find(self.environment.tools, self.image.userland, self.image.tools, name)

    def server_program(self) -> str:
        """The server that the image's own program is; empty when it is no server."""
        return entrypoint.own_program(self.image) if self.image.ports else ""
