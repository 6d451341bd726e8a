"""Channels worker consumers: a message on a role's channel reaches the host that runs the role.

They start, stop, fail and wake the roles of a cluster, and only that. A message may be lost: then
the role starts later, when it is asked for again; nothing depends on a message for being right.
The only module of this package that imports Channels.
"""

from __future__ import annotations

from typing import Any, Protocol

from channels.consumer import AsyncConsumer
from channels.routing import ChannelNameRouter

from controllers_app.roles import CONTROLLERS, KUBELET, SCHEDULER


class RoleHost(Protocol):
    """Who runs the roles of clusters in this process."""

    def role(self, cluster: str, role: str, action: str, **details: Any) -> None: ...


class NoHost:
    """A process that runs no clusters. It says so instead of losing the message."""

    def role(self, cluster: str, role: str, action: str, **details: Any) -> None:
        raise RuntimeError(
            f"cannot {action} {role} of cluster {cluster!r}: this process owns no clusters; "
            "`manage.py demo` runs a worker that does"
        )


class RoleConsumer(AsyncConsumer):
    """Hands role.start, role.stop, role.fail and role.wake to the host."""

    role = ""

    def __init__(self, host: RoleHost) -> None:
        self._host = host

    async def role_start(self, message: dict[str, Any]) -> None:
        self._act("start", message)

    async def role_stop(self, message: dict[str, Any]) -> None:
        self._act("stop", message)

    async def role_fail(self, message: dict[str, Any]) -> None:
        self._act("fail", message)

    async def role_wake(self, message: dict[str, Any]) -> None:
        self._act("wake", message)

    def _act(self, action: str, message: dict[str, Any]) -> None:
        details = {
            name: value for name, value in message.items() if name not in ("type", "cluster")
        }
        self._host.role(message["cluster"], self.role, action, **details)


class ControllersConsumer(RoleConsumer):
    """The controller manager's controllers."""

    role = CONTROLLERS


class SchedulerConsumer(RoleConsumer):
    role = SCHEDULER


class KubeletConsumer(RoleConsumer):
    """The kubelets of all nodes, or of one."""

    role = KUBELET


CONSUMERS: tuple[type[RoleConsumer], ...] = (
    ControllersConsumer,
    SchedulerConsumer,
    KubeletConsumer,
)
CHANNELS = tuple(consumer.role for consumer in CONSUMERS)


def application(host: RoleHost) -> ChannelNameRouter:
    """The ASGI application of a Channels worker: one consumer a role."""
    return ChannelNameRouter({consumer.role: consumer.as_asgi(host=host) for consumer in CONSUMERS})
