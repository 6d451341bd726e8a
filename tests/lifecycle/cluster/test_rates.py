"""How many requests a second the controllers and the scheduler may send."""

from __future__ import annotations

import pytest

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.releases import Release
from lifecycle.cluster import staticpods
from lifecycle.cluster.clients import Clients
from lifecycle.cluster.inputs import POD_RANGE
from lifecycle.cluster.rates import MANY_NODES, rates
from tests.apiserver_app.cluster import bare_session


@pytest.mark.parametrize(
    ("nodes", "manager", "scheduler"),
    [
        (MANY_NODES, [], []),
        (MANY_NODES + 1, ["--kube-api-burst=100", "--kube-api-qps=100"], ["--kube-api-qps=100"]),
    ],
)
def test_what_may_ask_more_for_thousands_of_nodes_says_so_in_its_manifest(
    nodes: int, manager: list[str], scheduler: list[str]
) -> None:
    found = staticpods.manifests(Release(33), pods=POD_RANGE, rates=rates(nodes)).pods
    for pod, program, wanted in (
        (found[2], "kube-controller-manager", manager),
        (found[3], "kube-scheduler", scheduler),
    ):
        command = pod["spec"]["containers"][0]["command"]
        assert command[0] == program
        assert [flag for flag in command if flag.startswith("--kube-api")] == wanted
        assert command[1:] == sorted(command[1:])


@pytest.mark.parametrize(
    ("nodes", "program", "rate"),
    [
        (3, "manager", (20, 30)),
        (5000, "manager", (100, 100)),
        (3, "scheduler", (50, 100)),
        (5000, "scheduler", (100, 100)),
    ],
)
def test_a_program_may_send_what_its_manifest_says(
    nodes: int, program: str, rate: tuple[int, int]
) -> None:
    assert getattr(rates(nodes), program) == rate
    kernel_session = bare_session()
    cluster = kernel_session.cluster
    clients = Clients(cluster.version, "", rates(nodes))
    clients.connect(cluster.pipeline)
    client = clients.scheduler("scheduler")
    if program == "manager":
        limits = clients.of_controller("")
        client = clients.client("ann", "ann", ("system:masters",), limits=limits)
    asked: list[int] = []

    async def ask() -> None:
        for _ in range(rate[1] + rate[0]):
            await client.list("nodes")
            asked.append(cluster.kernel.now)

    began = cluster.kernel.now
    cluster.kernel.spawn("asks", ask())
    kernel_session.settle()
    assert asked[rate[1] - 1] - began < 0.5 * SECOND
    assert 0.9 * SECOND < asked[-1] - began < 1.5 * SECOND
