"""Which processes a container sees: its own, those of the container that an ephemeral one targets,
the pod's when they share, the node's.

A container that sees others finds their files below /proc/<pid>/root, as `kubectl debug` is used.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container_linux.go and
pkg/kubelet/kuberuntime/util/util.go (namespacesForPod, PidNamespaceForPod).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from apiserver_app.machinery.meta import Object
from controllers_app.kubelet.shell.files import File, Folder

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell
    from controllers_app.kubelet.podworker import PodWorker

PIDS = 64  # of one container among those of others
NODE_PIDS = 1000  # from here on those of containers, on their node
_SYSTEM = (
    (1, "/sbin/init"), (412, "/usr/bin/containerd"),
    (506, "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"),
)  # fmt: skip


class Seen(NamedTuple):
    """A process under the number that it has for who looks."""

    pid: int
    command: str
    cell: Cell | None  # whose it is; None: it is the node's or the pod's own
    own: int  # its number there


def seen(cell: Cell) -> list[Seen]:
    """All that the container sees."""
    worker = cell.worker()
    if worker is None:
        return [Seen(pid, command, cell, pid) for pid, command in cell.processes()]
    out: list[Seen] = []
    if cell.pod["spec"].get("hostPID"):
        out += [Seen(pid, command, None, pid) for pid, command in _SYSTEM]
        kubelet = cell.station.kubelet
        workers = kubelet.workers.values() if kubelet is not None else (worker,)
        places = [one for each in workers for one in _cells(each)]
        first = NODE_PIDS
    elif cell.pod["spec"].get("shareProcessNamespace"):
        out.append(Seen(1, "/pause", None, 1))
        places, first = list(_cells(worker)), 6
    else:
        root = _target(cell, worker) or cell
        out += [Seen(pid, command, root, pid) for pid, command in root.processes()]
        places = [one for one in _cells(worker) if _target(one, worker) is root]
        first = PIDS
    for place, one in enumerate(places):
        at = first + place * PIDS
        out += [Seen(at + pid - 1, command, one, pid) for pid, command in one.processes()]
    return sorted(out, key=lambda one: one.pid)


def _cells(worker: PodWorker) -> Iterable[Cell]:
    """Of the pod's running containers."""
    station = worker.kubelet.station
    for one in worker.containers.running():
        yield station.current(worker, one, worker.containers.image_of(one))


def _target(cell: Cell, worker: PodWorker) -> Cell | None:
    """The running container whose processes an ephemeral one asked to see."""
    name = _wanted(cell.spec)
    one = worker.containers.find(name) if name else None
    if one is None or not one.is_running:
        return None
    return worker.kubelet.station.current(worker, one, worker.containers.image_of(one))


def _wanted(spec: Object) -> str:
    name: str = spec.get("targetContainerName") or ""
    return name


def sees_others(cell: Cell) -> bool:
    spec = cell.pod["spec"]
    shares = spec.get("hostPID") or spec.get("shareProcessNamespace")
    return bool(shares or _wanted(cell.spec))


def lay_out(cell: Cell) -> None:
    """Show the files of other containers below /proc, as they are now."""
    files = cell.files
    proc = files.find("/proc")
    if not isinstance(proc, Folder):
        return
    for name in [name for name in proc.entries if name.isdigit()]:
        del proc.entries[name]
    for one in seen(cell):
        folder = proc.entries[str(one.pid)] = Folder(mtime=cell.now)
        folder.entries["cmdline"] = _text(one.command.replace(" ", "\0") + "\0", cell.now)
        if one.cell is not None and one.cell is not cell:
            folder.entries["root"] = one.cell.files.root


def _text(text: str, now: int) -> File:
    return File(text.encode(), 0o444, now)
