"""What diverged between a cluster and its fork: what their objects say, write by write.

Of each object the states it went through since the fork are compared in order, up to the time that
both have reached; when exactly a state came does not matter. What differs in any two runs is left
out: versions, times, numbers of containers, signs of life, events. An object with a generated name
counts as the same when it is the n-th of that prefix on both sides.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import orjson

from apiserver_app.etcd.backend import Backend
from lifecycle.trace import moments, redaction

DIFFERENCES_MAX, OF_OBJECT_MAX = 100, 5
RECORDS_MAX = 20_000  # of each, behind the fork
VALUES_READ = 500  # at once
EXISTENCE = "existence"
# these say least of what differs by themselves
_UNCOMPARED = frozenset(("leases.coordination.k8s.io", "events", "events.events.k8s.io"))
_LEFT_OUT = frozenset(
    """
    uid resourceVersion managedFields generation observedGeneration containerID startedAt finishedAt
    generateName
    """.split()
)
_TIMES = ("Time", "Timestamp")  # how the names of times end
# the most telling first
_TELLING = (
    EXISTENCE,
    *"spec.nodeName spec.replicas status.phase status.readyReplicas".split(),
    *"spec. metadata.deletion status.conditions[Ready] status.".split(),
)
# the volume of a pod's token has a random name
_RANDOM = re.compile(r"^(kube-api-access|[-a-z0-9]+-token)-[a-z0-9]{5}$")
_NAMES = ("type", "name", "key", "ip", "port")  # of an item in a list

Leaves = dict[str, Any]
Key = tuple[str, str, str]


class _Head(msgspec.Struct):
    seq: int
    t: int
    kind: str
    span: int
    outside: Any = False
    rev: Any = 0
    op: str = ""
    resource: Any = ""
    namespace: Any = ""
    name: Any = ""
    prev: Any = 0


_heads = msgspec.json.Decoder(list[_Head])


class _State(NamedTuple):
    """What an object says from a write on; None: it is gone."""

    t: int
    seq: int
    asked: bool  # from outside
    leaves: Leaves | None


class _Object:
    """One object behind the fork. `states` begins with what it was at the fork."""

    def __init__(self, name: str, base: _State) -> None:
        self.name = name
        self.kind = ""
        self.states = [base]


def compare(there: Backend, here: Backend, seq: int) -> dict[str, Any]:
    """A cluster `there` and its fork `here`, whose last common record is `seq`."""
    begun = moments.at_record(here, seq)
    latest = [_end(backend, seq) for backend in (there, here)]
    since, until = begun.t if begun is not None else 0, min(latest)
    sides = [_objects(backend, seq, until) for backend in (there, here)]
    differences: list[dict[str, Any]] = []
    for key in sorted(sides[0].keys() | sides[1].keys()):
        differences += _differences(key, sides[0].get(key), sides[1].get(key), since)
    differences.sort(
        key=lambda difference: (
            difference["after"],
            difference["asked"],
            _rank(difference["what"]),
            difference["key"],
        )
    )
    unasked = (difference for difference in differences if not difference["asked"])
    first = next(unasked, differences[0] if differences else None)
    return {
        "from": seq,
        "until": max(0, until - since),
        "first": first,
        "differences": differences[:DIFFERENCES_MAX],
        "more": max(0, len(differences) - DIFFERENCES_MAX),
    }


def _end(backend: Backend, seq: int) -> int:
    """The time up to which a trace is compared."""
    state = backend.load()
    last = moments.at_record(backend, min(state.seq, seq + RECORDS_MAX) if state else seq)
    return last.t if last is not None else 0


def _objects(backend: Backend, seq: int, until: int) -> dict[Key, _Object]:
    """Those that were written behind a record and before a time."""
    objects: dict[Key, _Object] = {}
    asked: set[int] = set()
    names: dict[str, str] = {}  # generated -> what it is called here
    counts: dict[Key, int] = {}
    writes: list[_Head] = []
    for head in _records(backend, seq, until):
        if head.kind == "request":
            asked |= {head.seq} if head.outside else set()
        elif head.resource not in _UNCOMPARED:
            writes.append(head)
    values = _values(backend, [rev for head in writes for rev in (head.rev, head.prev) if rev])
    for head in writes:
        obj = values.get(head.rev) or {}
        prefix = (obj.get("metadata") or {}).get("generateName", "")
        if head.op == "create" and prefix:
            kind = (head.resource, head.namespace, prefix)
            counts[kind] = counts.get(kind, 0) + 1
            names[head.name] = f"{prefix}({counts[kind]})"
        key = (head.resource, head.namespace, names.get(head.name, head.name))
        if key not in objects:
            before = values.get(head.prev) if head.prev and head.op != "create" else None
            base = _leaves(before, names) if before else None
            objects[key] = _Object(head.name, _State(head.t, 0, False, base))
        known = objects[key]
        known.kind = obj.get("kind", "") or known.kind
        leaves = None if head.op == "delete" else _leaves(obj, names)
        if leaves != known.states[-1].leaves:
            known.states.append(_State(head.t, head.seq, head.span in asked, leaves))
    return objects


def _records(backend: Backend, seq: int, until: int) -> Iterator[_Head]:
    """The writes and requests behind a record and before a time."""
    for segment in backend.segments(seq + 1, seq + RECORDS_MAX):
        for head in _heads.decode(b"[" + zlib.decompress(segment.data) + b"]"):
            if head.t >= until:
                return
            if head.seq > seq and head.kind in ("request", "write"):
                yield head


def _values(backend: Backend, revisions: list[int]) -> dict[int, Any]:
    """Revision -> object, without the values of Secrets."""
    values: dict[int, Any] = {}
    for start in range(0, len(revisions), VALUES_READ):
        for revision, value in backend.values(revisions[start : start + VALUES_READ]).items():
            obj = orjson.loads(value)
            secret = isinstance(obj, dict) and obj.get("kind") == "Secret"
            values[revision] = redaction.masked(obj) if secret else obj
    return {revision: obj for revision, obj in values.items() if isinstance(obj, dict)}


def _leaves(obj: Any, names: dict[str, str]) -> Leaves:
    """Path -> value of all that is compared of an object."""
    leaves: Leaves = {}
    waiting = [("", obj)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict) and value:
            for name, member in value.items():
                if name not in _LEFT_OUT and not name.endswith(_TIMES):
                    waiting.append((f"{path}.{name}" if path else name, member))
        elif isinstance(value, list) and value:
            waiting += ((f"{path}[{_item(member, n)}]", member) for n, member in enumerate(value))
        else:
            leaves[path] = _named(value, names) if isinstance(value, str) else value
    return leaves


def _item(value: Any, number: int) -> str:
    """What an item of a list is known by."""
    if isinstance(value, dict):
        known = next((str(value[name]) for name in _NAMES if name in value), str(number))
        return _RANDOM.sub(r"\1", known)
    return str(number)


def _named(value: str, names: dict[str, str]) -> str:
    """A text that may be a generated name, as it counts in both."""
    return names.get(value) or _RANDOM.sub(r"\1", value)


def _differences(
    key: Key, there: _Object | None, here: _Object | None, since: int
) -> Iterator[dict[str, Any]]:
    """Where one object's ways part first."""
    either = here or there
    assert either is not None, "it was written on one side"
    base = either.states[:1]
    theirs, ours = (there.states if there else base), (here.states if here else base)
    same = next(
        (n for n, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a.leaves != b.leaves),
        min(len(theirs), len(ours)),
    )
    parted = [states[same] if same < len(states) else None for states in (theirs, ours)]
    came = [state for state in parted if state is not None]
    if not came:
        return
    a, b = (states[min(same, len(states) - 1)].leaves for states in (theirs, ours))
    resource, namespace, _ = key
    for what, there_value, here_value in _fields(a, b):
        yield {
            "key": f"{resource}/{namespace}/{either.name}"
            if namespace
            else f"{resource}/{either.name}",
            "kind": either.kind,
            "namespace": namespace,
            "name": either.name,
            "name_there": there.name if there else either.name,
            "what": what,
            "there": there_value,
            "here": here_value,
            "after": max(0, min(state.t for state in came) - since),
            "asked": any(state.asked for state in came),
            "seq_there": parted[0].seq if parted[0] is not None else None,
            "seq_here": parted[1].seq if parted[1] is not None else None,
        }


def _fields(there: Leaves | None, here: Leaves | None) -> list[tuple[str, Any, Any]]:
    """(field, value there, value here), the most telling first."""
    if there is None or here is None:
        return [(EXISTENCE, there is not None, here is not None)]
    paths = [path for path in there.keys() | here.keys() if there.get(path) != here.get(path)]
    paths.sort(key=lambda path: (_rank(path), path))
    return [(path, there.get(path), here.get(path)) for path in paths[:OF_OBJECT_MAX]]


def _rank(path: str) -> int:
    return next((n for n, prefix in enumerate(_TELLING) if path.startswith(prefix)), len(_TELLING))
