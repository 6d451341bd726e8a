"""Probes that really run: commands, and requests to containers whose commands are run.

The results of all other probes are computed in advance (forecast.py) and cost nothing.

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


def is_polled(
    pod: Pod, container: ContainerState, spec: Object, image: Image, probe: Object
) -> bool:
    """Whether the probe has to run, because its result cannot be computed in advance."""
    if images.is_probe_scripted(pod.pod, container.name):
        return False
    runtime = pod.kubelet.runtime
    if "exec" in probe:
        command = probe["exec"].get("command") or [""]
        return bool(image.userland) and runtime.has_program(image, command[0])
    return "grpc" not in probe and runtime.runs_commands(spec, image)


def with_faults(pod: Pod, container: ContainerState, spec: Object, image: Image) -> Image:
    """The image, changed so that probes fail whose port or path its server does not serve."""
    if images.is_probe_scripted(pod.pod, container.name):
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
    """The output with which the probe will always fail; empty when it may succeed."""
    kind = "httpGet" if "httpGet" in probe else "tcpSocket"
    if kind not in probe:
        return ""
    port, path = port_of(spec, probe[kind]["port"]), probe[kind].get("path") or "/"
    requested = path if kind == "httpGet" else None
    status = pod.kubelet.runtime.server_fault(spec, image, port, requested)
    if status is None:
        return ""
    if status == 0:
        return refused(kind, pod.sandbox.address if pod.sandbox else "", port, path)
    return f"HTTP probe failed with statuscode: {status}"


async def ask(
    pod: Pod, container: ContainerState, spec: Object, image: Image, probe: Object, began: int
) -> tuple[bool, str]:
    """Runs the probe once; returns whether it succeeded, and its output if not."""
    if pod.kubelet.kernel.now < began + int(min(image.ready_seconds, 1e9) * SECOND):
        return False, forecast.output(probe, pod.address)
    if "exec" in probe:
        return await _run(pod, container, probe)
    kind = "httpGet" if "httpGet" in probe else "tcpSocket"
    port, path = port_of(spec, probe[kind]["port"]), probe[kind].get("path") or "/"
    endpoint = pod.kubelet.runtime.endpoint(pod.uid, port)
    if endpoint is None:
        return False, refused(kind, pod.address, port, path)
    if kind == "tcpSocket":
        if endpoint.open is not None:
            endpoint.open().close()
        return True, ""
    request = HttpRequest(
        "GET",
        path,
        {
            "host": f"{pod.address}:{port}",
            "user-agent": "kube-probe/1.33",
            "x-forwarded-for": pod.kubelet.address,
        },
    )
    answer = await endpoint.answer(port, request)
    if 200 <= answer.status < 400:
        return True, ""
    return False, f"HTTP probe failed with statuscode: {answer.status}"


async def _run(pod: Pod, container: ContainerState, probe: Object) -> tuple[bool, str]:
    seconds = float(probe.get("timeoutSeconds") or 1)
    command = list(probe["exec"].get("command") or [""])
    runtime = pod.kubelet.runtime
    done = await runtime.exec_sync(pod.uid, statuses.record_of(container), command, seconds)
    if done.exit_code is None:
        text = " ".join(command)
        return False, f'command timed out: "{text}" timed out after {int(seconds)}s'
    return done.exit_code == 0, done.output.rstrip("\n")


def port_of(spec: Object, port: int | str) -> int:
    """Resolves a port number or name; 0 when the name is unknown."""
    if isinstance(port, int) or port.isdigit():
        return int(port)
    for entry in spec.get("ports") or ():
        if entry.get("name") == port:
            return int(entry["containerPort"])
    return 0


def refused(kind: str, address: str, port: int, path: str) -> str:
    dial = f"dial tcp {address}:{port}: connect: connection refused"
    return f'Get "http://{address}:{port}{path}": {dial}' if kind == "httpGet" else dial
