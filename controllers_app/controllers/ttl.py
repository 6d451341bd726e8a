"""The TTL controller: says on each node how long its kubelet may keep secrets and config maps.

The more nodes, the longer. The sizes of neighbouring steps overlap, so that one node more or less
does not change all of them to and fro. A node of which the cache does not have the last patch yet
is left alone: upstream's hardly ever is behind.

Models kubernetes pkg/controller/ttl/ttl_controller.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery import meta
from apiserver_app.machinery.client import STRATEGIC_PATCH
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, Watches

TTL = "node.alpha.kubernetes.io/ttl"


class Step(NamedTuple):
    """From which number of nodes to which a step lasts."""

    least: int
    most: float
    seconds: int


STEPS = (
    Step(0, 100, 0),
    Step(90, 500, 15),
    Step(450, 1000, 30),
    Step(900, 2000, 60),
    Step(1800, float("inf"), 300),
)


class TtlController(Controller):
    """Reconciles nodes, by name."""

    resource = "nodes"
    source = "pkg/controller/ttl/ttl_controller.go updateNodeIfNeeded"
    watches = (
        Watches("nodes", on=ADDED | UPDATED, keys=lambda self, node: self._if_outdated(node)),
    )

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._step = 0
        self._written: dict[str, int] = {}  # the revision of the last patch, until the cache has it

    def _if_outdated(self, node: Object) -> tuple[str, ...]:
        """A heartbeat is work only when the number of nodes has made another step."""
        wanted = str(self._seconds())
        return () if meta.annotations_of(node).get(TTL) == wanted else (meta.name_of(node),)

    async def reconcile(self, key: str) -> Result | None:
        node = self.caches["nodes"].get(key)
        if node is None:
            self._written.pop(key, None)
            return Result("is gone")
        if meta.revision_of(node) < self._written.get(key, 0):
            return Result("waits for what it wrote")  # whose event comes, and calls again
        wanted = str(self._seconds())
        if meta.annotations_of(node).get(TTL) == wanted:
            return Result("has it")
        patch = {"metadata": {"annotations": {TTL: wanted}}}
        made = await self.client.patch("nodes", "", key, patch, kind=STRATEGIC_PATCH)
        self._written[key] = meta.revision_of(made)
        return Result(f"may keep what it has read for {wanted} s")

    def _seconds(self) -> int:
        count = len(self.caches["nodes"])
        while count > STEPS[self._step].most:
            self._step += 1
        while count < STEPS[self._step].least:
            self._step -= 1
        return STEPS[self._step].seconds
