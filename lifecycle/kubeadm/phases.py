"""The phases of `kubeadm init` that need a running API server, in kubeadm's order.

They run once a cluster, in the background and a moment after it is ready, so that whoever starts
at once is not kept waiting; only the students' quota is there from the start. The cluster's
configuration is uploaded last, not first: that it is there says that everything before it was
created. What a phase finds is left as it is. The control plane's node gets its taint only where a
profile asks for it: the classroom's pods run there too.

Models kubernetes cmd/kubeadm/app/cmd/phases/init/*.go.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Iterable, Sequence

from apiserver_app.apis import servicenet
from apiserver_app.apis.servicenet import ServiceNet
from apiserver_app.auth import bootstrap
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.cri import runtimes
from lifecycle.kubeadm import objects
from lifecycle.kubeadm.objects import Item

START_SECONDS = 4.0
RETRY_SECONDS = 5.0
TOKEN_SECONDS = 24 * 3600
ADMIN, SUPER_ADMIN = "kubernetes-admin", "kubernetes-super-admin"
AGENT = "kubeadm"
DNS = (objects.SYSTEM, "kube-dns")  # the service by which containers resolve names
_ROLE = "node-role.kubernetes.io/"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"

# (user, its groups) -> a client that is that user
ClientFor = Callable[[str, tuple[str, ...]], Client]


class Init:
    """One `kubeadm init`."""

    def __init__(
        self,
        kernel: Kernel,
        client_for: ClientFor,
        *,
        version: Release,
        ca_pem: str,
        node: str,
        key: bytes,
        pods: str,
        address: str = bootstrap.ADVERTISED_IP,
        net: ServiceNet = servicenet.DEFAULT,
        more: Sequence[Item] = (),
        taint: bool = False,
        socket: str = runtimes.CONTAINERD.socket,
    ) -> None:
        """`more` is what is created behind kubeadm's own addons."""
        self._kernel = kernel
        self._key = key  # what the bootstrap token is made from
        self._version = version
        self._net = net
        self._pods = pods
        self._more, self._taint, self._socket = more, taint, socket
        self._address = address  # of the API server
        self._ca_pem = ca_pem
        self._node = node
        self._super = client_for(SUPER_ADMIN, ("system:masters",))
        group = objects.ADMINS if version.has("SuperAdminConf") else "system:masters"
        self._admin = client_for(ADMIN, (group,))

    async def run(self) -> None:
        """Until everything is there; a cluster that has it already is left alone."""
        await self._until_done(self._protect)  # before a student comes
        await self._kernel.sleep(START_SECONDS, background=True)
        await self._until_done(self._phases)

    async def _until_done(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
                return
            except errors.ApiError:  # the API server is away, or its plugins refuse
                await self._kernel.sleep(RETRY_SECONDS, background=True)

    async def _protect(self) -> None:
        if not await self._is_done():
            await self._create(self._super, [objects.classroom_quota()])

    async def _phases(self) -> None:
        if await self._is_done():
            return
        if self._version.has("SuperAdminConf"):
            await self._create(self._super, [objects.admins()])
        await self._mark_control_plane()
        await self._create(
            self._admin, [*self._token(), *bootstrap.joining(self._ca_pem, self._address)]
        )
        await self._create(self._admin, objects.dns(self._version, self._net))
        await self._create(self._admin, objects.proxy(self._version, self._pods, self._address))
        await self._create(self._admin, self._more)
        await self._create(self._admin, objects.configuration(self._version, self._net, self._pods))

    async def _create(self, client: Client, items: Iterable[Item]) -> None:
        for resource, namespace, obj in items:
            with errors.ignoring("AlreadyExists"):
                await client.create(resource, namespace, obj)

    async def _is_done(self) -> bool:
        with errors.ignoring("NotFound"):
            await self._super.get("configmaps", objects.SYSTEM, objects.CONFIG)
            return True
        return False

    async def _mark_control_plane(self) -> None:
        roles = ["control-plane"]
        if not self._version.has("RoleMasterLabelDropped"):
            roles.insert(0, "master")
        labels = {f"{_ROLE}{role}": "" for role in roles}
        labels["node.kubernetes.io/exclude-from-external-load-balancers"] = ""
        notes = {"kubeadm.alpha.kubernetes.io/cri-socket": self._socket}
        patch: Object = {"metadata": {"labels": labels, "annotations": notes}}
        if self._taint:
            patch["spec"] = {"taints": [{"key": f"{_ROLE}{roles[0]}", "effect": "NoSchedule"}]}
        with errors.ignoring("NotFound"):  # the cluster may have been made without nodes
            await self._admin.patch("nodes", "", self._node, patch)

    def _token(self) -> list[Item]:
        """A bootstrap token by which nodes could join for a day."""
        digest = hmac.new(self._key, b"bootstrap token", hashlib.sha256).digest()
        token = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest)
        identity, secret = token[:6], token[6:22]
        expires = meta.rfc3339(self._kernel.now + TOKEN_SECONDS * SECOND)
        text = {
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
            "expiration": expires,
            "token-id": identity,
            "token-secret": secret,
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
        }
        made: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"bootstrap-token-{identity}"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": text,
        }
        return [("secrets", objects.SYSTEM, made)]
