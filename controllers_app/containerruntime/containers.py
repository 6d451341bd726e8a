"""What is inside of a container: its log, its files and its processes, made when somebody looks.

Of a container that nobody looks into, and that runs no commands of its own, nothing is kept here.
The insides of a node's containers outlive its kubelet; they are gone with the worker process, and
what is known of the image is laid out anew.

Models kubernetes staging/src/k8s.io/cri-api (RuntimeService) as containerd fulfils it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import quantity
from controllers_app.containerruntime import entrypoint, rootfs
from controllers_app.containerruntime.cpuusage import CpuUsage
from controllers_app.containerruntime.environment import Host
from controllers_app.containerruntime.instances import Instance
from controllers_app.containerruntime.logs import Log
from controllers_app.containerruntime.processes import ContainerProcess, Output
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.cri.images import Image, Line
from controllers_app.cri.services import ContainerRecord
from controllers_app.shell.cgroup import CORES, CORES_MIN, Cgroup
from controllers_app.shell.filesystem import File, Files, Folder
from controllers_app.shell.machine import BackgroundProcess, Machine
from controllers_app.shell.sockets import Listener
from controllers_app.shell.streams import Sink

LEFT_MAX = 64  # processes whose clients are gone
INSTANCES_MAX = 2  # of one container whose logs are kept: this one and the one before
_MOMENT = re.compile(r"\{(%[^}]*)\}")


class Container(Instance):
    """One instance of a container, from its start until nobody can ask for it any more."""

    __slots__ = (
        "_files",
        "_pids",
        "_running",
        "_serving",
        "cgroup",
        "cpu",
        "exit_code",
        "jobs",
        "listeners",
        "log",
        "main",
        "ports",
        "registry",
    )

    def __init__(
        self,
        registry: Containers,
        pod: Object,
        name: str,
        image: Image,
        container_id: str,
        since: int,
    ) -> None:
        super().__init__(registry.host, pod, name, image, container_id, since)
        self.registry = registry
        self.log = Log(self.environment.kernel, self.host.logs)
        self.cgroup = Cgroup(cores_of(self.spec), above=self.host.cgroup)
        self.main: ContainerProcess | None = None  # its own process, when that is run here
        self.exit_code: int | None = None
        self.listeners: list[Output] = []  # who is attached
        self.cpu: CpuUsage | None = None  # of what it answers, when that costs anything
        self.jobs: dict[int, BackgroundProcess] = {}  # what its shells run in the background
        self.ports: dict[int, Listener] = {}  # that its commands listen on
        self._running: dict[int, ContainerProcess] = {}
        self._pids = 1
        self._serving = False
        self._files: Files | None = None

    async def work(self, seconds: float) -> None:
        """Have the CPU for so long."""
        if self.cpu is None:
            self.cpu = CpuUsage()
        self.cpu.spend(self.now, seconds)
        await self.environment.kernel.sleep(seconds)

    # -- what is in it --------------------------------------------------------------------------

    @property
    def files(self) -> Files:
        if self._files is not None:
            self.environment.volumes.refresh(self)
        return self.lay_out()

    def lay_out(self) -> Files:
        """The tree as it stands, made when nobody has looked into the container so far."""
        if self._files is None:
            self._files = rootfs.laid_out(self)
        return self._files

    def read(self, path: str) -> bytes | None:
        """A file's bytes."""
        file = self.files.find(path)
        return file.data if isinstance(file, File) else None

    def left_message(self, path: str) -> bytes:
        """What its processes wrote into the file; nothing when nobody looked at its files."""
        file = self._files.find(path) if self._files is not None else None
        return file.data if isinstance(file, File) else b""

    def is_folder(self, path: str) -> bool:
        return isinstance(self.files.find(path), Folder)

    # -- its processes --------------------------------------------------------------------------

    def run_main(self) -> None:
        """Run the commands that the pod gives as the main process."""
        self.main = ContainerProcess(
            self,
            1,
            self.command(),
            stdin=bool(self.spec.get("stdin")),
            tty=bool(self.spec.get("tty")),
        )
        self.main.start()

    def run(self, argv: list[str], *, stdin: bool, tty: bool) -> ContainerProcess:
        """Start another process. A command that there is not is the caller's to refuse."""
        running = ContainerProcess(self, self.new_pid(), argv, stdin=stdin, tty=tty)
        self._running[running.pid] = running
        running.start()
        return running

    def new_pid(self) -> int:
        self._pids += 7
        return self._pids

    def machine(self, process: ContainerProcess, stderr: Sink) -> Machine:
        return self.registry.machine(self, process, stderr)

    async def fetch_tokens(self) -> None:
        self.lay_out()
        await self.environment.volumes.fetch_tokens(self)

    def left(self, running: ContainerProcess) -> None:
        """The process has ended."""
        self._running.pop(running.pid, None)

    def abandoned(self, running: ContainerProcess) -> None:
        """Its client is gone, and it continues. Of very many such the oldest ends."""
        left = [running for running in self._running.values() if running.is_left]
        if len(left) > LEFT_MAX:
            left[0].kill()

    def processes(self) -> list[tuple[int, str]]:
        """(pid, command line) of all of them."""
        own = entrypoint.own_program(self.image)
        first = " ".join(self.main.argv if self.main is not None else self.command())
        if own == "nginx" and self.main is None:
            first = "nginx: master process nginx -g daemon off;"
        rows = [(1, first)]
        if own == "nginx" and self.is_serving():
            rows.append((29, "nginx: worker process"))
        rows += [(pid, " ".join(running.argv)) for pid, running in sorted(self._running.items())]
        rows += [(pid, job.text) for pid, job in self.jobs.items()]
        return sorted(rows)

    def signalled(self, pid: int, signal: str) -> bool:
        """Send a signal; whether there is such a process. PID 1 takes only what it handles."""
        if pid == 1:
            sandbox = self.sandbox()
            if self.main is not None:
                self.main.signal(signal)
            elif signal in ("TERM", "QUIT", "INT") and sandbox is not None:
                sandbox.on_exit(self.id, 0)
            return True
        process = self._running.get(pid) or self.jobs.get(pid)
        if isinstance(process, ContainerProcess):
            process.signal(signal)
        elif process is not None and signal != "0":
            process.kill(signal)
        return process is not None or any(pid == known for known, _ in self.processes())

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
        kernel = self.environment.kernel
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
        if self._files is not None:
            self._files.disk.free()
        self._files = self._variables = None

    def drop(self) -> None:
        """Nobody can ask for it any more."""
        self.log.drop()
        self.main = None


