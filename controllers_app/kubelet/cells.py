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
from controllers_app.kubelet import environment, hostdisk, mounts, programs
from controllers_app.kubelet.images import Behaviour, Line
from controllers_app.kubelet.load import Load
from controllers_app.kubelet.logs import Log
from controllers_app.kubelet.processes import Output, Running
from controllers_app.kubelet.shell import tools
from controllers_app.kubelet.shell.files import File, Files, Folder
from controllers_app.kubelet.shell.tools import Tool
from controllers_app.kubelet.sockets import Listener

if TYPE_CHECKING:
    from controllers_app.kubelet.kubelet import Kubelet
    from controllers_app.kubelet.nodes import Directory
    from controllers_app.kubelet.podworker import PodWorker
    from controllers_app.kubelet.shell.jobs import Job
    from controllers_app.kubelet.status import ContainerState

LEFT_MAX = 64  # processes whose clients are gone
INSTANCES_MAX = 2  # of one container whose logs are kept: this one and the one before
_MOMENT = re.compile(r"\{(%[^}]*)\}")


class Cell:
    """One instance of a container, from its start until nobody can ask for it any more."""

    __slots__ = (
        "_files", "_pids", "_running", "_serving", "_variables", "container_id", "directory",
        "exit_code", "image", "jobs", "listeners", "load", "log", "main", "name", "pod", "ports",
        "since", "station",
    )  # fmt: skip

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
        self.main: Running | None = None  # its own process, when that is run here
        self.exit_code: int | None = None
        self.listeners: list[Output] = []  # who is attached
        self.load: Load | None = None  # of what it answers, when that costs anything
        self.jobs: dict[int, Job] = {}  # what its shells run in the background
        self.ports: dict[int, Listener] = {}  # that its commands listen on
        self._running: dict[int, Running] = {}
        self._pids = 1
        self._serving = False
        self._files: Files | None = None
        self._variables: dict[str, str] | None = None

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
        worker = self.worker()
        if worker is not None and worker.sandbox is not None:
            return worker.sandbox.address
        found: str = (self.pod.get("status") or {}).get("podIP") or ""
        return found

    def worker(self) -> PodWorker | None:
        """The pod on its node, while the node's kubelet is there."""
        kubelet = self.station.kubelet
        return None if kubelet is None else kubelet.workers.get(meta.uid_of(self.pod))

    async def work(self, seconds: float) -> None:
        """Have the CPU for so long."""
        if self.load is None:
            self.load = Load()
        self.load.spend(self.now, seconds)
        await self.directory.kernel.sleep(seconds)

    # -- what is in it --------------------------------------------------------------------------

    @property
    def files(self) -> Files:
        if self._files is not None:
            mounts.refresh(self)
        return self.lay_out()

    def lay_out(self) -> Files:
        """The tree as it stands, made when nobody has looked into the container so far."""
        if self._files is None:
            self._files = mounts.laid_out(self)
        return self._files

    def read(self, path: str) -> bytes | None:
        """A file's bytes."""
        found = self.files.find(path)
        return found.data if isinstance(found, File) else None

    def left_message(self, path: str) -> bytes:
        """What its processes wrote into the file; nothing when nobody looked at its files."""
        found = self._files.find(path) if self._files is not None else None
        return found.data if isinstance(found, File) else b""

    def is_folder(self, path: str) -> bool:
        return isinstance(self.files.find(path), Folder)

    def variables(self) -> dict[str, str]:
        """The environment of its processes."""
        if self._variables is None:
            directory = self.directory
            self._variables = environment.variables(
                self.pod, self.spec, image=self.image.env, lookup=directory.lookup,
                services=directory.listing("services", ""), host_ip=self.station.address,
                since=self.since,
            )  # fmt: skip
        return self._variables

    def command(self) -> list[str]:
        """The words of its main process."""
        return programs.argv(self.spec, self.image, self.variables())

    def workdir(self) -> str:
        return self.spec.get("workingDir") or self.image.workdir

    def tool(self, name: str) -> Tool | None:
        """The command of that name or path, when the image has it."""
        if self.image.userland == "none":
            return None
        return tools.found(self.directory.tools, self.image.userland, self.image.tools, name)

    # -- its processes --------------------------------------------------------------------------

    def run_main(self) -> None:
        """Run the commands that the pod gives as the main process."""
        self.main = Running(
            self, 1, self.command(), stdin=bool(self.spec.get("stdin")),
            tty=bool(self.spec.get("tty")),
        )  # fmt: skip
        self.main.start()

    def run(self, argv: list[str], *, stdin: bool, tty: bool) -> Running:
        """Start another process. A command that there is not is the caller's to refuse."""
        running = Running(self, self.new_pid(), argv, stdin=stdin, tty=tty)
        self._running[running.pid] = running
        running.start()
        return running

    def new_pid(self) -> int:
        self._pids += 7
        return self._pids

    def left(self, running: Running) -> None:
        """The process has ended."""
        self._running.pop(running.pid, None)

    def abandoned(self, running: Running) -> None:
        """Its client is gone, and it goes on. Of very many such the oldest ends."""
        left = [one for one in self._running.values() if one.is_left]
        if len(left) > LEFT_MAX:
            left[0].kill()

    def processes(self) -> list[tuple[int, str]]:
        """(pid, command line) of all of them."""
        own = programs.own_program(self.image)
        first = " ".join(self.main.argv if self.main is not None else self.command())
        if own == "nginx" and self.main is None:
            first = "nginx: master process nginx -g daemon off;"
        rows = [(1, first)]
        if own == "nginx" and self.is_serving():
            rows.append((29, "nginx: worker process"))
        rows += [(pid, " ".join(one.argv)) for pid, one in sorted(self._running.items())]
        rows += [(pid, job.text) for pid, job in self.jobs.items()]
        return sorted(rows)

    def signalled(self, pid: int, signal: str) -> bool:
        """Send a signal; whether there is such a process. PID 1 takes only what it handles."""
        if pid == 1:
            worker = self.worker()
            if self.main is not None:
                self.main.signal(signal)
            elif signal in ("TERM", "QUIT", "INT") and worker is not None:
                worker.containers.ends_by_itself(self.container_id, 0)
            return True
        one = self._running.get(pid) or self.jobs.get(pid)
        if isinstance(one, Running):
            one.signal(signal)
        elif one is not None and signal != "0":
            one.kill(signal)
        return one is not None or any(pid == known for known, _ in self.processes())

    def server_program(self) -> str:
        """The server that the image's own program is; empty when it is none."""
        return programs.own_program(self.image) if self.image.ports else ""

    def serve(self) -> None:
        """The pod's commands have started the image's server."""
        self._serving = True
        for line in self.image.logs:
            self.log.write(self.now, line.stream, filled(line.text, self.now).encode() + b"\n")

    def is_serving(self) -> bool:
        """Whether the image's servers listen, unless it is too early for them."""
        return self.main is None or self._serving

    # -- its output -----------------------------------------------------------------------------

    def emit(self, stream: str, data: bytes, at: int | None = None) -> None:
        """The container writes: to its log, and to who is attached."""
        if not self.log.closed:
            self.log.write(self.now if at is None else at, stream, data)
            for listener in self.listeners:
                listener.put(stream, data)

    def catch_up(self) -> None:
        """Somebody waits for what the container writes."""
        if self.main is not None:
            self.main.runner.poke()

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
        at = self.since + int(line.at * SECOND)
        self.emit(line.stream, filled(line.text, at).encode() + b"\n", at)

    def end(self, now: int, code: int | None = None) -> None:
        """The container has ended: what it wrote is left, all else is gone."""
        if self.log.closed:
            return
        for running in [*self._running.values(), *([self.main] if self.main else [])]:
            running.kill()
        for job in list(self.jobs.values()):
            job.kill("KILL")
        for port in list(self.ports):
            self.ports.pop(port).close()
        self.exit_code = code
        self.log.close(now)
        for listener in self.listeners:
            listener.close()
        self.listeners.clear()
        self._files = self._variables = None


