"""Lifecycle hooks: postStart and preStop.

Whatever an HTTP server answers, the hook succeeded.

Models kubernetes pkg/kubelet/lifecycle/handlers.go.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import quoted
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpRequest, NodeError
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


async def run(pod: Pod, container: ContainerState, spec: Object, image: Image, kind: str) -> str:
    """Runs the hook; returns why it failed, empty when it succeeded."""
    hook = of(spec, kind)
    namespace, name = meta.split_key(pod.key)
    where = (
        f"for Container {quoted(container.name)} in Pod {quoted(f'{name}_{namespace}({pod.uid})')}"
    )
    if "exec" in hook:
        command = list(hook["exec"].get("command") or [""])
        why, output = await _execute(pod, container, image, command)
        words = f"Exec lifecycle hook ([{' '.join(command)}]) {where} failed"
        return f"{words} - error: {why}, message: {quoted(output)}" if why else ""
    if "httpGet" in hook:
        path = hook["httpGet"].get("path") or ""
        why = await _request(pod, spec, hook["httpGet"])
        return f"HTTP lifecycle hook ({path}) {where} failed - error: {why}" if why else ""
    await pod.kubelet.kernel.sleep((hook.get("sleep") or {}).get("seconds") or 0)
    return ""


async def _execute(
    pod: Pod, container: ContainerState, image: Image, command: list[str]
) -> tuple[str, str]:
    """Runs the command; returns why it failed, and what it said."""
    if not image.userland:
        return "", ""  # the image's programs are unknown
    record = statuses.record_of(container)
    try:
        done = await pod.kubelet.runtime.exec_sync(pod.uid, record, command)
    except NodeError as error:
        return str(error), ""
    if done.exit_code == 0:
        return "", ""
    output = done.stderr.decode("utf-8", "replace")
    return f"command '{' '.join(command)}' exited with {done.exit_code}: {output}", done.output


async def _request(pod: Pod, spec: Object, action: Object) -> str:
    """Sends the request; returns why no answer came."""
    port, path = prober.port_of(spec, action["port"]), action.get("path") or "/"
    endpoint = pod.kubelet.runtime.endpoint(pod.uid, port)
    if endpoint is None:
        return prober.refused("httpGet", pod.address, port, path)
    headers = {"host": f"{pod.address}:{port}", "x-forwarded-for": pod.kubelet.address}
    await endpoint.answer(port, HttpRequest("GET", path, headers))
    return ""
