"""Probes that are asked: commands, and ports of containers whose commands are run.

The answers of every other probe are known beforehand (forecast.py) and cost nothing.

Models kubernetes pkg/kubelet/prober/prober.go and pkg/probe/{exec,http,tcp}.
"""

from __future__ import annotations

from dataclasses import replace

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpRequest
from controllers_app.cri import images
from controllers_app.cri.images import NEVER, Image
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.prober import forecast
from controllers_app.kubelet.status import ContainerState


def is_asked(pod: Pod, one: ContainerState, spec: Object, image: Image, probe: Object) -> bool:
    """Whether the probe has to be asked to know its answer."""
    if images.is_probe_scripted(pod.pod, one.name):
        return False
    runtime = pod.kubelet.runtime
    if "exec" in probe:
        words = probe["exec"].get("command") or [""]
        return bool(image.userland) and runtime.has_program(image, words[0])
    return "grpc" not in probe and runtime.runs_commands(spec, image)


def with_faults(pod: Pod, one: ContainerState, spec: Object, image: Image) -> Image:
    """The image, with probes that can never succeed where its server does not listen."""
    if images.is_probe_scripted(pod.pod, one.name):
        return image
    ready, unhealthy = image.ready_seconds, image.unhealthy_after_seconds
    for kind in ("startupProbe", "readinessProbe"):
        if spec.get(kind) and fault(pod, spec, image, spec[kind]):
            ready = NEVER
    if spec.get("livenessProbe") and fault(pod, spec, image, spec["livenessProbe"]):
        unhealthy = 0.0
    if (ready, unhealthy) == (image.ready_seconds, image.unhealthy_after_seconds):
        return image
    return replace(image, ready_seconds=ready, unhealthy_after_seconds=unhealthy)


def fault(pod: Pod, spec: Object, image: Image, probe: Object) -> str:
    """Why the image's server will always fail the probe; empty when it will not."""
    kind = "httpGet" if "httpGet" in probe else "tcpSocket"
    if kind not in probe:
        return ""
    port, path = port_of(spec, probe[kind]["port"]), probe[kind].get("path") or "/"
    asked = path if kind == "httpGet" else None
    found = pod.kubelet.runtime.server_fault(spec, image, port, asked)
    if found is None:
        return ""
    if found == 0:
        return _refused(kind, pod.sandbox.address if pod.sandbox else "", port, path)
    return f"HTTP probe failed with statuscode: {found}"


async def ask(
    pod: Pod, one: ContainerState, spec: Object, image: Image, probe: Object, began: int
) -> tuple[bool, str]:
    """Ask once: whether it succeeded, and what to say when it did not."""
    if pod.kubelet.kernel.now < began + int(min(image.ready_seconds, 1e9) * SECOND):
        return False, forecast.output(probe, pod.address)
    if "exec" in probe:
        return await _run(pod, one, probe)
    kind = "httpGet" if "httpGet" in probe else "tcpSocket"
    port, path = port_of(spec, probe[kind]["port"]), probe[kind].get("path") or "/"
    endpoint = pod.kubelet.runtime.endpoint(pod.uid, port)
    if endpoint is None:
        return False, _refused(kind, pod.address, port, path)
    if kind == "tcpSocket":
        if endpoint.open is not None:
            endpoint.open().close()
        return True, ""
    request = HttpRequest("GET", path, {
        "host": f"{pod.address}:{port}", "user-agent": "kube-probe/1.33",
        "x-forwarded-for": pod.kubelet.address,
    })  # fmt: skip
    answer = await endpoint.answer(port, request)
    if 200 <= answer.status < 400:
        return True, ""
    return False, f"HTTP probe failed with statuscode: {answer.status}"


async def _run(pod: Pod, one: ContainerState, probe: Object) -> tuple[bool, str]:
    seconds = float(probe.get("timeoutSeconds") or 1)
    command = list(probe["exec"].get("command") or [""])
    runtime = pod.kubelet.runtime
    done = await runtime.exec_sync(pod.uid, statuses.record_of(one), command, seconds)
    if done.exit_code is None:
        said = " ".join(command)
        return False, f'command timed out: "{said}" timed out after {int(seconds)}s'
    return done.exit_code == 0, done.output.decode("utf-8", "replace").rstrip("\n")


def port_of(spec: Object, port: int | str) -> int:
    """The number of a port that may be named."""
    if isinstance(port, int) or port.isdigit():
        return int(port)
    for one in spec.get("ports") or ():
        if one.get("name") == port:
            return int(one["containerPort"])
    return 0


def _refused(kind: str, address: str, port: int, path: str) -> str:
    dial = f"dial tcp {address}:{port}: connect: connection refused"
    return f'Get "http://{address}:{port}{path}": {dial}' if kind == "httpGet" else dial
