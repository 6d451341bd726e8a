"""Where stories are told: a whole cluster in memory, and what each component asks of it.

A story's steps are words of `Stage.STEPS` with their argument. `Stage.sent` are the requests of all
components in the order of their answers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from apiserver_app.etcd.backend import MemoryBackend
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from lifecycle.cluster.composition import Cluster
from lifecycle.cluster.inputs import Inputs
from tests.controllers_app.controllers import lab as labs

BEAT_SECONDS = 9
ACCOUNTS = "system:serviceaccount:kube-system:"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of a component: `line` is verb, resource with subresource, code and query."""

    who: str
    line: str
    namespace: str
    name: str
    body: Any
    agent: str

    @property
    def about(self) -> tuple[str, str]:
        """The object it is about."""
        return self.line.split()[1].partition("/")[0], self.name


class Recording:
    """Keeps what is sent to a cluster from now on, watches only if it is told to."""

    def __init__(self, cluster: Cluster, *, watches: bool = False) -> None:
        self.sent: list[Sent] = []
        self._watches = watches
        self._handle = cluster.pipeline.handle
        cluster.pipeline.handle = self._kept  # type: ignore[method-assign]

    async def _kept(self, request: Request) -> Outcome:
        code, body = 500, copy.deepcopy(request.call.body)
        try:
            outcome = await self._handle(request)
            code = outcome.code
        except errors.ApiError as error:
            code = error.code
            raise
        finally:
            self._keep(request, code, body)
        return outcome

    def _keep(self, request: Request, code: int, body: Any) -> None:
        call = request.call
        if call.info is None or (call.verb == "watch" and not self._watches):
            return
        if call.info.plural == "leases" and call.name:  # elections and heartbeats
            return
        resource = call.info.key if call.info.storage == "events" else call.info.plural
        resource += f"/{call.subresource}" if call.subresource else ""
        name = call.name
        if not name and isinstance(body, dict):
            metadata = body.get("metadata") or {}
            name = metadata.get("name") or metadata.get("generateName") or ""
        query = {key: values[0] for key, values in call.params.items()}
        who = request.user.name.removeprefix(ACCOUNTS)
        asked = "&".join(f"{key}={value}" for key, value in query.items())
        line = f"{call.verb} {resource} {code}{'?' if asked else ''}{asked}"
        self.sent.append(Sent(who, line, call.namespace, name, body, call.agent))