class Containers:
    """The containers of one node that somebody looked into, or whose commands are run."""

    def __init__(self, host: Host, machine: MachineFactory) -> None:
        self.host = host
        self.machine = machine
        self._instances: dict[str, dict[str, list[Container]]] = {}  # pod's uid -> name

    def __len__(self) -> int:
        """Of how many pods."""
        return len(self._instances)

    def find(self, uid: str, name: str, container_id: str) -> Container | None:
        """The instance, if somebody had it made."""
        for container in self._instances.get(uid, {}).get(name, ()):
            if container.id == container_id:
                return container
        return None

    def begin(self, pod: Object, record: ContainerRecord, image: Image, since: int) -> Container:
        """The instance that starts now, or that was running when the kubelet was replaced, with
        the commands of the pod run in it."""
        container = self.find(meta.uid_of(pod), record.name, record.id)
        if container is None:
            container = Container(self, pod, record.name, image, record.id, since)
            self._add(container)
            container.run_main()
        return container

    def get(self, pod: Object, record: ContainerRecord, image: Image) -> Container:
        """An instance that runs or has ended; what there is to know of it is laid out when nobody
        looked into it so far."""
        container = self.find(meta.uid_of(pod), record.name, record.id)
        if container is None:
            began = record.started_at
            since = self.host.environment.kernel.now if began is None else began
            container = Container(self, pod, record.name, image, record.id, since)
            container.say_image_lines(record.finished_at)
            if record.finished_at is not None:
                container.end(record.finished_at)
            self._add(container)
        container.pod = pod
        return container

    def running(self, sandbox: PodSandbox) -> Iterator[Container]:
        for record in sandbox.running():
            yield self.get(sandbox.pod, record, sandbox.image_of(record.name))

    def forget(self, uid: str) -> None:
        """Nothing of the pod is left on the node."""
        for instances in self._instances.pop(uid, {}).values():
            for container in instances:
                container.end(self.host.environment.kernel.now)
                container.drop()

    def _add(self, container: Container) -> None:
        """Keep it, and of its name one instance more at most."""
        uid = meta.uid_of(container.pod)
        instances = self._instances.setdefault(uid, {}).setdefault(container.name, [])
        instances.append(container)
        instances.sort(key=_since)
        for old in instances[:-INSTANCES_MAX]:
            old.drop()
        del instances[:-INSTANCES_MAX]


MachineFactory = Callable[[Container, ContainerProcess, Sink], Machine]


def cores_of(spec: Object) -> float:
    """What its limit leaves it of a CPU: its processes get no more."""
    limit = ((spec.get("resources") or {}).get("limits") or {}).get("cpu")
    return CORES if limit is None else max(CORES_MIN, quantity.milli_value(limit) / 1000)


def _since(container: Container) -> int:
    return container.since


def filled(text: str, at: int) -> str:
    """The line with the moment in it where it has one: {%Y/%m/%d %H:%M:%S}, %L is ms."""
    if "{%" not in text:
        return text
    moment = time.gmtime(at // SECOND)

    def moment_of(match: re.Match[str]) -> str:
        return time.strftime(match[1].replace("%L", f"{at // 1000 % 1000:03d}"), moment)

    return _MOMENT.sub(moment_of, text)
