"""A real cluster whose nodes are played by tests: the driver for what is about the wire alone."""

from __future__ import annotations

import asyncio

from lifecycle.hosting.options import Options
from lifecycle.hosting.worker import building
from lifecycle.hosting.worker.driver import Driver, Send
from tests.apiserver_app.fakenodes import FakeNodes


def build_driver(options: Options, loop: asyncio.AbstractEventLoop, send: Send) -> Driver:
    driver = building.build_driver(options, loop, send)
    for host in driver.hosts.values():
        host.cluster.context.egress.nodes = FakeNodes(host.kernel, lively=True)
    return driver
