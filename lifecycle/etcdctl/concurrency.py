"""etcdctl lock and elect: keys with a lease, of which the oldest below a name has its turn.

The lease is kept alive as long as the command runs; one that is killed loses it when it runs out.

Models etcd etcdctl/ctlv3/command/{lock,elect}_command.go and client/v3/concurrency.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from apiserver_app.etcd import delete_range
from apiserver_app.etcd import lease as leases
from apiserver_app.etcd import put as puts
from apiserver_app.etcd import range as ranges
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.etcd.keys import Keys, prefix_end
from apiserver_app.etcd.watch import Watcher, watch
from controllers_app.shell.exits import Interrupted
from lifecycle.etcdctl.session import BAD_ARGS, ERROR, Exit, Session

ELECTION_TTL = 60


class _Place:
    """One key below a name, and whether its turn has come."""

    def __init__(self, session: Session, name: str, lease: int, value: str) -> None:
        self._session = session
        self._below = Keys(f"{name}/", prefix_end(f"{name}/"))
        self.key = f"{name}/{lease:x}"
        server = session.server
        request = puts.Request(self.key, value.encode("utf-8", "surrogateescape"), lease)
        puts.put(server, request, self._span("put"))
        self._since = server.store.revision

    @property
    def entry(self) -> Entry | None:
        return self._session.server.store.get(self.key)

    def has_turn(self) -> bool:
        """Nobody who came before is there any more."""
        before = ranges.entries(self._session.server.store, self._below)
        return not any(entry.create_revision < self._since for entry in before)

    def show(self) -> None:
        entry, session = self.entry, self._session
        if entry is None:
            raise Exit(ERROR, "lock lost on init")
        kvs = [session.server.shown(entry)]
        answer = {"header": session.header(), "kvs": kvs, "more": None, "count": 1}
        session.show("range", answer)

    def leave(self) -> None:
        if self.entry is not None:
            request = delete_range.Request(Keys(self.key))
            delete_range.delete_range(self._session.server, request, self._span("delete"))

    def watch(self) -> Watcher:
        return watch(self._session.server, self._below, 0, self._session.process.poke)

    def _span(self, text: str) -> int:
        with self._session.server.work(self._session.line) as work:
            work.outcome = f"{text} {self.key}"
        return work.span


@asynccontextmanager
async def _placed(session: Session, name: str, ttl: int, value: str) -> AsyncIterator[_Place]:
    """A place whose turn has come. Interrupted while it waits, it is given up."""
    try:
        lease, _ = leases.grant(session.server, ttl)
    except EtcdError as error:
        raise Exit(ERROR, str(error)) from error
    leases.keep_alive(session.server, lease)
    place = _Place(session, name, lease, value)
    watcher = place.watch()
    try:
        try:
            await session.process.until(lambda: place.entry is None or place.has_turn())
        except Interrupted:
            place.leave()
            raise Exit(ERROR, "context canceled") from None
        yield place
    finally:
        watcher.stop()
        leases.let_go(session.server, lease)


async def lock(session: Session) -> None:
    if not session.words:
        text = "lock takes a lock name argument and an optional command to execute"
        raise Exit(BAD_ARGS, text)
    name, *command = session.words
    await session.connect()
    async with _placed(session, name, session.flag("ttl"), "") as place:
        if command:
            revision = session.server.store.revision
            env = {"ETCD_LOCK_KEY": place.key, "ETCD_LOCK_REV": str(revision)}
            try:
                code = await session.process.run(command, env)
            finally:
                place.leave()
            if code:
                raise Exit(code, f"exit status {code}")
            return
        place.show()
        await _until_interrupted(session, place, "session expired")


async def elect(session: Session) -> None:
    words, listens = session.words, session.flag("listen")
    if len(words) not in (1, 2):
        text = "elect takes one election name argument and an optional proposal argument"
        raise Exit(BAD_ARGS, text)
    if len(words) == 1 and not listens:
        raise Exit(BAD_ARGS, "no proposal argument but -l not set")
    if len(words) == 2 and listens:
        raise Exit(BAD_ARGS, "proposal given but -l is set")
    await session.connect()
    if listens:
        await _observe(session, words[0])
        return
    async with _placed(session, words[0], ELECTION_TTL, words[1]) as place:
        place.show()
        await _until_interrupted(session, place, "elect: session expired")


async def _until_interrupted(session: Session, place: _Place, expired: str) -> None:
    try:
        await session.process.until(lambda: place.entry is None)
    except Interrupted:
        place.leave()
        return
    raise Exit(ERROR, expired)


async def _observe(session: Session, name: str) -> None:
    """Prints who leads, whenever that is somebody or something else."""
    below = Keys(f"{name}/", prefix_end(f"{name}/"))
    watcher = watch(session.server, below, 0, session.process.poke)
    shown = 0
    try:
        while True:
            leader = _oldest(session, below)
            if leader is not None and leader.mod_revision != shown:
                shown = leader.mod_revision
                kvs = [session.server.shown(leader)]
                session.show(
                    "range", {"header": session.header(), "kvs": kvs, "more": None, "count": 1}
                )
            await session.process.until(_news(watcher))
            watcher.waiting.clear()
    except Interrupted:
        return
    finally:
        watcher.stop()


def _news(watcher: Watcher) -> Callable[[], bool]:
    return lambda: bool(watcher.waiting)


def _oldest(session: Session, below: Keys) -> Entry | None:
    entries = ranges.sorted_by(
        ranges.entries(session.server.store, below), "CREATE", descending=False
    )
    return entries[0] if entries else None
