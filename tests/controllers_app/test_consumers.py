"""Channels worker consumers hand what they are told to the host, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from controllers_app import consumers


class Host:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def role(self, cluster: str, role: str, action: str, **details: Any) -> None:
        self.told.append((cluster, role, action, details))


async def deliver(host: consumers.RoleHost, channel: str, *messages: dict[str, Any]) -> None:
    application = consumers.application(host)
    worker = ApplicationCommunicator(application, {"type": "channel", "channel": channel})
    for message in messages:
        await worker.send_input(message)
    await worker.wait(0.01)


@pytest.mark.parametrize("role", consumers.CHANNELS)
@pytest.mark.parametrize("action", consumers.ACTIONS)
def test_each_role_is_started_stopped_failed_and_woken_on_its_channel(
    role: str, action: str
) -> None:
    host = Host()
    asyncio.run(deliver(host, role, {"type": f"role.{action}", "cluster": "blue"}))
    assert host.told == [("blue", role, action, {})]


def test_a_single_component_can_be_named() -> None:
    host = Host()
    message = {"type": "role.fail", "cluster": "blue", "component": "kubelet/node-2"}
    asyncio.run(deliver(host, "kubelet", message))
    assert host.told == [("blue", "kubelet", "fail", {"component": "kubelet/node-2"})]


def test_a_process_without_clusters_says_so() -> None:
    with pytest.raises(RuntimeError, match="cannot start kubelet of cluster 'blue'"):
        asyncio.run(
            deliver(consumers.NoHost(), "kubelet", {"type": "role.start", "cluster": "blue"})
        )
