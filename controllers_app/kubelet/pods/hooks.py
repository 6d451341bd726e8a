"""Lifecycle hooks: postStart and preStop.

Models kubernetes pkg/kubelet/lifecycle/handlers.go.
"""

from __future__ import annotations

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpRequest
from controllers_app.cri.images import Image
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.prober import prober
from controllers_app.kubelet.status import ContainerState

POST_START, PRE_STOP = "postStart", "preStop"


def of(spec: Object, kind: str) -> Object:
    """The hook; empty when there is none."""
    return (spec.get("lifecycle") or {}).get(kind) or {}


def is_asked(spec: Object, kind: str) -> bool:
    """Whether the hook runs a command or a request, rather than sleeps."""
    hook = of(spec, kind)
    return "exec" in hook or "httpGet" in hook


async def run(pod: Pod, container: ContainerState, spec: Object, image: Image, kind: str) -> bool:
    """Runs the hook; returns whether it succeeded."""
    hook, runtime = of(spec, kind), pod.kubelet.runtime
    if "exec" in hook:
        command = list(hook["exec"].get("command") or ())
        if not image.userland:
            return True  # the image's programs are unknown
        if not command or image.userland == "none" or not runtime.has_program(image, command[0]):
            return False
        done = await runtime.exec_sync(pod.uid, statuses.record_of(container), command)
        return done.exit_code == 0
    if "httpGet" in hook:
        request = hook["httpGet"]
        port = prober.port_of(spec, request["port"])
        endpoint = runtime.endpoint(pod.uid, port)
        if endpoint is None:
            return False
        headers = {"host": f"{pod.address}:{port}", "x-forwarded-for": pod.kubelet.address}
        path = request.get("path") or "/"
        answer = await endpoint.answer(port, HttpRequest("GET", path, headers))
        return answer.status < 400
    await pod.kubelet.kernel.sleep((hook.get("sleep") or {}).get("seconds") or 0)
    return True
