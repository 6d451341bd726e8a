"""What the product may do to a cluster from outside: clock, breakpoints, roles, reading state.

An action takes effect between two steps of the kernel and is recorded. A bad one is refused with
one clear sentence and changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from apiserver_app.etcd import server as servers
from apiserver_app.etcd.backend import FORK
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.handlers.server import life as lives
from apiserver_app.http import startup
from apiserver_app.machinery.probe import KINDS
from apiserver_app.registry import generic, storagecalls, watchcache
from lifecycle import catalog
from lifecycle.etcdctl import processes
from lifecycle.hosting.worker import ballot, forms, names
from lifecycle.hosting.worker.clock import parse_speed
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.trace import redaction
from lifecycle.trace.recorder import Breakpoint

BREAKPOINTS_MAX = 32
# by which a cluster does something else than by itself
TOUCHING = ("role", "apiserver", "etcd", "fault", "console")
FAULT = "etcdserver: request timed out"
FAULTS_MAX, FAULT_TIMES_MAX, FAULT_CHARACTERS_MAX = 16, 1000, 500
CONSOLE_CHARACTERS_MAX = 65_536
PAGE_CHARACTERS_MAX = 64
Args = dict[str, Any]


class ControlError(Exception):
    """The action was refused; the text says why."""


class Controls:
    """Control actions by name. Each answers the state of the clock, unless it answers more."""

    def __init__(
        self, hosts: Mapping[str, ClusterHost], over: Callable[[str], None] = lambda reason: None
    ) -> None:
        """`over` is called when nothing may be driven or committed here any more."""
        self._hosts = hosts
        self._over = over
        self.actions: dict[str, Callable[[ClusterHost, Args], Any]] = {
            "state": lambda host, args: None,
            "pause": self._pause,
            "resume": self._resume,
            "step": self._step,
            "step_request": self._step_request,
            "speed": self._speed,
            "breakpoints": self._breakpoints,
            "vote": self._vote,
            "role": self._role,
            "fault": self._fault,
            "apiserver": self._apiserver,
            "etcd": self._etcd,
            "reset": self._reset,
            "objects": self._objects,
            "object_at": self._object_at,
            "console": self._console,
            "startup": self._startup,
            "forms": self._forms,
            "rules": self._rules,
            "resolve": self._resolve,
        }

    def add(self, actions: Mapping[str, Callable[[ClusterHost, Args], Any]]) -> None:
        self.actions.update(actions)

    def handle(self, cluster: str, action: str, args: Args) -> Args:
        host = self._hosts.get(cluster)
        if host is None:
            raise ControlError(f'there is no cluster "{cluster}"')
        do = self.actions.get(action)
        if do is None:
            known = ", ".join(sorted(self.actions))
            raise ControlError(f'unknown action "{action}"; there are: {known}')
        answer = do(host, args)
        return {**self._state(host), **(answer or {})}

    def _state(self, host: ClusterHost) -> Args:
        cluster = host.cluster
        state = cluster.state
        return {
            **host.state(),
            "cluster": cluster.name,
            "seq": cluster.recorder.seq,
            "revision": cluster.store.revision,
            "now": cluster.kernel.now - state.epoch,
            "epoch": state.epoch,
            "version": state.version,
            "seed": state.seed,
            "profile": state.profile,
            "ready": cluster.ready,
            "untouched": host.untouched,
            "nodes": cluster.inputs.nodes,
            "roles": {name: role.states() for name, role in cluster.roles.items()},
        }

    # -- the clock ------------------------------------------------------------------------------

    def _pause(self, host: ClusterHost, args: Args) -> None:
        self._record(host, "pause", {})
        host.pause()

    def _resume(self, host: ClusterHost, args: Args) -> None:
        self._record(host, "resume", {})
        host.resume()

    def _step(self, host: ClusterHost, args: Args) -> None:
        self._record(host, "step", {})
        host.step("hop")

    def _step_request(self, host: ClusterHost, args: Args) -> None:
        self._record(host, "step_request", {})
        host.step("request")

    def _speed(self, host: ClusterHost, args: Args) -> None:
        try:
            mode, speed = parse_speed(args.get("speed"))
        except ValueError as error:
            raise ControlError(str(error)) from error
        self._record(host, "speed", {"mode": mode, "speed": speed})
        host.set_speed(mode, speed)
        host.cluster.recorder.tell("clock", mode, speed, span=0)

    def _breakpoints(self, host: ClusterHost, args: Args) -> None:
        wanted = args.get("set")
        if not isinstance(wanted, list) or len(wanted) > BREAKPOINTS_MAX:
            raise ControlError(f"set must be a list of at most {BREAKPOINTS_MAX} breakpoints")
        parsed = tuple(_breakpoint(item) for item in wanted)
        self._record(host, "breakpoints", {"set": wanted})
        recorder = host.cluster.recorder
        recorder.arm(stepping=recorder.stepping, breakpoints=parsed)

    def _vote(self, host: ClusterHost, args: Args) -> None:
        """Where somebody who looks expects a pod, while its filters have run and no more."""
        page, node = str(args.get("page", "")), str(args.get("node", ""))
        if not 0 < len(page) <= PAGE_CHARACTERS_MAX:
            raise ControlError(f"page must be a text of at most {PAGE_CHARACTERS_MAX} characters")
        held = host.cluster.recorder.held if host.kernel.frozen else None
        if held is None or held["kind"] != "schedule" or held["span"] != args.get("span"):
            raise ControlError("the scheduler does not stand at that question, or not any more")
        if host.cluster.store.get(f"/registry/minions/{node}") is None:
            raise ControlError(f'there is no node "{node}"')
        if not host.ballot.cast(held["span"], page, node):
            raise ControlError(f"{ballot.PAGES_MAX} pages have answered already")

    # -- components -----------------------------------------------------------------------------

    def _role(self, host: ClusterHost, args: Args) -> None:
        name, do = str(args.get("role", "")), str(args.get("do", ""))
        if name not in host.cluster.roles:
            known = ", ".join(host.cluster.roles)
            raise ControlError(f'there is no role "{name}"; there are: {known}')
        component = str(args.get("component", ""))
        self._record(host, "role", {"role": name, "do": do, "component": component})
        try:
            host.cluster.role(name, do, component=component)
        except ValueError as error:
            raise ControlError(str(error)) from error

    def _apiserver(self, host: ClusterHost, args: Args) -> None:
        """Stop the API server in order, or start it again."""
        do, life = str(args.get("do", "")), host.cluster.context.life
        act = {"start": life.start, "stop": life.stop}.get(do)
        if act is None:
            raise ControlError(f'the API server can be asked to start or stop, not to "{do}"')
        if (life.state, do) not in lives.TRANSITIONS:
            raise ControlError(f"cannot {do} the API server: it is {life.state}")
        self._record(host, "apiserver", {"do": do})
        act()

    def _reset(self, host: ClusterHost, args: Args) -> None:
        """Take away all that is stored; another worker begins as in an empty data directory."""
        if FORK in host.cluster.name:
            raise ControlError("a fork cannot start over: remove it, and fork again")
        if host.erase is None:
            raise ControlError(
                "a demo in a single process cannot start over: stop it, choose another --data-dir"
            )
        self._over(f'the cluster "{host.cluster.name}" starts over')
        host.erase()

    # -- etcd -----------------------------------------------------------------------------------

    def _etcd(self, host: ClusterHost, args: Args) -> None:
        """Stop etcd, or start it again."""
        do, life = str(args.get("do", "")), host.cluster.context.etcd
        act = {"start": life.start, "stop": life.stop}.get(do)
        if act is None:
            raise ControlError(f'etcd can be asked to start or stop, not to "{do}"')
        if life.runs == (do == "start"):
            raise ControlError(f"cannot {do} etcd: it is {life.state}")
        self._record(host, "etcd", {"do": do})
        act()

    def _fault(self, host: ClusterHost, args: Args) -> None:
        """Have etcd answer the next writes of a resource with an error; 0 times: no more faults."""
        resource, op = str(args.get("resource", "")), str(args.get("op", ""))
        message, times = str(args.get("message") or FAULT), args.get("times", 1)
        if resource and resource not in host.cluster.resources.by_key:
            raise ControlError(f'there is no resource "{resource}"')
        if op and op not in storagecalls.OF_WRITE:
            raise ControlError(f'op must be one of {", ".join(storagecalls.OF_WRITE)}, not "{op}"')
        if not isinstance(times, int) or not 0 <= times <= FAULT_TIMES_MAX:
            raise ControlError(f"times must be a number up to {FAULT_TIMES_MAX}")
        faults = host.cluster.context.storage.faults
        if times and len(faults) >= FAULTS_MAX:
            raise ControlError(f"there are {FAULTS_MAX} faults already")
        detail = {"resource": resource, "op": op, "times": times, "message": message}
        self._record(host, "fault", detail)
        if times:
            faults.append(generic.Fault(message[:FAULT_CHARACTERS_MAX], resource, op, times))
        else:
            faults.clear()

    def _console(self, host: ClusterHost, args: Args) -> Args:
        """Run one etcdctl command line."""
        line, stdin = str(args.get("command", "")), str(args.get("stdin", ""))
        if len(line) + len(stdin) > CONSOLE_CHARACTERS_MAX:
            raise ControlError(f"a command has at most {CONSOLE_CHARACTERS_MAX} characters")
        self._record(host, "console", {"command": line, "stdin": stdin})
        answer = processes.console(_looked_at(host.cluster.etcd), line, stdin)
        return {**answer, "revision": host.cluster.store.revision}

    # -- reading --------------------------------------------------------------------------------

    def _objects(self, host: ClusterHost, args: Args) -> Args:
        """Current objects under a prefix of the store."""
        prefix = str(args.get("prefix", "/registry/"))
        entries = host.cluster.store.range(prefix, limit=5000).entries
        return {"objects": {entry.key: _shown(entry) for entry in entries}}

    def _object_at(self, host: ClusterHost, args: Args) -> Args:
        key, revision = str(args.get("key", "")), args.get("revision")
        if not isinstance(revision, int) or revision < 1:
            raise ControlError("revision must be a number from 1 on")
        try:
            entry = host.cluster.store.get_at(key, revision)
        except EtcdError as error:
            raise ControlError(str(error)) from error
        return {"object": _shown(entry) if entry else None}

    def _startup(self, host: ClusterHost, args: Args) -> Args:
        """How the API server was built, with all its routes."""
        cluster = host.cluster
        steps = startup.whole(cluster.context, cluster.inputs.flags)
        return {"startup": {**steps, "likeness": catalog.likeness()}}

    def _forms(self, host: ClusterHost, args: Args) -> Args:
        """The bytes of a request, its object, and what etcd made of it."""
        seq = args.get("seq")
        if not isinstance(seq, int):
            raise ControlError("seq must be a number")
        try:
            return {"forms": forms.of_request(host.cluster, seq)}
        except KeyError as error:
            raise ControlError("no request begins with that record") from error

    def _rules(self, host: ClusterHost, args: Args) -> Args:
        """What kube-proxy has written of a service, node by node."""
        namespace, name = str(args.get("namespace", "")), str(args.get("name", ""))
        try:
            compared = host.cluster.hosts.proxies.rules_of(namespace, name)
        except KeyError as error:
            raise ControlError(f'there is no service "{namespace}/{name}"') from error
        rules: Args = {
            "mode": compared.mode,
            "texts": [{"text": text, "on": nodes} for text, nodes in compared.texts.items()],
            "of": compared.nodes,
            "revision": host.cluster.store.revision,
        }
        return {"rules": rules}

    def _resolve(self, host: ClusterHost, args: Args) -> Args:
        """What becomes of a name that a pod of a namespace looks up."""
        name, namespace = args.get("name"), args.get("namespace")
        if not isinstance(name, str) or not names.is_asked(name):
            raise ControlError(names.NO_NAME)
        if not isinstance(namespace, str) or not names.has(host.cluster, namespace):
            raise ControlError(f'there is no namespace "{namespace}" that a pod could be in')
        return {"resolved": names.resolved(host.cluster, name, namespace)}

    def _record(self, host: ClusterHost, action: str, detail: Args) -> None:
        host.untouched &= action not in TOUCHING
        host.input_now("control", [action, detail])
        host.cluster.recorder.tell("control", action, detail, span=0)


def _shown(entry: Entry) -> Any:
    obj = watchcache.decode(entry)
    return redaction.masked(obj) if entry.key.startswith(redaction.PREFIX) else obj


class _Values:
    """The values of etcd for the console, which shows those of Secrets to nobody."""

    def __init__(self, values: servers.Values) -> None:
        self._values = values
        self.decoded, self.object_of = values.decoded, values.object_of

    def encoded(self, entry: Entry) -> bytes:
        if entry.key.startswith(redaction.PREFIX):
            entry = entry.with_value(redaction.object_bytes(entry.value))
        return self._values.encoded(entry)


def _looked_at(server: servers.Server) -> servers.Server:
    seen = copy.copy(server)
    seen.values = _Values(server.values)
    return seen


def _breakpoint(item: Any) -> Breakpoint:
    if not isinstance(item, dict) or not isinstance(item.get("kind"), str):
        raise ControlError('a breakpoint is an object with "id" and "kind"')
    if item["kind"] not in KINDS:
        raise ControlError(
            f'unknown kind of record "{item["kind"]}"; there are: {", ".join(KINDS)}'
        )
    known = {*KINDS[item["kind"]], *KINDS["request"]}
    wanted = {name: value for name, value in item.items() if name not in ("id", "kind")}
    for name in wanted:
        if name not in known:
            raise ControlError(f'a {item["kind"]} record has no field "{name}"')
    return Breakpoint(str(item.get("id") or item["kind"]), item["kind"], wanted)
