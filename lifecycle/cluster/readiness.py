"""When a cluster is ready: whoever hears that it is may send a pod at once."""

from __future__ import annotations

import itertools

from apiserver_app.machinery import conditions
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.watchcache import WatchCache

NOT_READY = "node.kubernetes.io/not-ready"
# how long a cluster waits for its nodes before it says that it is ready all the same
NODES_SECONDS_MAX, NODES_LOOK_SECONDS = 10, 0.02


async def nodes_take_pods(kernel: Kernel, cache: WatchCache, count: int) -> None:
    """Wait until that many nodes take pods."""
    end = kernel.now + NODES_SECONDS_MAX * SECOND
    while kernel.now < end:
        nodes = cache.each("nodes")
        spare = len(nodes) - count
        if spare >= 0:  # and no more of them than these are still to be waited for
            waiting = (node for node in nodes if not _takes_pods(node))
            if next(itertools.islice(waiting, spare, None), None) is None:
                return
        await kernel.sleep(NODES_LOOK_SECONDS)


def _takes_pods(node: Object) -> bool:
    ready = conditions.is_true(node.get("status"), "Ready")
    taints = node["spec"].get("taints") or ()
    return ready and all(taint["key"] != NOT_READY for taint in taints)
