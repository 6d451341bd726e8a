"""Which processes a container sees: its own, those of the container that an ephemeral one targets,
the pod's when they share, the node's.

A container that sees others finds their files below /proc/<pid>/root, as `kubectl debug` is used.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container_linux.go and
pkg/kubelet/kuberuntime/util/util.go (namespacesForPod, PidNamespaceForPod).
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery.meta import Object
from controllers_app.containerruntime.containers import Container
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.shell.filesystem import File, Folder

PIDS = 64  # of one container among those of others
NODE_PIDS = 1000  # from here on those of containers, on their node
_SYSTEM = (
    (1, "/sbin/init"),
    (412, "/usr/bin/containerd"),
    (506, "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"),
)


class Seen(NamedTuple):
    """A process under the number that it has for who looks."""

    pid: int
    command: str
    container: Container | None  # whose it is; None: it is the node's or the pod's own
    own: int  # its number there


def seen(container: Container) -> list[Seen]:
    """All that the container sees."""
    sandbox, registry = container.sandbox(), container.registry
    if sandbox is None:
        return [Seen(pid, command, container, pid) for pid, command in container.processes()]
    out: list[Seen] = []
    if container.pod["spec"].get("hostPID"):
        out += [Seen(pid, command, None, pid) for pid, command in _SYSTEM]
        sandboxes = container.host.sandboxes.values()
        others = [other for each in sandboxes for other in registry.running(each)]
        first = NODE_PIDS
    elif container.pod["spec"].get("shareProcessNamespace"):
        out.append(Seen(1, "/pause", None, 1))
        others, first = list(registry.running(sandbox)), 6
    else:
        root = _target(container, sandbox) or container
        out += [Seen(pid, command, root, pid) for pid, command in root.processes()]
        others = [other for other in registry.running(sandbox) if _target(other, sandbox) is root]
        first = PIDS
    for place, other in enumerate(others):
        at = first + place * PIDS
        out += [Seen(at + pid - 1, command, other, pid) for pid, command in other.processes()]
    return sorted(out, key=lambda process: process.pid)


def _target(container: Container, sandbox: PodSandbox) -> Container | None:
    """The running container whose processes an ephemeral one asked to see."""
    name = _wanted(container.spec)
    record = sandbox.records.get(name)
    if record is None:
        return None
    return container.registry.get(sandbox.pod, record, sandbox.image_of(name))


def _wanted(spec: Object) -> str:
    name: str = spec.get("targetContainerName") or ""
    return name


def sees_others(container: Container) -> bool:
    spec = container.pod["spec"]
    shares = spec.get("hostPID") or spec.get("shareProcessNamespace")
    return bool(shares or _wanted(container.spec))


def lay_out(container: Container) -> None:
    """Show the files of other containers below /proc, as they are now."""
    files = container.files
    proc = files.find("/proc")
    if not isinstance(proc, Folder):
        return
    for name in [name for name in proc.entries if name.isdigit()]:
        del proc.entries[name]
    for process in seen(container):
        folder = proc.entries[str(process.pid)] = Folder(mtime=container.now)
        folder.entries["cmdline"] = _text(process.command.replace(" ", "\0") + "\0", container.now)
        if process.container is not None and process.container is not container:
            folder.entries["root"] = process.container.files.root


def _text(text: str, now: int) -> File:
    return File(text.encode(), 0o444, now)
