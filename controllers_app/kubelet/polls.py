"""Probes that are really asked: commands, and ports of containers whose commands are run here.

Every other probe's answers are known beforehand (probes.py) and cost nothing.

Models kubernetes pkg/kubelet/prober/{prober,worker}.go and pkg/probe/{exec,http,tcp}.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpRequest
from controllers_app.kubelet import images, probes, programs, servers
from controllers_app.kubelet.images import NEVER, Behaviour
from controllers_app.kubelet.shell import tools

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell
    from controllers_app.kubelet.podworker import PodWorker
    from controllers_app.kubelet.status import ContainerState

FOREGROUND_ASKS = 30  # so often a probe that has not changed anything may draw a fast clock along
OUTPUT_MAX = 10 * 1024
_NOTES = (
    "ready-after-seconds", "unready-after-seconds", "liveness-fails-after-seconds", "crash",
)  # fmt: skip
_DOCROOTS = {"nginx": "/usr/share/nginx/html", "httpd": "/usr/local/apache2/htdocs"}


def is_asked(worker: PodWorker, one: ContainerState, probe: Object | None) -> bool:
    """Whether the probe has to be asked to know its answer."""
    if not probe or _is_scripted(worker.pod, one.name):
        return False
    image = worker.containers.image_of(one)
    spec = worker.containers.spec_of(one)
    sets = worker.kubelet.station.directory.tools
    if "exec" in probe:
        words = probe["exec"].get("command") or [""]
        return (
            bool(image.userland)
            and tools.found(sets, image.userland, image.tools, words[0]) is not None
        )
    return "grpc" not in probe and programs.is_run_here(spec, image, sets)


def known_beforehand(
    worker: PodWorker, one: ContainerState, spec: Object, behaviour: Behaviour
) -> Behaviour:
    """The behaviour with probes that can never succeed where the image does not listen."""
    if _is_scripted(worker.pod, one.name):
        return behaviour
    ready, unhealthy = behaviour.ready_seconds, behaviour.unhealthy_after_seconds
    for kind in ("startupProbe", "readinessProbe"):
        if spec.get(kind) and failure(worker, spec, behaviour, spec[kind]):
            ready = NEVER
    if spec.get("livenessProbe") and failure(worker, spec, behaviour, spec["livenessProbe"]):
        unhealthy = 0.0
    if (ready, unhealthy) == (behaviour.ready_seconds, behaviour.unhealthy_after_seconds):
        return behaviour
    return replace(behaviour, ready_seconds=ready, unhealthy_after_seconds=unhealthy)


def failure(worker: PodWorker, spec: Object, image: Behaviour, probe: Object) -> str:
    """Why the image's server will always fail the probe; empty when it will not."""
    kind = "httpGet" if "httpGet" in probe else "tcpSocket"
    if kind not in probe or not servers.is_known(image):
        return ""
    port = port_of(spec, probe[kind]["port"])
    server = servers.ports_of(spec, image).get(port)
    address = worker.sandbox.address if worker.sandbox else ""
    path = probe[kind].get("path") or "/"
    if server is None:
        return _refused(kind, address, port, path)
    root = _DOCROOTS.get(server)
    mounted = any(
        (root or "").startswith(one["mountPath"].rstrip("/"))
        for one in spec.get("volumeMounts") or ()
    )
    if kind == "httpGet" and root and not mounted:
        name = path.partition("?")[0]
        if f"{root}{name}{'index.html' if name.endswith('/') else ''}" not in image.files:
            return "HTTP probe failed with statuscode: 404"
    return ""


async def ask(
    worker: PodWorker, one: ContainerState, cell: Cell, probe: Object, began: int
) -> tuple[bool, str]:
    """Ask once: whether it succeeded, and what to say when it did not."""
    if worker.kubelet.kernel.now < began + int(min(cell.image.ready_seconds, 1e9) * SECOND):
        return False, probes.output(probe, cell.address)
    if "exec" in probe:
        return await _ran(cell, probe)
    kind = "httpGet" if "httpGet" in probe else "tcpSocket"
    port = port_of(cell.spec, probe[kind]["port"])
    bound = servers.listening(worker, port)
    path = probe[kind].get("path") or "/"
    if bound is None:
        return False, _refused(kind, cell.address, port, path)
    if kind == "tcpSocket":
        if bound.server.open is not None:
            bound.server.open().close()
        return True, ""
    request = HttpRequest("GET", path, {
        "host": f"{cell.address}:{port}", "user-agent": "kube-probe/1.33",
        "x-forwarded-for": cell.station.address,
    })  # fmt: skip
    answer = await bound.answer(port, request)
    if 200 <= answer.status < 400:
        return True, ""
    return False, f"HTTP probe failed with statuscode: {answer.status}"


async def _ran(cell: Cell, probe: Object) -> tuple[bool, str]:
    seconds = float(probe.get("timeoutSeconds") or 1)
    command = list(probe["exec"].get("command") or [""])
    running = cell.run(command, stdin=False, tty=False)
    if not await running.ended.wait(seconds):
        running.kill()
        said = " ".join(command)
        return False, f'command timed out: "{said}" timed out after {int(seconds)}s'
    data = b""
    while (part := await running.output.take()) is not None and len(data) < OUTPUT_MAX:
        data += part[1]
    return running.exit_code == 0, data[:OUTPUT_MAX].decode("utf-8", "replace").rstrip("\n")


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


def _is_scripted(pod: Object, container: str) -> bool:
    notes = meta.annotations_of(pod)
    return any(
        f"{images.PREFIX}{prefix}{key}" in notes
        for key in _NOTES
        for prefix in ("", f"{container}.")
    )