class Stage(labs.Lab):
    """A lab that keeps what was sent, and knows the steps of stories."""

    def __init__(self, inputs: Inputs, backend: MemoryBackend, *, scheduler: bool = False) -> None:
        super().__init__(inputs, backend, scheduler=scheduler)
        self.sent = Recording(self.cluster).sent

    # -- steps ----------------------------------------------------------------------------------

    def tell(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            for word, argument in step.items():
                self.STEPS[word](self, argument)

    def _create(self, obj: Object) -> None:
        group, _, version = obj["apiVersion"].rpartition("/")
        info = self.cluster.resources.by_gvk(group, version, obj["kind"])
        assert info is not None, obj["kind"]
        namespace = obj["metadata"].get("namespace", "default") if info.namespaced else ""
        self.create(info.key, namespace=namespace, obj=obj)

    def _delete(self, what: str | dict[str, Any]) -> None:
        options = dict(what) if isinstance(what, dict) else {"what": what}
        resource, name, namespace = self._place(options.pop("what"))
        self.delete(resource, name, namespace, **options)

    def _patch(self, what: dict[str, Any]) -> None:
        resource, name, namespace = self._place(what["what"])
        more = {"subresource": what["subresource"]} if "subresource" in what else {}
        self.patch(resource, name, what["with"], namespace, **more)

    def _place(self, what: str) -> tuple[str, str, str]:
        """`resource/name` or `resource/name/namespace`."""
        resource, name, *namespace = what.split("/")
        if not self.cluster.resources.by_key[resource].namespaced:
            return resource, name, ""
        return resource, name, namespace[0] if namespace else "default"

    def _start_pods(self, namespace: str) -> None:
        """One after the other, each when it is quiet."""
        for name in self.names("pods", namespace):
            self.start_pods(name, namespace=namespace)
            self.run(2)

    def _finish_pods(self, phase: str) -> None:
        """Every pod that runs ends so, one after the other."""
        for name in self.names("pods"):
            pod = self.find("pods", name)
            if pod is not None and pod["status"].get("phase") == "Running":
                if not meta.is_deleting(pod):
                    self.set_pod(name, phase)
                    self.run(2)

    def _reap_pods(self, namespace: str) -> None:
        for pod in self.all("pods", namespace):
            if meta.is_deleting(pod):
                self.delete("pods", meta.name_of(pod), namespace, gracePeriodSeconds=0)
                self.run(2)

    def _evict(self, what: str | dict[str, Any]) -> None:
        """The first pod of the default namespace whose name begins so."""
        prefix, code = (what, 201) if isinstance(what, str) else (what["prefix"], what["code"])
        name = next(name for name in self.names("pods") if name.startswith(prefix))
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        answer = 201
        try:
            self.call(
                self.admin.create("pods", "default", body, name=name, subresource="eviction"), 0
            )
        except errors.ApiError as refusal:
            answer = refusal.code
        assert answer == code

    def _say(self, what: dict[str, Any]) -> None:
        """The kubelet's word about the first running pod whose name begins so."""
        name = next(
            meta.name_of(pod)
            for pod in self.all("pods")
            if meta.name_of(pod).startswith(what["of"])
            and pod["status"].get("phase") == what.get("phase", "Running")
            and meta.is_deleting(pod) == what.get("going", False)
        )
        self.patch("pods", name, {"status": what["status"]}, subresource="status")
        self.run(2)

    def _own(self, what: dict[str, Any]) -> None:
        """A config map with owners: others by their place, or one that never was."""
        _, name, namespace = self._place(what["what"])
        owners = list(what.get("absent", ()))
        for place in what.get("by", ()):
            owner = self.get(*self._place(place)[:2])
            name_said = what.get("said", meta.name_of(owner))
            kept = {"name": name_said, "uid": meta.uid_of(owner)}
            owners.append({"apiVersion": "v1", "kind": "ConfigMap", **kept})
        self.create(
            "configmaps",
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "ownerReferences": owners},
            },
            namespace,
        )

    def _run_and_beat(self, what: dict[str, Any]) -> None:
        """Time in which these nodes are heard."""
        left = what["seconds"]
        while left > 0:
            for node in what["nodes"]:
                self.beat(node)
            self.run(min(left, BEAT_SECONDS))
            left -= BEAT_SECONDS

    def _beat(self, what: dict[str, Any]) -> None:
        self.beat(what["node"], what.get("ready", True))

    def _forget(self, _: Any) -> None:
        """What was sent so far is not part of the story."""
        self.sent.clear()

    STEPS: dict[str, Callable[..., None]] = {
        "create": _create, "delete": _delete, "patch": _patch, "run": labs.Lab.run,
        "node": labs.Lab.add_node, "start pods": _start_pods, "finish pods": _finish_pods,
        "run and beat": _run_and_beat, "own": _own, "say": _say, "evict": _evict,
        "reap pods": _reap_pods, "beat": _beat, "forget": _forget,
    }  # fmt: skip


def missing(wanted: Any, body: Any, path: str = "") -> Iterator[str]:
    """Where the body is not as wanted: a null means that the field is absent, `...` that it is
    there; of mappings only the named fields matter, lists are the same length."""
    if wanted is None:
        if body is not None:
            yield f"{path}: {body!r} is there"
    elif wanted == "...":
        if body is None:
            yield f"{path}: nothing is there"
    elif isinstance(wanted, dict) and isinstance(body, dict):
        for key, value in wanted.items():
            yield from missing(value, body.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(body, list) and len(wanted) == len(body):
        for number, (one, other) in enumerate(zip(wanted, body, strict=True)):
            yield from missing(one, other, f"{path}[{number}]")
    elif wanted != body:
        yield f"{path}: {body!r}, the real one {wanted!r}"
