"""A pod goes where its volumes are or can be had.

Claims that are to be bound at once must be bound already. For those that wait for their first
consumer the plugin finds a free volume that the node reaches, or has one made for the node; when
the node is chosen this is promised, and done before the pod is bound. Left out: what is free on a
node according to CSIStorageCapacity.

Models kubernetes pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import defaultclass
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import quantity
from controllers_app.runtime import persistentvolumes
from controllers_app.scheduler import framework, volumes
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import UNRESOLVABLE, ClusterEvent, No, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.volumes import Decision, Volumes

_UNBOUND = No(("pod has unbound immediate PersistentVolumeClaims",), UNRESOLVABLE)
_NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"
_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
_AFFINITY_ONCE = "node(s) had volume node affinity conflict"
_NOT_THERE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class VolumePlugin(Plugin):
    """One that looks at claims, volumes and storage classes."""

    volumes: Volumes


class _State(msgspec.Struct):
    bound: list[Object] = msgspec.field(default_factory=list)  # claims
    delayed: list[Object] = msgspec.field(default_factory=list)  # claims that wait for this pod
    by_node: dict[str, Decision] = msgspec.field(default_factory=dict)


class VolumeBinding(VolumePlugin):
    name = "VolumeBinding"
    filters = True
    reserves = True
    wakes_on = (
        *framework.NODE_EVENTS,
        framework.CLAIM_ADDED,
        framework.CLAIM_UPDATED,
        framework.VOLUME_ADDED,
        framework.VOLUME_UPDATED,
        framework.CLASS_ADDED,
        framework.CLASS_UPDATED,
    )
    source = "pkg/scheduler/framework/plugins/volumebinding/volume_binding.go"
    remedy = "kubectl describe pvc"

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        if not pod.claims:
            return None
        state = _State()
        for key, volume in mounted(pod):
            claim = self.volumes.claim(key)
            wrong = _unusable(key, claim, pod, made="ephemeral" in volume)
            if wrong or claim is None:
                return No((wrong,), UNRESOLVABLE)
            if persistentvolumes.is_bound(claim):
                state.bound.append(claim)
            elif claim["spec"].get("volumeName") or not persistentvolumes.waits_for_consumer(
                self.volumes.storage_class(claim)
            ):
                return _UNBOUND
            else:
                state.delayed.append(claim)
        state.delayed.sort(
            key=lambda claim: quantity.parse(persistentvolumes.requested_storage(claim))
        )
        return state

    def filter(self, state: _State, pod: PodInfo, node: NodeInfo) -> No | None:
        reasons = []
        why = self._lost(state.bound, node)
        if why == self._affinity:
            reasons.append(why)
        decision = self._decide(state.delayed, node) if state.delayed else Decision()
        if decision is None:
            reasons.append(_NO_VOLUMES)
        if why == _NOT_THERE:
            reasons.append(why)
        if reasons or decision is None:
            return No(tuple(reasons), UNRESOLVABLE)
        state.by_node[node.name] = decision
        return None

    @property
    def _affinity(self) -> str:
        return _AFFINITY if self.version.has("VolumeAffinityReworded") else _AFFINITY_ONCE

    def _lost(self, bound: Iterable[Object], node: NodeInfo) -> str:
        """Why the node cannot have the volumes that are bound; empty when it can."""
        for claim in bound:
            volume = self.volumes.volume(claim["spec"]["volumeName"])
            if volume is None:
                return _NOT_THERE
            if not volumes.reaches(node, volume):
                return self._affinity
        return ""

    def _decide(self, delayed: Iterable[Object], node: NodeInfo) -> Decision | None:
        """How the claims can be bound on the node; None when they cannot."""
        out = Decision()
        taken: set[str] = set()
        for claim in delayed:
            chosen = meta.annotations_of(claim).get(persistentvolumes.SELECTED_NODE)
            if chosen is not None:
                if chosen != node.name:
                    return None
                out.provision.append(claim)
                continue
            free = (
                volume
                for volume in self.volumes.of_class(defaultclass.storage_class_of(claim))
                if meta.name_of(volume) not in taken
            )
            volume = persistentvolumes.best_match(
                claim, free, reachable=lambda volume: volumes.reaches(node, volume)
            )
            if volume is None:
                out.provision.append(claim)
            else:
                taken.add(meta.name_of(volume))
                out.reserve.append((claim, volume))
        if all(self._can_be_made(claim, node) for claim in out.provision):
            return out
        return None

    def _can_be_made(self, claim: Object, node: NodeInfo) -> bool:
        storage_class = self.volumes.storage_class(claim)
        if storage_class is None or storage_class.get("provisioner") in (
            None,
            "",
            persistentvolumes.NO_PROVISIONER,
        ):
            return False
        terms = storage_class.get("allowedTopologies")
        return not terms or any(_is_in(term, node) for term in terms)

    def reserve(self, state: _State, pod: PodInfo, node: str) -> Decision | None:
        decision = state.by_node.get(node)
        return self.volumes.promise(decision, node) if decision else None

    def unreserve(self, todo: Decision) -> None:
        self.volumes.withdraw(todo)

    async def pre_bind(self, todo: Decision, pod: PodInfo, node: str) -> None:
        await self.volumes.bind(pod.key, todo, node)

    def detail(self, todo: Decision) -> Object:
        return todo.detail()

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A claim of the pod changed, or something that claims are bound with."""
        if event.what in (framework.CLAIM_ADDED, framework.CLAIM_UPDATED):
            assert event.new is not None
            return meta.key_of(event.new) in pod.claims
        if event.old is None or event.new is None:
            return True
        if event.what == framework.CLASS_UPDATED:
            fields = [
                storage_class.get("allowedTopologies") for storage_class in (event.old, event.new)
            ]
            return bool(fields[0] != fields[1])
        if event.what == framework.NODE_UPDATED:
            return meta.labels_of(event.old) != meta.labels_of(event.new)
        return True


def mounted(pod: PodInfo) -> Iterator[tuple[str, Object]]:
    """Each claim the pod mounts, with the volume that says so."""
    sources = [
        volume
        for volume in pod.spec["volumes"]
        if "persistentVolumeClaim" in volume or "ephemeral" in volume
    ]
    return zip(pod.claims, sources, strict=True)


def not_found(key: str) -> str:
    return f'persistentvolumeclaim "{meta.split_key(key)[1]}" not found'


def _unusable(key: str, claim: Object | None, pod: PodInfo, *, made: bool) -> str:
    """Why no pod can have the claim, as it is; empty when one can. `made`: for this pod."""
    name = meta.split_key(key)[1]
    if claim is None and made:
        return (
            f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        )
    if claim is None:
        return not_found(key)
    if (claim.get("status") or {}).get("phase") == "Lost":
        lost = claim["spec"].get("volumeName") or ""
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
    if meta.is_deleting(claim):
        return f'persistentvolumeclaim "{name}" is being deleted'
    owner = meta.controller_of(claim)
    if made and (owner is None or owner.get("uid") != meta.uid_of(pod.pod)):
        return f"PVC {key} was not created for pod {pod.key} (pod is not owner)"
    return ""


def _is_in(term: Object, node: NodeInfo) -> bool:
    """Whether the node is where a class lets volumes be made."""
    expressions = term.get("matchLabelExpressions") or ()
    return bool(expressions) and all(
        node.labels.get(expression["key"]) in (expression.get("values") or ())
        for expression in expressions
    )
