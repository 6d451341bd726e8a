"""What is inside of a container: its log, its files and its processes, made when somebody looks.

A container that nobody looks into, and that runs no commands of its own, has no cell and costs
nothing. A node's cells outlive its kubelet, as containers do; they are gone with the worker
process, and what is known of the image is laid out anew.

Models kubernetes staging/src/k8s.io/cri-api (RuntimeService) as containerd fulfils it.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet.images import Behaviour, Line
from controllers_app.kubelet.logs import Log

if TYPE_CHECKING:
    from controllers_app.kubelet.kubelet import Kubelet
    from controllers_app.kubelet.nodes import Directory
    from controllers_app.kubelet.podworker import PodWorker
    from controllers_app.kubelet.status import ContainerState

INSTANCES_MAX = 2  # of one container whose logs are kept: this one and the one before
_MOMENT = re.compile(r"\{(%[^}]*)\}")


class Cell:
    """One instance of a container, from its start until nobody can ask for it any more."""

    __slots__ = ("container_id", "directory", "image", "log", "name", "pod", "since", "station")

    def __init__(
        self, station: Station, pod: Object, name: str, image: Behaviour, container_id: str,
        since: int,
    ) -> None:  # fmt: skip
        self.station = station
        self.directory = station.directory
        self.pod = pod
        self.name = name
        self.image = image
        self.container_id = container_id
        self.since = since
        self.log = Log(station.directory.kernel)

    @property
    def spec(self) -> Object:
        spec = self.pod["spec"]
        groups = ("containers", "initContainers", "ephemeralContainers")
        found: Object = next(
            one for group in groups for one in spec.get(group) or () if one["name"] == self.name
        )
        return found

    @property
    def now(self) -> int:
        return self.directory.kernel.now

    @property
    def address(self) -> str:
        """The pod's."""
        found: str = (self.pod.get("status") or {}).get("podIP") or ""
        return found

    def read(self, path: str) -> bytes | None:
        """A file's bytes."""
        text = self.image.files.get(path)
        return None if text is None else text.encode()

    def is_folder(self, path: str) -> bool:
        return any(one.startswith(path.rstrip("/") + "/") for one in self.image.files)

    def catch_up(self) -> None:
        """Somebody waits for what the container writes."""

    def say_image_lines(self, until: int | None) -> None:
        """Write what the image says by itself, those of later with the time."""
        kernel = self.directory.kernel
        for line in self.image.logs:
            at = self.since + int(line.at * SECOND)
            if until is not None and at > until:
                return
            if at <= kernel.now:
                self._say(line)
            else:
                kernel.call_at(at, self._say, line, background=True)

    def _say(self, line: Line) -> None:
        if not self.log.closed:
            at = self.since + int(line.at * SECOND)
            self.log.write(at, line.stream, _filled(line.text, at).encode() + b"\n")

    def end(self, now: int) -> None:
        """The container has ended: what it wrote is left, all else is gone."""
        if not self.log.closed:
            self.log.close(now)


class Station:
    """One node, as its containers see it: what stays when its kubelet is replaced."""

    def __init__(self, directory: Directory, name: str, address: str) -> None:
        self.directory = directory
        self.name = name
        self.address = address
        self.kubelet: Kubelet | None = None  # while it runs
        self._cells: dict[str, dict[str, list[Cell]]] = {}  # pod's uid -> container -> instances

    def enter(self, kubelet: Kubelet) -> None:
        """The node's kubelet runs from now on."""
        self.kubelet = kubelet
        kubelet.group.at_end(self._leave)

    def _leave(self) -> None:
        self.kubelet = None

    def found(self, uid: str, name: str, container_id: str) -> Cell | None:
        """The instance's cell, if somebody had one made."""
        for cell in self._cells.get(uid, {}).get(name, ()):
            if cell.container_id == container_id:
                return cell
        return None

    def current(self, worker: PodWorker, one: ContainerState, image: Behaviour) -> Cell:
        """The cell of the instance that runs, or that ended last."""
        cell = self.found(worker.uid, one.name, one.container_id)
        if cell is None:
            state = one.state.get("running") or one.terminated or {}
            cell = self._lay_out(worker, one.name, image, one.container_id, state)
        cell.pod = worker.pod
        return cell

    def previous(self, worker: PodWorker, one: ContainerState, image: Behaviour) -> Cell:
        """The cell of the instance before that."""
        state = one.last["terminated"]
        container_id = meta_id(state)
        found = self.found(worker.uid, one.name, container_id)
        return found or self._lay_out(worker, one.name, image, container_id, state)

    def add(self, cell: Cell) -> None:
        """Keep it, and of its container one instance more at most."""
        uid = meta.uid_of(cell.pod)
        instances = self._cells.setdefault(uid, {}).setdefault(cell.name, [])
        instances.append(cell)
        instances.sort(key=_since)
        del instances[:-INSTANCES_MAX]

    def forget(self, uid: str) -> None:
        """Nothing of the pod is left on the node."""
        for cells in self._cells.pop(uid, {}).values():
            for cell in cells:
                cell.end(self.directory.kernel.now)

    def _lay_out(
        self, worker: PodWorker, name: str, image: Behaviour, container_id: str, state: Object
    ) -> Cell:
        """What there is to know of an instance that nobody looked into so far."""
        began = state.get("startedAt")
        since = meta.parse_time(began) if began else self.directory.kernel.now
        cell = Cell(self, worker.pod, name, image, container_id, since)
        ended = state.get("finishedAt")
        until = meta.parse_time(ended) if ended else None
        cell.say_image_lines(until)
        if until is not None:
            cell.end(until)
        self.add(cell)
        return cell


def meta_id(state: Object) -> str:
    found: str = state.get("containerID") or ""
    return found


def _since(cell: Cell) -> int:
    return cell.since


def _filled(text: str, at: int) -> str:
    """The line with the moment in it where it has one: {%Y/%m/%d %H:%M:%S}, %L is ms."""
    if "{%" not in text:
        return text
    moment = time.gmtime(at // SECOND)

    def moment_of(found: re.Match[str]) -> str:
        return time.strftime(found[1].replace("%L", f"{at // 1000 % 1000:03d}"), moment)

    return _MOMENT.sub(moment_of, text)
