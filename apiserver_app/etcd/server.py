"""The etcd server of a cluster, on which the verbs of this package operate.

Every write goes to the cluster's own store, where the API server and all watches see it, and is
recorded as a `write` inside a `work` span of the component `etcdctl`. A client gets values as a
real etcd would hold them; `Values` translates between those and the bytes of the store.

Models etcd server/etcdserver/server.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.etcd.life import Life
from apiserver_app.etcd.members import Members, identity
from apiserver_app.etcd.mvcc import Store
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release

_LINE_CHARACTERS_MAX = 200  # of a command or an outcome in the trace
_RELEASES = {
    "1.37": "3.6.5", "1.36": "3.6.5", "1.35": "3.6.5", "1.34": "3.6.4", "1.33": "3.5.21",
    "1.32": "3.5.16", "1.31": "3.5.15", "1.30": "3.5.12", "1.29": "3.5.10", "1.28": "3.5.9",
    "1.27": "3.5.7", "1.26": "3.5.6", "1.25": "3.5.4", "1.24": "3.5.3", "1.23": "3.5.1",
    "1.22": "3.5.0",
}  # fmt: skip


def release_of(version: Release) -> str:
    """Returns the etcd release that comes with a Kubernetes version."""
    return _RELEASES.get(str(version), "3.5.21")


class Decoded(NamedTuple):
    """A client's value as stored, with the object that it encodes, if any."""

    data: bytes
    info: ResourceInfo | None = None
    obj: Object | None = None


class Values(Protocol):
    """Translates between the bytes of the store and those that a real etcd would hold."""

    def encoded(self, entry: Entry) -> bytes: ...

    def decoded(self, key: str, value: bytes, revision: int) -> Decoded:
        """Decodes a client's value for the store, at the revision of the write."""
        ...

    def object_of(self, entry: Entry) -> tuple[ResourceInfo | None, Object | None]:
        """The object of an entry and its resource; None, None when it holds no object."""
        ...


class Work:
    """A command that writes, in the trace. `outcome` is how it ended."""

    def __init__(self, span: int) -> None:
        self.span = span
        self.outcome = ""


class Server:
    """The etcd of one cluster, as its first member serves it."""

    def __init__(
        self,
        name: str,
        version: Release,
        store: Store,
        kernel: Kernel,
        rand: Rand,
        probe: Probe,
        values: Values,
        members: Members,
        life: Life,
    ) -> None:
        self.store = store
        self.kernel = kernel
        self.rand = rand
        self.values = values
        self.version = release_of(version)
        self.members = members
        self.life = life
        self.cluster_id = identity(f"{name} cluster")
        self.kept_alive: set[int] = set()  # leases that a client renews
        self._probe = probe

    def shown(self, entry: Entry) -> Entry:
        """Returns the entry with its value encoded for a client."""
        return entry.with_value(self.values.encoded(entry))

    @contextmanager
    def work(self, line: str) -> Iterator[Work]:
        """The span of a command that is going to write."""
        work = Work(self._probe.tell("work", "etcdctl", line[:_LINE_CHARACTERS_MAX], []))
        try:
            yield work
        except EtcdError as error:
            self._end(work.span, "error", str(error))
            raise
        self._end(work.span, "ok", work.outcome)

    def record(self, op: str, info: ResourceInfo, obj: Object, prev: int, span: int | None) -> None:
        """Record the write of an object, which is about to happen."""
        metadata = obj["metadata"]
        self._probe.tell(
            "write",
            self.store.revision + 1,
            op,
            info.hub,
            metadata.get("namespace", ""),
            metadata["name"],
            prev,
            "",
            span=span,
        )

    def _end(self, span: int, result: str, outcome: str) -> None:
        self._probe.tell("done", result, outcome[:_LINE_CHARACTERS_MAX], 0, span=span)