class Station:
    """One node, as its containers see it: what stays when its kubelet is replaced."""

    def __init__(self, directory: Directory, name: str, address: str) -> None:
        self.directory = directory
        self.name = name
        self.address = address
        self.kubelet: Kubelet | None = None  # while it runs
        self.volumes: dict[str, dict[str, Folder]] = {}  # pod's uid -> volume
        self._disk: Files | None = None
        self._cells: dict[str, dict[str, list[Cell]]] = {}  # pod's uid -> container -> instances

    @property
    def disk(self) -> Files:
        """What pods find by hostPath."""
        if self._disk is None:
            commands = self.directory.tools.get(hostdisk.TOOLS, {})
            now = self.directory.kernel.now
            self._disk = Files(
                hostdisk.laid_out(
                    self.name, self.address, commands, now, self.directory.network.dns_address
                )
            )
        return self._disk

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

    def begin(self, worker: PodWorker, one: ContainerState, image: Behaviour, since: int) -> Cell:
        """The instance that starts now, or that was running when the kubelet was replaced, with
        the commands of the pod run in it."""
        cell = self.found(worker.uid, one.name, one.container_id)
        if cell is None:
            cell = Cell(self, worker.pod, one.name, image, one.container_id, since)
            self.add(cell)
            cell.run_main()
        return cell

    def ended(self, uid: str, one: ContainerState, code: int) -> None:
        """The instance does not run any more."""
        cell = self.found(uid, one.name, one.container_id)
        if cell is not None:
            cell.end(self.directory.kernel.now, code)

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
        container_id = _id_of(state)
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
        self.volumes.pop(uid, None)
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


def _id_of(state: Object) -> str:
    found: str = state.get("containerID") or ""
    return found


def _since(cell: Cell) -> int:
    return cell.since


def filled(text: str, at: int) -> str:
    """The line with the moment in it where it has one: {%Y/%m/%d %H:%M:%S}, %L is ms."""
    if "{%" not in text:
        return text
    moment = time.gmtime(at // SECOND)

    def moment_of(found: re.Match[str]) -> str:
        return time.strftime(found[1].replace("%L", f"{at // 1000 % 1000:03d}"), moment)

    return _MOMENT.sub(moment_of, text)
