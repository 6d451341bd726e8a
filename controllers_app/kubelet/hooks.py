"""Lifecycle hooks: what is done after a container's start and before its end.

Models kubernetes pkg/kubelet/lifecycle/handlers.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpRequest
from controllers_app.kubelet import polls, servers

if TYPE_CHECKING:
    from controllers_app.kubelet.podworker import PodWorker
    from controllers_app.kubelet.status import ContainerState

POST_START, PRE_STOP = "postStart", "preStop"


def of(spec: Object, kind: str) -> Object:
    """The hook; empty when there is none."""
    return (spec.get("lifecycle") or {}).get(kind) or {}


def is_asked(spec: Object, kind: str) -> bool:
    """Whether the hook is something that is done, not only a while."""
    hook = of(spec, kind)
    return "exec" in hook or "httpGet" in hook


async def run(worker: PodWorker, one: ContainerState, spec: Object, kind: str) -> bool:
    """Do it; whether it succeeded."""
    hook = of(spec, kind)
    cell = worker.kubelet.station.current(worker, one, worker.containers.image_of(one))
    if "exec" in hook:
        command = list(hook["exec"].get("command") or ())
        if not cell.image.userland:
            return True  # nothing is known of what the image has
        if not command or cell.tool(command[0]) is None:
            return False
        running = cell.run(command, stdin=False, tty=False)
        await running.ended.wait()
        return running.exit_code == 0
    if "httpGet" in hook:
        asked = hook["httpGet"]
        port = polls.port_of(spec, asked["port"])
        bound = servers.listening(worker, port)
        if bound is None:
            return False
        headers = {"host": f"{cell.address}:{port}", "x-forwarded-for": cell.station.address}
        path = asked.get("path") or "/"
        answer = await bound.answer(port, HttpRequest("GET", path, headers))
        return answer.status < 400
    await worker.kubelet.kernel.sleep((hook.get("sleep") or {}).get("seconds") or 0)
    return True
