"""Updates of a daemon set that may surge: a node's new pod comes before its old one goes.

Models kubernetes pkg/controller/daemon/update.go (rollingUpdate) and podsShouldBeOnNode of
daemon_controller.go, where maxSurge is not 0.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.deployment import rules
from controllers_app.controllers.workload import history, podstate


class Plan(msgspec.Struct):
    """The pods to create and to delete."""

    create: list[str] = msgspec.field(default_factory=list)  # nodes
    delete: list[Object] = msgspec.field(default_factory=list)  # pods
    failed: list[Object] = msgspec.field(default_factory=list)  # finished pods, to be replaced


class Surge:
    """How one daemon set surges, at one moment."""

    __slots__ = ("_hash", "_min_ready", "_now", "_share")

    def __init__(self, owner: Object, hash_: str, now: int) -> None:
        strategy = owner["spec"].get("updateStrategy") or {}
        rolling = strategy.get("rollingUpdate") or {}
        self._share = 0 if strategy.get("type") == "OnDelete" else rolling.get("maxSurge") or 0
        self._min_ready = owner["spec"].get("minReadySeconds") or 0
        self._hash, self._now = hash_, now

    def __bool__(self) -> bool:
        return rules.scaled_value(self._share, 1, up=True) > 0

    def keep(self, name: str, running: list[Object], should_run: bool, plan: Plan) -> None:
        """Of the pods on a node, oldest first, one new and one old may stay, while the old one is
        ready and the new one is not yet available."""
        if not running:
            if should_run:
                plan.create.append(name)
            return
        new = [pod for pod in running if self._is_new(pod)]
        old = [pod for pod in running if not self._is_new(pod)]
        plan.delete += [*new[1:], *old[1:]]
        if new and old and (not podstate.is_ready(old[0]) or self._is_available(new[0])):
            plan.delete.append(old[0])

    def update(
        self, by_node: dict[str, list[Object]], runs: Iterable[str], desired: int, plan: Plan
    ) -> None:
        """Plans the next pods; `runs` are the nodes on which one should run."""
        limit = rules.scaled_value(self._share, desired, up=True)
        nodes, surging, available = frozenset(runs), 0, 0
        candidates: list[str] = []
        misplaced: list[Object] = []
        for name in sorted(by_node):
            pods = [pod for pod in by_node[name] if not meta.is_deleting(pod)]
            new = [pod for pod in pods if self._is_new(pod)]
            old = [pod for pod in pods if not self._is_new(pod)]
            if len(new) > 1 or len(old) > 1:
                surging += 1
                continue
            available += any(map(self._is_available, old or new))
            if not old:
                continue
            if new:
                if self._is_available(new[0]):
                    plan.delete.append(old[0])
                else:
                    surging += 1
            elif self._is_available(old[0]):
                candidates += [name] if name in nodes else []
                misplaced += [] if name in nodes else [old[0]]
            elif name in nodes:
                plan.create.append(name)
            else:
                plan.delete.append(old[0])
        plan.delete += misplaced[: max(0, available - desired)]
        plan.create += candidates[: max(0, limit - surging)]

    def _is_new(self, pod: Object) -> bool:
        return meta.labels_of(pod).get(history.HASH_LABEL) == self._hash

    def _is_available(self, pod: Object) -> bool:
        return podstate.is_available(pod, self._min_ready, self._now)
