"""A cluster driven by a script in virtual time: the same script and seed give the same trace.

No wall clock is read: the kernel jumps from timer to timer and every input enters at a settled
moment. A script is YAML:

    seed: 7                  # optional, as are nodes, kubernetes, epoch
    nodes: 3
    profile: session         # optional: the cluster of a profile that names its machines
    steps:
    - apply: |               # one request for each document, as kubectl create -f sends it
        apiVersion: apps/v1
        ...
      as: student            # a user of the cast; default: kubernetes-admin
    - request: {method: DELETE, path: /api/v1/namespaces/default/pods/web}
    - settle: true           # until nothing is left to do but housekeeping
    - wait: 5                # seconds of virtual time, housekeeping included
    - until: "2025-01-01T00:01:00Z"
    - restart: true          # the worker is killed and started again
    bookmarks:               # optional: moments with a title
    - {at: "2025-01-01T00:00:30Z", title: something begins}
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from apiserver_app.auth import pki
from apiserver_app.auth.data import cast
from apiserver_app.etcd.backend import Backend, MemoryBackend
from apiserver_app.http.exchange import Request
from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from lifecycle import catalog
from lifecycle.cluster.composition import Cluster, Report
from lifecycle.cluster.inputs import Inputs
from lifecycle.hosting import profiled
from lifecycle.hosting.worker.clock import MAX
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.trace import bookmarks, storage

KEYS = ("seed", "nodes", "kubernetes", "epoch", "profile", "steps", "bookmarks")
STEPS = ("apply", "request", "settle", "wait", "until", "restart")
WHOLE_REQUESTS = 1e6  # no wall clock moves here, but what has begun is to end
SLICES_MAX = 100_000  # of one step; more means that it never settles


class ScriptError(Exception):
    """The script cannot be run; the text says where and why."""


@dataclass(slots=True)
class Answer:
    """What one request of the script was answered."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    done: bool = False
    reads: bool = True  # a client that does not read says nothing of what it took
    used: int = 0  # of what it sent
    closed: tuple[int, str] | None = None
    _listeners: dict[str, Callable[[Any], None]] = field(default_factory=dict)

    @property
    def text(self) -> bytes:
        return b"".join(self.chunks)

    def json(self) -> Any:
        return orjson.loads(self.text)

    # the Reply of http.exchange
    def head(
        self,
        status: int,
        headers: list[tuple[str, str]],
        body: bytes,
        *,
        more: bool = False,
        paced: str = "",
    ) -> None:
        self.status, self.headers = status, headers
        self.body(body, more)

    def body(self, data: bytes | str, more: bool) -> None:
        if data:
            self.chunks.append(data.encode() if isinstance(data, str) else data)
            if self.reads:
                self.on("took", len(data))
        self.done = not more

    def switch(self, headers: list[tuple[str, str]]) -> None:
        self.status, self.headers = 101, headers

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)
        self.done = True

    def took(self, count: int) -> None:
        self.used += count

    def listen(self, **calls: Callable[[Any], None]) -> None:
        self._listeners.update(calls)

    # what its client does
    def on(self, what: str, data: Any = None) -> None:
        listener = self._listeners.get(what)
        if listener is not None:
            listener(data)

    def cancel(self) -> None:
        self.on("cancel")


