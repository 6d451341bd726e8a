"""What the scheduler knows of claims, volumes and storage classes, and what it has promised.

A binding that was decided counts from that moment on, before the API server has it, so that the
next pod does not take the same volume; what a watch brings later replaces it.

Models kubernetes pkg/scheduler/util/assumecache and
pkg/scheduler/framework/plugins/volumebinding/binder.go (BindPodVolumes, checkBindings).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.kinds import defaultclass
from apiserver_app.machinery.meta import Object
from controllers_app.runtime import nodeaffinity, persistentvolumes
from controllers_app.runtime.informer import Informer, InformerFactory
from controllers_app.scheduler.framework import PreBindFailed
from controllers_app.scheduler.nodeinfo import NodeInfo

BIND_SECONDS_MAX = 600  # VolumeBindingArgs.bindTimeoutSeconds
POLL_SECONDS = 1
# polls that drag a fast clock along; whoever waits longer waits for somebody's hand
FOREGROUND_POLLS = 10


class Decision(msgspec.Struct):
    """What is to be done so that a pod's claims are bound on one node."""

    reserve: list[tuple[Object, Object]] = msgspec.field(default_factory=list)  # (claim, volume)
    provision: list[Object] = msgspec.field(default_factory=list)  # claims

    def __bool__(self) -> bool:
        return bool(self.reserve or self.provision)

    def detail(self) -> Object:
        out: Object = {}
        if self.reserve:
            out["reserve"] = {
                meta.key_of(claim): meta.name_of(volume) for claim, volume in self.reserve
            }
        if self.provision:
            out["provision"] = [meta.key_of(claim) for claim in self.provision]
        return out


