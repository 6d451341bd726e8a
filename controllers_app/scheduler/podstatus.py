"""The patches by which the scheduler changes a pod's status.

Models kubernetes pkg/scheduler/util/utils.go (PatchPodStatus).
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.meta import Object
from controllers_app.scheduler.nominator import nominated_node


def nominated(pod: Object, node: str | None) -> Object:
    """The changes that nominate the pod for a node, or for none; None changes nothing."""
    if node is None or node == nominated_node(pod):
        return {}
    return {"nominatedNodeName": node or None}


async def patch(client: Client, pod: Object, changes: Object) -> None:
    """Send the changes, if there are any. Raises an ApiError."""
    if changes:
        await client.patch(
            "pods",
            meta.namespace_of(pod),
            meta.name_of(pod),
            {"status": changes},
            subresource="status",
        )
