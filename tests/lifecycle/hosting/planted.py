"""The real driver, with steps in it that never end: one in Python, one in C.

`cat /spin` in a container is in Python; a GET of a ConfigMap called spin is in C, where no other
thread of the process gets a turn.
"""

from __future__ import annotations

import itertools
from typing import Any

from apiserver_app.http.server import Server
from controllers_app.containerruntime.processes import ContainerProcess
from lifecycle.hosting.worker import building


def build_driver(*arguments: Any) -> Any:
    command, serve = ContainerProcess.run_command, Server.serve

    async def spinning_command(self: ContainerProcess) -> int:
        while self.argv == ["cat", "/spin"] and not self.container.environment.kernel.frozen:
            pass
        return await command(self)

    async def spinning_serve(self: Server, request: Any, reply: Any) -> None:
        if request.path.endswith("/configmaps/spin"):
            sum(itertools.repeat(0))
        await serve(self, request, reply)

    ContainerProcess.run_command = spinning_command  # type: ignore[method-assign]
    Server.serve = spinning_serve  # type: ignore[method-assign]
    return building.build_driver(*arguments)
