"""Forks: clusters that begin as another one was at a moment of its trace, and go their own way.

A fork is a cluster like any other, in the same worker and store, under a name of its own. It is
made in slices beside the clusters that run, joins them paused at its moment, and ends with the
worker: whatever a fork does, the next worker begins without it.

Beside these a cluster can be begun anew, as it was when it was ready: one to play in. It runs at
once, has its own bound, so that playing uses up no forks, and can be forked itself.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Protocol

import msgspec
from msgspec import structs

from apiserver_app.etcd.backend import FORK, ClusterState
from apiserver_app.etcd.errors import StoreError
from apiserver_app.etcd.log import DatabaseBackend
from apiserver_app.machinery.rand import Rand
from lifecycle.hosting.worker import anew
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.hosting.worker.control import Args, ControlError
from lifecycle.hosting.worker.rerun import Diverged, Rerun
from lifecycle.trace import moments, storage

KEPT_MAX = 5
PLAYED_MAX = 3  # clusters that were begun anew; then the oldest goes
RERUN_RECORDS_MAX = 300_000  # a minute
TITLE_CHARACTERS_MAX = 100
SLICE_SECONDS = 0.01  # of making one, between two slices of the clusters
SEED_MAX = 2**63 - 1
MAKING, READY, FAILED = "making", "ready", "failed"
RERUN, OBJECTS, ANEW = "rerun", "objects", "anew"

Build = Callable[[str], ClusterHost]


class Fork(msgspec.Struct):
    """One, as it is told of. `how` it was made: `why` says why not by running the log again. One
    that is begun `anew` has nothing in common with its cluster but what both are made from."""

    name: str
    cluster: str
    seq: int
    revision: int
    t: int
    seed: int
    title: str
    state: str = MAKING
    done: float = 0.0
    how: str | None = None
    why: str = ""
    anew: bool = False


class Fleet(Protocol):
    """Who drives the clusters of this worker."""

    def join(self, host: ClusterHost) -> None:
        """Drives one more from now on."""
        ...

    def ask(self, cluster: str, role: str) -> None:
        """Has a role of a cluster started."""
        ...

    def leave(self, host: ClusterHost) -> None:
        """Stops driving it; a caller that waits for it gets an answer."""
        ...


class Forks:
    """Those of one cluster."""

    def __init__(
        self, origin: ClusterHost, fleet: Fleet, build: Build, sweep: Callable[[], None]
    ) -> None:
        """`build` makes a cluster on its host, from what the store has under a name; `sweep` begins
        to delete what was given up."""
        self.actions: dict[str, Callable[[ClusterHost, Args], Any]] = {
            "fork": self._fork,
            "forks": lambda host, args: {"forks": self._of(host)},
            "remove_fork": self._remove,
            "fork_bookmarks": self._marks,
            "stage": lambda host, args: self._show(host),
        }
        self._origin = origin
        self._fleet = fleet
        self._build = build
        self._sweep = sweep
        self._count = 0
        self._forks: dict[str, Fork] = {}
        self._bookmarks: dict[str, list[Args]] = {}  # which end with their fork
        self._making: dict[str, Generator[float]] = {}  # in turn
        self._hosts: dict[str, ClusterHost] = {}

    @property
    def making(self) -> bool:
        return bool(self._making)

    def work(self) -> None:
        """Makes for a slice."""
        end = time.monotonic() + SLICE_SECONDS
        while self._making and time.monotonic() < end:
            name = next(iter(self._making))
            fork = self._forks[name]
            try:
                fork.done = min(next(self._making[name]), 1.0)
            except StopIteration:
                del self._making[name]
                fork.state, fork.done = READY, 1.0
            except StoreError as error:
                self._fail(fork, str(error))
            except Exception as error:  # a bug in here must not end the clusters
                self._origin.cluster.context.process.on_bug(f"fork {name}", error)
                self._fail(fork, f"it could not be made: {error!r}")

    # -- actions --------------------------------------------------------------------------------

    def _of(self, host: ClusterHost) -> list[Args]:
        name = host.cluster.name
        return [structs.asdict(fork) for fork in self._forks.values() if fork.cluster == name]

    def _fork(self, host: ClusterHost, args: Args) -> Args:
        if host.cluster.store.alarm:
            raise ControlError(f"no fork can be kept: {host.cluster.store.alarm}")
        if args.get("anew"):
            return self._begin_anew(args)
        if host is not self._origin and not self._forks[host.cluster.name].anew:
            origin = self._forks[host.cluster.name].cluster
            raise ControlError(f'"{host.cluster.name}" is a fork itself: fork "{origin}"')
        if (
            sum(not other.anew and other.state != FAILED for other in self._forks.values())
            >= KEPT_MAX
        ):
            raise ControlError(f"there are {KEPT_MAX} forks already: remove one first")
        moment = _moment(host, args)
        seed = args.get("seed")
        if seed is None:
            seed = host.cluster.state.seed
        if type(seed) is not int or not 0 <= seed <= SEED_MAX:
            raise ControlError(f"seed must be a number from 0 to {SEED_MAX}")
        title = str(args.get("title") or "")[:TITLE_CHARACTERS_MAX]
        fork = Fork(self._name(host), host.cluster.name, *_place_of(moment), seed, title)
        past = [bookmark for bookmark in args.get("bookmarks", ()) if bookmark["seq"] <= fork.seq]
        return self._begin(fork, self._make(fork, host), past)

    def _begin_anew(self, args: Args) -> Args:
        """`replaces` one of its kind, which is there until the new one is ready."""
        origin, old = self._origin, str(args.get("replaces", ""))
        others = [other.name for other in self._forks.values() if other.anew and other.name != old]
        for name in others[: max(0, len(others) - PLAYED_MAX + 1)]:
            self._end(name, origin.cluster.name)
        seed = origin.cluster.state.seed
        fork = Fork(self._name(origin), origin.cluster.name, 0, 0, 0, seed, "", anew=True)
        return self._begin(fork, self._make_anew(fork, old), [])

    def _name(self, host: ClusterHost) -> str:
        self._count += 1
        return f"{host.cluster.name}{FORK}{self._count}"

    def _begin(self, fork: Fork, making: Generator[float], bookmarks: list[Args]) -> Args:
        """Makes it from now on; what failed before is forgotten."""
        for name in [other.name for other in self._forks.values() if other.state == FAILED]:
            del self._forks[name]
            del self._bookmarks[name]
        self._forks[fork.name] = fork
        self._bookmarks[fork.name] = bookmarks
        self._making[fork.name] = making
        self._origin.inbox.wake()
        return {"fork": structs.asdict(fork)}

    def _marks(self, host: ClusterHost, args: Args) -> Args:
        """The bookmarks of a fork; `set` puts others in their place."""
        name = host.cluster.name
        if name not in self._bookmarks:
            raise ControlError(f'"{name}" is no fork')
        self._bookmarks[name] = args.get("set", self._bookmarks[name])
        return {"bookmarks": self._bookmarks[name]}

    def _remove(self, host: ClusterHost, args: Args) -> None:
        name = str(args.get("name", ""))
        if name == host.cluster.name:
            raise ControlError(f'"{name}" is the cluster that is served here, and no fork')
        if name not in self._forks:
            raise ControlError(f'there is no cluster "{name}"')
        self._end(name, self._origin.cluster.name)

    def _show(self, host: ClusterHost) -> None:
        """Who only watches goes along there, from the origin and from each copy; not into a fork
        that is no copy, nor out of one."""
        copies = [self._hosts[name] for name in self._hosts if self._forks[name].anew]
        places = [self._origin, *copies]
        if host in places:
            for other in places:
                other.stage = "" if other is host else host.cluster.name

    def _end(self, name: str, stage: str) -> None:
        """Together with what was forked from it. Viewers are sent on to `stage`."""
        for host in (self._origin, *self._hosts.values()):
            if host.stage == name:
                host.stage = ""
        if name in self._hosts:
            self._hosts[name].stage = stage
        for forked in [fork.name for fork in self._forks.values() if fork.cluster == name]:
            self._end(forked, stage)
        self._drop(name)
        del self._forks[name]
        del self._bookmarks[name]

    # -- making ---------------------------------------------------------------------------------

    def _make_anew(self, fork: Fork, replaces: str) -> Generator[float]:
        """Yields the part that is done."""
        DatabaseBackend(fork.name).commit(
            anew.state_of(self._origin.cluster, fork.name), [], [], []
        )
        with contextlib.ExitStack() as undo:
            host = self._build(fork.name)
            undo.callback(host.kernel.close)
            yield from anew.run(host, functools.partial(self._fleet.ask, fork.name))
            undo.pop_all()
        fork.how = ANEW
        self._join(fork.name, host)
        self._show(host)
        if replaces in self._forks and self._forks[replaces].anew:
            self._end(replaces, fork.name)

    def _make(self, fork: Fork, origin: ClusterHost) -> Generator[float]:
        """Yields the part that is done."""
        try:
            yield from self._run_again(fork, origin)
            fork.how = RERUN
            return
        except Diverged as error:
            fork.why = f"not exact, its components started anew: {error}"
            self._give_up(fork.name)
        yield from self._copy(fork, origin)
        fork.how = OBJECTS
        host = self._build(fork.name)
        self._join_paused(fork, host)
        host.cluster.start(functools.partial(self._fleet.ask, fork.name))

    def _run_again(self, fork: Fork, host: ClusterHost) -> Iterator[float]:
        """Everything since this worker began, from the log of inputs. Raises Diverged."""
        begun, origin = host.begun, host.cluster
        if fork.seq <= begun.seq:
            raise Diverged("the moment lies before the last start of the worker")
        if fork.seq - begun.seq > RERUN_RECORDS_MAX:
            raise Diverged(f"more than {RERUN_RECORDS_MAX} records lie between the start and it")
        if begun.revision > 0 and begun.compacted < origin.store.compacted:
            raise Diverged("the store was compacted since the worker started")
        source, target = _backends(fork, host)
        inputs = begun.control.get("inputs", 0)
        target.commit(structs.replace(begun, name=fork.name, seed=fork.seed), [], [], [])
        for done in target.copy(source, begun.revision, begun.seq, inputs):
            yield done / 10
        with contextlib.ExitStack() as undo:
            made = self._build(fork.name)
            undo.callback(made.kernel.close)
            yield 0.1
            rerun = Rerun(made, host)
            for done in rerun.until(fork.seq):
                yield 0.1 + 0.9 * done
            undo.pop_all()
        if fork.seed != begun.seed:
            made.cluster.rand.state = Rand(fork.seed).state
        self._join_paused(fork, made)
        rerun.hand_over(functools.partial(self._fleet.ask, fork.name))

    def _copy(self, fork: Fork, host: ClusterHost) -> Iterator[float]:
        """What the store had at that moment, as a cluster that a worker starts again."""
        origin = host.cluster
        source, target = _backends(fork, host)
        begun = _state(fork, host)
        target.commit(structs.replace(begun, revision=0, seq=0), [], [], [])
        admitted = source.inputs_before(fork.seq + 1, 1)
        inputs = admitted[-1].n if admitted else 0
        yield from target.copy(source, fork.revision, fork.seq, inputs)
        if origin.store.compacted > fork.revision:
            raise StoreError("the moment was compacted away meanwhile")
        cut = storage.cut(source, fork.seq)
        target.commit(begun, [], cut, [])

    def _join(self, name: str, host: ClusterHost) -> None:
        host.announce()
        # listeners of an earlier one of that name are sent away; the store has what was before
        host.staged.append(("trace", name, 1, host.cluster.recorder.seq, b""))
        self._hosts[name] = host
        self._fleet.join(host)

    def _join_paused(self, fork: Fork, host: ClusterHost) -> None:
        """Paused at its moment: what is asked of it now is done before it goes on."""
        cluster = host.cluster
        host.prepare()
        self._join(fork.name, host)
        fork.seq, fork.revision = cluster.recorder.seq, cluster.store.revision
        fork.t = cluster.kernel.now - cluster.state.epoch

    def _fail(self, fork: Fork, why: str) -> None:
        fork.state, fork.why = FAILED, why
        self._drop(fork.name)

    def _drop(self, name: str) -> None:
        """Ends what runs of a fork, and gives up what is stored of it."""
        making = self._making.pop(name, None)
        if making is not None:
            making.close()
        host = self._hosts.pop(name, None)
        if host is not None:
            self._fleet.leave(host)
        with contextlib.suppress(StoreError):
            self._give_up(name)

    def _give_up(self, name: str) -> None:
        """What is stored under a name."""
        backend = DatabaseBackend(name)
        if backend.load() is not None:
            backend.erase()
            self._sweep()


def _moment(host: ClusterHost, args: Args) -> moments.Moment:
    """Raises ControlError for a moment that there is not, or not any more."""
    cluster = host.cluster
    store, last = cluster.store, cluster.state.seq
    given = [name for name in ("seq", "revision") if args.get(name) is not None]
    if len(given) != 1:
        raise ControlError('a moment is needed: either "seq" or "revision"')
    wanted = args[given[0]]
    if type(wanted) is not int or wanted < 1:
        raise ControlError(f"{given[0]} must be a number from 1 on")
    end = last if given[0] == "seq" else cluster.state.revision
    if wanted > end:
        raise ControlError(f"{given[0]} {wanted} lies ahead: the cluster is at {end}")
    if given[0] == "seq":
        moment = moments.at_record(store.backend, wanted)
    else:
        moment = moments.at_revision(store.backend, wanted, last)
    if moment is None or moment.revision < store.compacted:
        raise ControlError(
            f"{given[0]} {wanted} is no longer kept: the store is compacted up to revision "
            f"{store.compacted}"
        )
    return moment


def _backends(fork: Fork, origin: ClusterHost) -> tuple[DatabaseBackend, DatabaseBackend]:
    """The cluster's, and one for the fork."""
    source = origin.cluster.store.backend
    assert isinstance(source, DatabaseBackend), "forks are kept in a database"
    return source, DatabaseBackend(fork.name)


def _state(fork: Fork, host: ClusterHost) -> ClusterState:
    """Of the fork at its moment. What has no history is taken as it is now: random numbers go on
    where the cluster's are, because those before made names that are in use."""
    origin, state = host.cluster, host.cluster.state
    saved = origin.store.backend.load()
    assert saved is not None, "it has records"
    same = fork.seed == state.seed
    return structs.replace(
        saved,
        name=fork.name,
        seed=fork.seed,
        revision=fork.revision,
        seq=fork.seq,
        now=state.epoch + fork.t,
        rand=saved.rand if same else Rand(fork.seed).state,
    )


def _place_of(moment: moments.Moment) -> tuple[int, int, int]:
    return moment.seq, moment.revision, moment.t