class Session:
    """One cluster in virtual time. Tests, recordings and benchmarks run on it."""

    def __init__(
        self,
        inputs: Inputs | None = None,
        backend: Backend | None = None,
        report: Report | None = None,
        on_audit: Callable[[list[bytes]], None] = lambda lines: None,
        *,
        runs: Collection[str] | None = None,
    ) -> None:
        """A bug is raised, unless `report` takes what the cluster reports. Of the roles
        beside the API server (`controllers`, `scheduler`, `kubelet`) only `runs` are started."""
        self._runs = runs
        self._report = report or _raise_bug
        self._on_audit = on_audit
        self.backend = backend if backend is not None else MemoryBackend()
        self.inputs = inputs or default_inputs()
        self._open()

    def _open(self) -> None:
        self.cluster = Cluster(self.inputs, self.backend, self._report)
        self.host = ClusterHost(
            self.cluster,
            lambda: 0.0,
            mode=MAX,
            speed=1.0,
            lead_seconds=WHOLE_REQUESTS,
            on_audit=self._on_audit,
        )
        if self._runs is None:
            self.cluster.start()
        else:
            self.cluster.start(self._start_role)
        self.settle()

    def _start_role(self, name: str) -> None:
        if self._runs is not None and name in self._runs:
            self.cluster.role(name, "start")

    def restart(self) -> None:
        """Kill the worker between two slices and start another on the same store."""
        self.cluster.kernel.close()
        self._open()

    def settle(self) -> None:
        """Work and jump until only housekeeping is left; everything is committed then."""
        for _ in range(SLICES_MAX):
            self.host.run_slice(1.0)
            self.host.commit()
            if self.host.idle_seconds() != 0.0:
                return
        raise ScriptError("the cluster does not settle")

    def wait(self, seconds: float) -> None:
        """Let virtual time pass, with all housekeeping that falls due."""
        self.wait_until(self.cluster.kernel.now + int(seconds * SECOND))

    def wait_until(self, end: int) -> None:
        """Let virtual time pass until then, unless it has."""
        kernel = self.cluster.kernel
        end = max(end, kernel.now)
        while True:
            self.settle()
            due = kernel.next_due(jump=False)
            if due is None or due > end:
                break
            kernel.advance(due)
            kernel.fire_timer(due, jump=False)
        kernel.advance(end)
        self.host.clock.rebase()
        self.settle()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "kubernetes-admin",
        headers: dict[str, str] | None = None,
        settle: bool = True,
    ) -> Answer:
        """Send one outside request and work until everything has settled, or until its answer
        begins."""
        answer = self.send(method, path, body, user=user, headers=headers)
        if settle:
            self.settle()
            return answer
        while not answer.status and self.host.idle_seconds() == 0.0:
            self.host.run_slice(0.0)
            self.host.commit()
        return answer

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "kubernetes-admin",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Hand in one outside request, which is served with the next slices."""
        split = urllib.parse.urlsplit(path)
        sent = {"user-agent": "script/1", **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body = orjson.dumps(body)
            sent.setdefault("content-type", "application/json")
        request = Request(
            method, split.path, split.query, list(sent.items()), body or b"", identity(user)
        )
        answer = Answer()
        self.host.request(0, request, answer, user)
        return answer

    def apply(self, text: str, user: str = "kubernetes-admin") -> list[Answer]:
        """Create every document of a YAML text."""
        answers = []
        for document in yaml.safe_load_all(text):
            if document:
                path = create_path(self.cluster, document)
                answers.append(self.request("POST", path, document, user=user, settle=False))
        return answers

    def records(self) -> list[dict[str, Any]]:
        return list(storage.read(self.backend, 1, self.cluster.recorder.seq))

    def header(self) -> dict[str, Any]:
        """What stands at the top of the file of this trace."""
        state = self.cluster.state
        return {
            "cluster": state.name,
            "epoch": meta.rfc3339(state.epoch),
            "kubernetes": state.version,
            "seed": state.seed,
            "profile": state.profile,
            "nodes": self.inputs.nodes,
            "first": 1,
            "last": self.cluster.recorder.seq,
        }


def default_inputs(**changes: Any) -> Inputs:
    """Inputs that need nothing from outside. The key signs tokens that live as long as the run."""
    values: dict[str, Any] = {
        "service_account_key": pki.new_signing_key(),
        "ca_pem": "(the certificate of the cluster's CA)",
        "options": {"kubelet": {"images": catalog.images()}},
        **changes,
    }
    return Inputs(**values)


def identity(user: str) -> list[Any] | None:
    """The client certificate of one of the cast; None is nobody at all."""
    if user in ("", "system:anonymous"):
        return None
    if user == "kubernetes-admin":
        return [user, ["system:masters"], "kubernetes", ""]
    groups = next((list(person.groups) for person in cast.PEOPLE if person.name == user), [])
    return [user, groups, "kubernetes", ""]


def create_path(cluster: Cluster, document: dict[str, Any]) -> str:
    """Where a manifest is posted to."""
    group, _, version = str(document.get("apiVersion", "")).rpartition("/")
    info = cluster.resources.by_gvk(group, version, str(document.get("kind", "")))
    if info is None:
        raise ScriptError(
            f'no matches for kind "{document.get("kind")}" in version '
            f'"{document.get("apiVersion")}"'
        )
    if not info.namespaced:
        return f"{info.root}/{info.plural}"
    namespace = (document.get("metadata") or {}).get("namespace") or "default"
    return f"{info.root}/namespaces/{namespace}/{info.plural}"


def parse(text: str) -> dict[str, Any]:
    """A script, checked. Raises ScriptError."""
    try:
        script = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScriptError(f"the script is no YAML: {error}") from error
    if not isinstance(script, dict) or not isinstance(script.get("steps"), list):
        raise ScriptError('a script is a mapping with a list of "steps"')
    unknown = sorted(set(script) - set(KEYS))
    if unknown:
        raise ScriptError(f'a script has no "{unknown[0]}"')
    for number, step in enumerate(script["steps"], 1):
        names = [name for name in step if name in STEPS] if isinstance(step, dict) else []
        if len(names) != 1:
            raise ScriptError(f"step {number}: exactly one of {', '.join(STEPS)}")
    return script


def bookmarks_of(script: dict[str, Any], session: Session) -> list[dict[str, Any]]:
    """Those of the script: each at the record before its moment."""
    records, found = session.records(), []
    for each in script.get("bookmarks") or ():
        t = meta.parse_time(str(each["at"])) - session.inputs.epoch
        seq = max((one["seq"] for one in records if one["t"] <= t), default=1)
        found.append({"seq": seq, "t": t, "title": str(each["title"])})
    return bookmarks.check(found, session.cluster.recorder.seq)


def run(script: dict[str, Any], seed: int | None = None, backend: Backend | None = None) -> Session:
    """Run a parsed script to its end."""
    changes = profiled.session(script["profile"]) if "profile" in script else {}
    changes |= {"seed": script.get("seed", 1) if seed is None else seed}
    if "nodes" in script:
        changes["nodes"] = int(script["nodes"])
    if "kubernetes" in script:
        changes["version"] = str(script["kubernetes"])
    if "epoch" in script:
        changes["epoch"] = meta.parse_time(str(script["epoch"]))
    session = Session(default_inputs(**changes), backend)
    for step in script["steps"]:
        user = step.get("as", "kubernetes-admin")
        if "apply" in step:
            session.apply(step["apply"], user)
        elif "request" in step:
            wanted = step["request"]
            session.request(
                wanted.get("method", "GET"),
                wanted["path"],
                wanted.get("body"),
                user=user,
                headers=wanted.get("headers"),
                settle=False,
            )
        elif "wait" in step:
            session.wait(float(step["wait"]))
        elif "until" in step:
            session.wait_until(meta.parse_time(str(step["until"])))
        elif "restart" in step:
            session.settle()
            session.restart()
        else:
            session.settle()
    session.settle()
    return session


def _raise_bug(kind: str, what: Any) -> None:
    if kind == "bug":
        raise AssertionError(what)
