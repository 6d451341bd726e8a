"""How many requests a second the controllers may send."""

from __future__ import annotations

import pytest

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.releases import Release
from lifecycle.cluster import staticpods
from lifecycle.cluster.clients import Clients
from lifecycle.cluster.inputs import MANY_NODES, POD_RANGE, manager_flags, manager_rate
from tests.apiserver_app.cluster import bare_session


@pytest.mark.parametrize(
    ("nodes", "rates"),
    [(MANY_NODES, []), (MANY_NODES + 1, ["--kube-api-burst=100", "--kube-api-qps=100"])],
)
def test_the_manager_of_thousands_of_nodes_says_in_its_manifest_that_it_may_ask_more(
    nodes: int, rates: list[str]
) -> None:
    found = staticpods.manifests(Release(33), pods=POD_RANGE, rates=manager_flags(nodes)).pods
    command = found[2]["spec"]["containers"][0]["command"]
    assert command[0] == "kube-controller-manager"
    assert [flag for flag in command if flag.startswith("--kube-api")] == rates
    assert command[1:] == sorted(command[1:])


@pytest.mark.parametrize(("nodes", "rate"), [(3, (20, 30)), (5000, (100, 100))])
def test_a_controller_may_send_what_the_manifest_says(nodes: int, rate: tuple[int, int]) -> None:
    assert manager_rate(nodes) == rate
    kernel_session = bare_session()
    cluster = kernel_session.cluster
    clients = Clients(cluster.version, "", manager_rate(nodes))
    clients.connect(cluster.pipeline)
    client = clients.client("ann", "ann", ("system:masters",), limits=clients.of_controller(""))
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
