"""Channels worker consumers hand what they are told to the host, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from controllers_app import consumers
from controllers_app.roles import ACTIONS


class Host:
    def __init__(self) -> None:
        self.told: list[Any] = []
        self.heard = asyncio.Event()

    def role(self, cluster: str, role: str, action: str, **details: Any) -> None:
        self.told.append((cluster, role, action, details))
        self.heard.set()


def listening(host: consumers.RoleHost, channel: str) -> Any:
    return ApplicationCommunicator(  # type: ignore[no-untyped-call]
        consumers.application(host), {"type": "channel", "channel": channel}
    )


def deliver(host: Host, channel: str, message: dict[str, Any]) -> None:
    async def body() -> None:
        worker = listening(host, channel)
        await worker.send_input(message)
        await asyncio.wait_for(host.heard.wait(), 10)

    asyncio.run(body())


@pytest.mark.parametrize("role", consumers.CHANNELS)
@pytest.mark.parametrize("action", ACTIONS)
def test_each_role_is_started_stopped_failed_and_woken_on_its_channel(
    role: str, action: str
) -> None:
    host = Host()
    deliver(host, role, {"type": f"role.{action}", "cluster": "blue"})
    assert host.told == [("blue", role, action, {})]


def test_a_single_component_can_be_named() -> None:
    host = Host()
    message = {"type": "role.fail", "cluster": "blue", "component": "kubelet/node-2"}
    deliver(host, "kubelet", message)
    assert host.told == [("blue", "kubelet", "fail", {"component": "kubelet/node-2"})]


def test_a_process_without_clusters_says_so() -> None:
    async def body() -> None:
        worker = listening(consumers.NoHost(), "kubelet")
        await worker.send_input({"type": "role.start", "cluster": "blue"})
        await worker.wait(10)

    with pytest.raises(RuntimeError, match="cannot start kubelet of cluster 'blue'"):
        asyncio.run(body())
