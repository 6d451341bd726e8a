"""Other clients of the Kubernetes API against one server, and the table of what each can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import clients, table
from tests.conformance.clients import asynchronous, kr8s_, light, node, official
from tests.conformance.kubectl import Kubectl

CLIENTS: tuple[Any, ...] = (
    official.Official,
    asynchronous.Asynchronous,
    kr8s_.Kr8s,
    light.Light,
    node.Node,
)


@pytest.fixture(scope="module", autouse=True)
def printed(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    table.show(request.config, "clients")


@pytest.mark.seconds_max(1800)
@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.__name__.lower())
def test_each_client_can_do_each_step(kind: Any, kubectl: Kubectl) -> None:
    failed = {}
    with kubectl.space("by-" + kind.__name__.lower()) as within:
        one = kind(str(kubectl.config), within.namespace)
        for step in clients.STEPS:
            act = getattr(one, step.replace(" ", "_").replace("-", "_"), None)
            if act is None:
                table.note("clients", step, kind.name, "-")
                continue
            why = tried(act)
            table.note("clients", step, kind.name, "NO" if why else "ok")
            if why:
                failed[step] = why
    assert failed == {}


def tried(act: Any) -> str:
    """Empty when it went well. Whatever a client raises is what its users would see."""
    try:
        act()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {error}"[:600]
    return ""
