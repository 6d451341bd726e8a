"""Histories of many clients of a real demo, through what may befall it, and what must hold of them.

Each round has config maps of its own as keys. Clients read, write and delete them over HTTPS while
the trouble comes; one watch follows them all through. Checked afterwards: linearizability of each
key, and what etcd promises of watches (ordered, unique, atomic, reliable, resumable, bookmarkable).
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import json
import random
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.lifecycle.hosting.running import REAL, WAIT_SECONDS, Demo
from tests.robustness import linearizability as lin
from tests.robustness import trouble
from tests.robustness.linearizability import Operation
from tests.suite import waiting

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS, KEYS, OPERATIONS = 4, 3, 12
LOOK_SECONDS = 0.25  # between two looks of a client whether it is back, a handshake each
KILL, KILL_BOTH, DISK, STOP = "kill -9", "kill -9 of both", "full disk", "stopped worker"
_OUTCOMES = {200: lin.OK, 201: lin.OK, 404: lin.ABSENT}
_UNANSWERED = (OSError, http.client.HTTPException, ValueError)


class Event(NamedTuple):
    type: str
    key: str
    value: str | None
    revision: int


class Connection:
    """Of one client. What is not answered is raised, and the next request connects anew."""

    def __init__(self, demo: Demo, context: ssl.SSLContext) -> None:
        self._demo = demo
        self._context = context
        self._open: http.client.HTTPSConnection | None = None

    def send(self, method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
        if self._open is None:
            self._open = http.client.HTTPSConnection(
                *self._demo.tls_authority, timeout=WAIT_SECONDS, context=self._context
            )
        data = None if body is None else json.dumps(body)
        self._open.request(method, path, data, {"Content-Type": "application/json"})
        return self._open.getresponse()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        try:
            answer = self.send(method, path, body)
            return answer.status, json.loads(answer.read())
        except _UNANSWERED:
            self.close()
            raise

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


class Run:
    """A demo, its clients' operations by key, and what a watch saw."""

    def __init__(self, where: Path, seed: int) -> None:
        self.where = where
        self.chance = random.Random(seed)
        self.demo = self._started()
        self._context = _administrator(self.demo)
        self.operations: dict[str, list[Operation]] = {}
        self.events: list[Event] = []
        self.bookmarks: list[tuple[int, int]] = []  # how many events came before, its revision
        self.rounds = self.unknown = 0
        self._clients: list[threading.Thread] = []  # of the round
        self._values = itertools.count(1)
        self._over = threading.Event()
        _, listed = self.connect().ask("GET", CONFIGMAPS)
        self.first = int(listed["metadata"]["resourceVersion"])
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def connect(self) -> Connection:
        return Connection(self.demo, self._context)

    def _started(self) -> Demo:
        return Demo(self.where / "data", "--nodes", "1", driver=REAL).__enter__()

    # -- a round --------------------------------------------------------------------------------

    def round(self, kind: str) -> None:
        """Clients at work, and in the middle of it the trouble."""
        self.rounds += 1
        keys = [f"r{self.rounds}-{number}" for number in range(KEYS)]
        self.operations.update({key: [] for key in keys})
        done = threading.Semaphore(0)
        self._clients = clients = [
            threading.Thread(
                target=self._client,
                args=(random.Random(self.chance.random()), keys, done),
                daemon=True,
            )
            for _ in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        for _ in range(self.chance.randrange(CLIENTS * OPERATIONS // 2)):
            done.acquire(timeout=WAIT_SECONDS)
        getattr(self, "_" + kind.replace(" -9", "").replace(" ", "_"))()
        for client in clients:
            client.join(4 * WAIT_SECONDS)
            assert not client.is_alive(), f"a client hangs after {kind}"
        self.read(keys)

    def _kill(self) -> None:
        trouble.kill(trouble.worker_of(self.demo))

    def _kill_of_both(self) -> None:
        self.kill_all()
        self.start()

    def _full_disk(self) -> None:
        before, broken = self.unknown, trouble.Failing(self.demo)
        waiting.until(
            lambda: self.unknown > before or not any(one.is_alive() for one in self._clients),
            what="a write is refused, or no client is left to write",
        )
        broken.heal()

    def _stopped_worker(self) -> None:
        trouble.stop(trouble.worker_of(self.demo))  # the watchdog ends it

    def kill_all(self) -> None:
        trouble.kill(self.demo.endpoints["pid"], trouble.worker_of(self.demo))
        self.demo.__exit__()

    def start(self) -> None:
        self.demo = self._started()

    def read(self, keys: list[str]) -> None:
        """Read the keys, which nobody writes any more."""
        self._each(keys, lin.GET)

    def create(self, keys: list[str]) -> None:
        """Create those of the keys which are not there."""
        self._each(keys, lin.CREATE)

    def _each(self, keys: list[str], kind: str) -> None:
        connection = self.connect()
        for key in keys:
            while not self._operate(connection, key, kind, None, None, 0):
                connection = self._reconnected()

    def end(self) -> None:
        """Read all keys once more, and let the watch come as far."""
        self.read(list(self.operations))
        last = self._last_write()
        waiting.until(
            lambda: self.events[-1:],
            what=f"the watch comes to revision {last}",
            true=lambda seen: seen and seen[0].revision >= last,
        )
        self.again = self._replayed(last)
        self.close()

    def _last_write(self) -> int:
        """The revision of one more write. It is refused (500) while a disk that has just healed is
        not yet seen to have, and by the worker that ends when it is seen (503, try again)."""
        numbers = itertools.count()

        def written() -> int:
            body = _body(f"end-{next(numbers)}", "end", 0)
            with contextlib.suppress(*_UNANSWERED):
                code, answer = self._reconnected().ask("POST", CONFIGMAPS, body)
                assert code in (201, 500, 503), answer
                return int(answer["metadata"]["resourceVersion"]) if code == 201 else 0
            return 0

        return waiting.until(written, what="a last write is taken")

    def close(self) -> None:
        self._over.set()
        self.demo.__exit__()

    # -- clients --------------------------------------------------------------------------------

    def _client(self, chance: random.Random, keys: list[str], done: threading.Semaphore) -> None:
        connection = self.connect()
        known: dict[str, tuple[str | None, int]] = {}  # what it saw last of a key
        for _ in range(OPERATIONS):
            key = chance.choice(keys)
            kind = chance.choice((lin.GET, lin.GET, lin.CREATE, lin.PUT, lin.CAS, lin.DELETE))
            expected, revision = known.get(key, (None, 0))
            if kind == lin.CAS and not revision:
                kind = lin.GET
            if self._operate(connection, key, kind, known, expected, revision):
                done.release()
                continue
            done.release()
            connection = self._reconnected()

    def _reconnected(self) -> Connection:
        """A connection to a server that is ready."""

        def ready() -> Connection | None:
            connection = self.connect()
            try:
                return connection if connection.send("GET", "/readyz").status == 200 else None
            except _UNANSWERED:
                return None
            finally:
                connection.close()

        back = waiting.until(ready, what="the server comes back", every=LOOK_SECONDS)
        assert back is not None
        return back

    def _operate(
        self,
        connection: Connection,
        key: str,
        kind: str,
        known: dict[str, tuple[str | None, int]] | None,
        expected: str | None,
        revision: int,
    ) -> bool:
        """One operation, written down; whether it was answered."""
        value = f"v{next(self._values)}" if kind in (lin.CREATE, lin.PUT, lin.CAS) else None
        began = Operation(time.monotonic(), 0.0, kind, lin.UNKNOWN, value, expected)
        path = CONFIGMAPS if kind == lin.CREATE else f"{CONFIGMAPS}/{key}"
        method = {lin.GET: "GET", lin.CREATE: "POST", lin.DELETE: "DELETE"}.get(kind, "PUT")
        body = _body(key, value, revision if kind == lin.CAS else 0) if value else None
        try:
            code, answer = connection.ask(method, path, body)
        except _UNANSWERED:
            code, answer = 0, None
        outcome = _OUTCOMES.get(code, lin.UNKNOWN)
        if code == 409:
            outcome = lin.EXISTS if kind == lin.CREATE else lin.CONFLICT
        if outcome == lin.UNKNOWN:
            self.unknown += 1
            self.operations[key].append(lin.unknown(began))
            return False
        ended = began._replace(end=time.monotonic(), outcome=outcome)
        if outcome == lin.OK and kind != lin.DELETE:
            ended = ended._replace(
                value=answer["data"]["value"], revision=int(answer["metadata"]["resourceVersion"])
            )
            if known is not None:
                known[key] = (ended.value, ended.revision)
        self.operations[key].append(ended)
        return True

    # -- watches --------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Follow all changes from the first revision on, resumed at the last one seen."""
        seen = self.first
        while not self._over.is_set():
            try:
                for event in self._stream(seen, 5):
                    seen = max(seen, event.revision)
                    if event.type == "BOOKMARK":
                        self.bookmarks.append((len(self.events), event.revision))
                    else:
                        self.events.append(event)
            except _UNANSWERED:
                self._over.wait(0.05)

    def _replayed(self, last: int) -> list[Event]:
        """The same changes, asked for at once."""
        events = []
        for event in self._stream(self.first, WAIT_SECONDS):
            if event.type != "BOOKMARK":
                events.append(event)
            if event.revision >= last:
                break
        return events

    def _stream(self, after: int, seconds: int) -> Iterator[Event]:
        connection = self.connect()
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={after}"
        try:
            answer = connection.send("GET", f"{CONFIGMAPS}?{query}")
            while answer.status == 200 and (line := answer.readline()):
                told = json.loads(line)
                obj = told["object"]
                assert told["type"] != "ERROR", f"the watch ended with {obj}"
                yield Event(
                    told["type"],
                    obj["metadata"].get("name", ""),
                    (obj.get("data") or {}).get("value"),
                    int(obj["metadata"]["resourceVersion"]),
                )
        finally:
            connection.close()

    # -- what must hold -------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """What did not hold, in sentences."""
        found = [
            f"{key} is not linearizable: {sorted(history)}"
            for key, history in self.operations.items()
            if not lin.is_linearizable(history)
        ]
        return found + self._watch_problems()

    def _watch_problems(self) -> list[str]:
        found: list[str] = []
        events = [event for event in self.events if not event.key.startswith("end-")]
        for before, event in itertools.pairwise(self.events):
            if event.revision <= before.revision:
                found.append(f"not ordered or not unique: {event} after {before}")
        for count, revision in self.bookmarks:
            if any(event.revision <= revision for event in self.events[count:]):
                found.append(f"an event of before the bookmark {revision} after it")
        if self.again != self.events:
            found.append(f"resumed: {len(self.events)} events, at once {len(self.again)}")
        seen = {(event.key, event.value): event for event in events if event.type != "DELETED"}
        deletes = [event.key for event in events if event.type == "DELETED"]
        for key, history in self.operations.items():
            acknowledged = [operation for operation in history if operation.outcome == lin.OK]
            for write in acknowledged:
                told = seen.get((key, write.value))
                if write.kind != lin.DELETE and (told is None or told.revision != write.revision):
                    found.append(f"acknowledged or read and not seen: {key} {write}, but {told}")
            gone = sum(write.kind == lin.DELETE for write in acknowledged)
            maybe = gone + sum(operation[2:4] == (lin.DELETE, lin.UNKNOWN) for operation in history)
            if not gone <= deletes.count(key) <= maybe:
                found.append(f"{gone} to {maybe} deletes of {key}, seen {deletes.count(key)}")
        written = {
            (key, operation.value)
            for key, history in self.operations.items()
            for operation in history
            if operation.outcome in (lin.OK, lin.UNKNOWN)
        }
        found += [
            f"seen, but written by nobody: {seen[one]}" for one in sorted(set(seen) - written)
        ]
        if len(seen) != len(events) - len(deletes):
            found.append("a write was seen twice")
        return found


def _administrator(demo: Demo) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=demo.data_dir / "pki" / "ca.crt")
    config = yaml.safe_load((demo.data_dir / "kubeconfig").read_text())["users"][0]["user"]
    chain = demo.data_dir.parent / "admin.pem"
    names = ("client-certificate-data", "client-key-data")
    chain.write_bytes(b"".join(base64.b64decode(config[name]) for name in names))
    context.load_cert_chain(chain)
    return context


def _body(key: str, value: str | None, revision: int) -> dict[str, Any]:
    metadata = {"name": key, **({"resourceVersion": str(revision)} if revision else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}}


def kinds(kills: int, disks: int, stops: int) -> list[str]:
    """Rounds in a mixed order; after some deaths of the worker the edge goes, too, before it gives
    up on its workers."""
    mixed = [KILL] * kills
    for count, kind in ((disks, DISK), (stops, STOP)):
        for number in range(count):
            mixed.insert((number + 1) * len(mixed) // (count + 1), kind)
    kill = itertools.count(1)
    return [KILL_BOTH if one == KILL and next(kill) % 4 == 0 else one for one in mixed]