class Volumes:
    """The caches, with what was promised on top."""

    def __init__(
        self,
        kernel: Kernel,
        client: Client,
        informers: InformerFactory,
        nodes: Mapping[str, NodeInfo],
    ) -> None:
        self._kernel = kernel
        self._client = client
        self._nodes = nodes
        self._pods = informers.informer("pods")
        self.claims = informers.informer(persistentvolumes.CLAIMS)
        self.volumes = informers.informer(persistentvolumes.VOLUMES)
        self.classes = informers.informer(defaultclass.STORAGE_CLASSES)
        self._promised: dict[str, Object] = {}  # claims by "namespace/name", volumes by name

    # -- reading --------------------------------------------------------------------------------

    def claim(self, key: str) -> Object | None:
        return self._newest(self.claims, key)

    def volume(self, name: str) -> Object | None:
        return self._newest(self.volumes, name)

    def of_class(self, name: str) -> Iterable[Object]:
        """The volumes of a storage class, in the order of their names."""
        for key in sorted(meta.name_of(volume) for volume in self.volumes.list()):
            volume = self.volume(key)
            if volume is not None and defaultclass.storage_class_of(volume) == name:
                yield volume

    def storage_class(self, claim: Object) -> Object | None:
        return self.classes.get(defaultclass.storage_class_of(claim))

    def _newest(self, informer: Informer, key: str) -> Object | None:
        seen = informer.get(key)
        promised = self._promised.get(key)
        if promised is None:
            return seen
        if seen is None or meta.revision_of(seen) > meta.revision_of(promised):
            del self._promised[key]
            return seen
        return promised

    # -- promising ------------------------------------------------------------------------------

    def promise(self, decision: Decision, node: str) -> Decision:
        """From now on it counts; what is to be written."""
        out = Decision()
        for claim, volume in decision.reserve:
            kept = persistentvolumes.bound(volume, claim)
            self._promised[meta.name_of(kept)] = kept
            out.reserve.append((claim, kept))
        for claim in decision.provision:
            path = ("metadata", "annotations", persistentvolumes.SELECTED_NODE)
            kept = meta.with_path(claim, path, node)
            self._promised[meta.key_of(kept)] = kept
            out.provision.append(kept)
        return out

    def withdraw(self, decision: Decision) -> None:
        """It does not count any more."""
        for _, volume in decision.reserve:
            self._promised.pop(meta.name_of(volume), None)
        for claim in decision.provision:
            self._promised.pop(meta.key_of(claim), None)

    # -- binding --------------------------------------------------------------------------------

    async def bind(self, key: str, decision: Decision, node: str) -> None:
        """Write what was promised, and wait until claims and volumes are bound."""
        written = await self._write(decision)
        deadline = self._kernel.now + BIND_SECONDS_MAX * SECOND
        polls = 0
        while True:
            await self._kernel.sleep(POLL_SECONDS, background=polls >= FOREGROUND_POLLS)
            polls += 1
            if self._is_done(key, written, node):
                return
            if self._kernel.now >= deadline:
                raise PreBindFailed("binding volumes: context deadline exceeded")

    async def _write(self, decision: Decision) -> Decision:
        written = Decision()
        for claim, volume in decision.reserve:
            kept = await self._client.update(
                persistentvolumes.VOLUMES, "", meta.name_of(volume), volume
            )
            written.reserve.append((claim, kept))
        for claim in decision.provision:
            namespace, name = meta.namespace_of(claim), meta.name_of(claim)
            kept = await self._client.update(persistentvolumes.CLAIMS, namespace, name, claim)
            written.provision.append(kept)
        return written

    def _is_done(self, key: str, written: Decision, name: str) -> bool:
        """Whether everything is bound. Raises PreBindFailed when it cannot be any more."""
        node = self._nodes.get(name)
        if node is None:
            why = f'failed to get node "{name}": node "{name}" not found'
            raise PreBindFailed(f"binding volumes: {why}")
        if self._pods.get(key) is None:
            why = f'pod "{meta.split_key(key)[1]}" not found'
            raise PreBindFailed(f"binding volumes: pod does not exist any more: {why}")
        return all(self._reserved(*reserved, node) for reserved in written.reserve) and all(
            self._provisioned(claim, node) for claim in written.provision
        )

    def _reserved(self, claim: Object, written: Object, node: NodeInfo) -> bool:
        volume = self.volumes.get(meta.name_of(written))
        if volume is None:
            name = meta.name_of(written)
            raise PreBindFailed(
                "binding volumes: failed to check binding: "
                f'could not find v1.PersistentVolume "{name}"'
            )
        if meta.revision_of(volume) < meta.revision_of(written):
            return False
        _check_reach(volume, node)
        if not (volume["spec"].get("claimRef") or {}).get("uid"):
            name = meta.name_of(volume)
            raise PreBindFailed(f'binding volumes: ClaimRef got reset for pv "{name}"')
        now = self.claims.get(meta.key_of(claim))
        return now is not None and persistentvolumes.is_bound(now)

    def _provisioned(self, written: Object, node: NodeInfo) -> bool:
        claim = self.claims.get(meta.key_of(written))
        name = meta.name_of(written)
        if claim is None:
            key = meta.key_of(written)
            raise PreBindFailed(
                "binding volumes: failed to check provisioning pvc: "
                f'could not find v1.PersistentVolumeClaim "{key}"'
            )
        if meta.revision_of(claim) < meta.revision_of(written):
            return False
        if meta.annotations_of(claim).get(persistentvolumes.SELECTED_NODE) != node.name:
            raise PreBindFailed(f'binding volumes: provisioning failed for PVC "{name}"')
        if claim["spec"].get("volumeName"):
            volume = self.volumes.get(claim["spec"]["volumeName"])
            if volume is None:
                return False
            _check_reach(volume, node)
        return persistentvolumes.is_bound(claim)


def reaches(node: NodeInfo, volume: Object) -> bool:
    """Whether the volume can be used on the node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    # without the node's name: upstream matches a volume's terms against labels only
    return required is None or nodeaffinity.matches(required, "", node.labels)


def _check_reach(volume: Object, node: NodeInfo) -> None:
    if not reaches(node, volume):
        raise PreBindFailed(
            f'binding volumes: pv "{meta.name_of(volume)}" node affinity doesn\'t match node '
            f'"{node.name}": no matching NodeSelectorTerms'
        )
