"""The store: the same facts hold for the log in memory and in the database."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection

from apiserver_app import models
from apiserver_app.etcd import log, tombstones
from apiserver_app.etcd.backend import (
    Backend,
    ClusterState,
    InputRow,
    LogRow,
    MemoryBackend,
    Segment,
)
from apiserver_app.etcd.errors import CompactedError, FutureRevError
from apiserver_app.etcd.log import DatabaseBackend
from apiserver_app.etcd.mvcc import Event, Store

POD = "/registry/pods/default/"


class Stored:
    """A store with what it needs to commit and to come back after a restart."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.state = ClusterState("test", 1, "1.33", "default", 0)
        self.etcd = Store(backend)

    def commit(self, segment: Segment | None = None, inputs: list[InputRow] | None = None) -> None:
        rows, self.etcd.pending = self.etcd.pending, []
        self.state.revision, self.state.compacted = self.etcd.revision, self.etcd.compacted
        segments = [] if segment is None else [segment]
        self.backend.commit(self.state, rows, segments, inputs or [])

    def reopened(self) -> Store:
        backend = self.backend
        if isinstance(backend, DatabaseBackend):
            backend = DatabaseBackend("test")
        state = backend.load()
        assert state is not None
        fresh = Store(backend)
        fresh.recover(state.revision, state.compacted)
        return fresh


@pytest.fixture(params=["memory", "database"])
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    if request.param == "memory":
        yield Stored(MemoryBackend())
    else:
        request.getfixturevalue("store_db")
        yield Stored(DatabaseBackend("test"))


@pytest.fixture
def store_db(transactional_db: None) -> None:
    """The database alias `store`, empty."""


pytestmark = pytest.mark.django_db(transaction=True)


def test_every_write_gets_the_next_revision_across_all_kinds(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    etcd.put("/registry/minions/n", b"2")
    etcd.delete(POD + "a")
    stored.commit()
    rows = list(stored.backend.since("/registry/", 0))
    assert [row.revision for row in rows] == [1, 2, 3]
    assert etcd.revision == 3


def test_a_put_with_a_stale_guard_changes_nothing(stored: Stored) -> None:
    etcd = stored.etcd
    first = etcd.put(POD + "a", b"1", expect=0)
    assert first is not None
    assert etcd.put(POD + "a", b"2", expect=0) is None
    assert etcd.put(POD + "a", b"2", expect=first.mod_revision) is not None
    assert etcd.put(POD + "a", b"3", expect=first.mod_revision) is None
    assert etcd.revision == 2 and etcd.get(POD + "a").value == b"2"  # type: ignore[union-attr]


def test_versions_count_from_one_again_after_a_delete(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    etcd.put(POD + "a", b"2")
    etcd.delete(POD + "a")
    again = etcd.put(POD + "a", b"3")
    stored.commit()
    assert again is not None
    assert (again.create_revision, again.mod_revision, again.version) == (4, 4, 1)


def test_a_recreated_key_follows_on_its_delete_also_after_a_restart(stored: Stored) -> None:
    stored.etcd.put(POD + "a", b"1")
    stored.etcd.delete(POD + "a")
    stored.commit()
    fresh = stored.reopened()
    fresh.put(POD + "a", b"2")
    stored.etcd = fresh
    stored.commit()
    row = next(iter(stored.backend.since(POD, 2)))
    assert row.prev_revision == 2


def test_range_gives_keys_in_order_pages_and_counts(stored: Stored) -> None:
    etcd = stored.etcd
    for name in ("c", "a", "b"):
        etcd.put(POD + name, name.encode())
    etcd.put("/registry/pods/other/z", b"z")
    found = etcd.range(POD, limit=2)
    assert [entry.value for entry in found.entries] == [b"a", b"b"] and found.total == 3
    rest = etcd.range(POD, after=found.entries[-1].key, limit=2)
    assert [entry.value for entry in rest.entries] == [b"c"]
    assert etcd.count("/registry/") == 4


def test_range_at_an_old_revision_shows_what_was_there(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    etcd.put(POD + "b", b"2")
    etcd.put(POD + "a", b"3")
    etcd.delete(POD + "b")
    stored.commit()
    etcd.put(POD + "c", b"4")
    assert [entry.value for entry in etcd.range_at(POD, 2).entries] == [b"1", b"2"]
    assert [entry.value for entry in etcd.range_at(POD, 4).entries] == [b"3"]
    assert [entry.value for entry in etcd.range_at(POD, 5).entries] == [b"3", b"4"]
    assert etcd.get_at(POD + "b", 3).value == b"2"  # type: ignore[union-attr]
    with pytest.raises(FutureRevError):
        etcd.range_at(POD, 6)


def test_a_watch_gets_history_first_and_then_what_happens(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    etcd.put(POD + "a", b"2")
    stored.commit()
    etcd.delete(POD + "a")
    seen: list[Event] = []
    etcd.watch(POD, seen.append, after=1)
    etcd.put(POD + "b", b"3")
    etcd.put("/registry/minions/n", b"4")
    assert [event.revision for event in seen] == [2, 3, 4]
    assert seen[0].previous is not None and seen[0].previous.value == b"1"
    assert seen[1].entry is None and seen[1].previous is not None
    assert seen[1].previous.value == b"2"
    assert seen[2].previous is None


def test_history_knows_what_a_delete_removed_when_the_write_before_it_is_older(
    stored: Stored,
) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"old")
    etcd.put(POD + "b", b"x")
    etcd.delete(POD + "a")
    stored.commit()
    events = etcd.history(POD, 2)
    assert [event.previous.value for event in events if event.previous] == [b"old"]


def test_compaction_keeps_current_values_and_refuses_older_reads(stored: Stored) -> None:
    etcd = stored.etcd
    for number in range(5):
        etcd.put(POD + "a", b"%d" % number)
    etcd.put(POD + "b", b"b")
    etcd.delete(POD + "b")
    stored.commit()
    etcd.compact(7)
    assert etcd.clear(4) + etcd.clear(7) == 6
    stored.commit()
    assert etcd.get(POD + "a").value == b"4"  # type: ignore[union-attr]
    with pytest.raises(CompactedError):
        etcd.range_at(POD, 3)
    with pytest.raises(CompactedError):
        etcd.history(POD, 3)
    with pytest.raises(CompactedError):
        etcd.compact(3)
    fresh = stored.reopened()
    assert [entry.value for entry in fresh.range(POD).entries] == [b"4"]
    assert fresh.compacted == 7


def test_what_is_deleted_and_compacted_before_it_is_committed_can_be_made_again(
    stored: Stored,
) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    stored.commit()
    etcd.delete(POD + "a")
    etcd.compact(2)
    etcd.clear(2)
    etcd.put(POD + "a", b"2")
    stored.commit()
    etcd.compact(3)
    etcd.clear(3)
    assert [row.revision for row in stored.backend.since(POD, 0)] == [3]
    assert stored.reopened().get(POD + "a").value == b"2"  # type: ignore[union-attr]


def test_what_was_committed_is_there_after_a_restart_and_nothing_else(stored: Stored) -> None:
    stored.etcd.put(POD + "a", b"1")
    stored.etcd.put(POD + "b", b"2", lease=60)
    stored.commit(Segment(1, 2, 0, b"zip"), [InputRow(1, 10, 5, 1, b"in")])
    stored.etcd.put(POD + "lost", b"3")
    fresh = stored.reopened()
    assert [entry.value for entry in fresh.range(POD).entries] == [b"1", b"2"]
    assert fresh.revision == 2 and fresh.lease_keys(60) == [POD + "b"]
    assert [segment.data for segment in stored.backend.segments(2, 9)] == [b"zip"]
    assert [entry.data for entry in stored.backend.inputs()] == [b"in"]
    assert stored.backend.values([1]) == {1: b"1"}


def test_old_records_and_inputs_are_forgotten_whole_segments_at_a_time(stored: Stored) -> None:
    for number in range(3):
        first = number * 10 + 1
        segment = Segment(first, first + 9, 0, b"%d" % number)
        stored.commit(segment, [InputRow(number, 1, 1, first, b"in")])
    assert stored.backend.forget(15) == 1
    assert [one.first for one in stored.backend.segments(1, 99)] == [11, 21]
    assert [entry.seq for entry in stored.backend.inputs()] == [21]


def test_the_last_inputs_before_a_record_are_found(stored: Stored) -> None:
    assert stored.backend.inputs_before(9, 2) == []
    rows = [InputRow(n, 1, 1, seq, b"%d" % n) for n, seq in ((4, 1), (5, 3), (6, 3), (7, 8))]
    stored.commit(Segment(1, 9, 0, b"zip"), rows)
    assert [one.n for one in stored.backend.inputs_before(8, 2)] == [5, 6]
    assert [one.n for one in stored.backend.inputs_before(9, 9)] == [4, 5, 6, 7]
    assert stored.backend.inputs_before(1, 9) == []


def test_revoking_a_lease_deletes_its_keys(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1", lease=7)
    etcd.put(POD + "b", b"2", lease=7)
    etcd.put(POD + "c", b"3")
    assert etcd.revoke(7) == 2
    assert [entry.key for entry in etcd.range(POD).entries] == [POD + "c"]


def test_two_writers_of_one_revision_collide_in_the_database(store_db: None) -> None:
    first, second = DatabaseBackend("test"), DatabaseBackend("test")
    one = Stored(first)
    one.etcd.put(POD + "a", b"1")
    one.commit()
    second.load()
    two = Stored(second)
    two.etcd.put(POD + "a", b"2")
    with pytest.raises(IntegrityError):
        two.commit()
    assert one.reopened().get(POD + "a").value == b"1"  # type: ignore[union-attr]


def test_a_cluster_that_is_erased_is_deleted_step_by_step(store_db: None) -> None:
    kept, gone = Stored(DatabaseBackend("test")), DatabaseBackend("other")
    kept.etcd.put(POD + "a", b"1")
    kept.commit(Segment(1, 1, 0, b"x"), [InputRow(1, 1, 0, 1, b"x")])
    gone.commit(
        ClusterState("other", 1, "1.33", "", 7, revision=450, volumes={"v": b"z"}),
        [LogRow(n, POD + "b", b"2", None, 1, n - 1, n, 0, False) for n in range(1, 451)],
        [Segment(1, 1, 0, b"y")],
        [InputRow(1, 1, 0, 1, b"y")],
    )
    old = gone.pk

    gone.erase()

    assert gone.load() is None
    again = DatabaseBackend("other")  # the name is free at once
    again.commit(
        ClusterState("other", 1, "1.33", "", 8, revision=1),
        [LogRow(1, POD + "n", b"3", None, 1, 0, 1, 0, False)],
        [],
        [],
    )
    assert not list(again.segments(1, 9))
    left = []
    while log.sweep():
        left.append(models.LogEntry.objects.filter(cluster_id=old).count())
    assert left == [350, 250, 150, 50, 0, 0, 0, 0, 0]  # of the log, then the others
    for table in (models.LogEntry, models.TraceSegment, models.InputEntry, models.Volume):
        assert not table.objects.filter(cluster_id=old).exists()
    assert not models.Cluster.objects.filter(pk=old).exists()
    assert [row.key for row in again.newest()] == [POD + "n"]
    assert kept.reopened().get(POD + "a").value == b"1"  # type: ignore[union-attr]
    for stays in (kept.backend.segments(1, 9), kept.backend.inputs()):
        assert list(stays)


def test_only_a_commit_with_a_revision_waits_for_the_disk(store_db: None) -> None:
    stored = Stored(DatabaseBackend("test"))

    def waits() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous")
            return bool(cursor.fetchone()[0] == 2)  # FULL

    stored.commit(Segment(1, 1, 0, b""))
    assert not waits()
    stored.etcd.put(POD + "a", b"1")
    stored.commit()
    assert waits()
    stored.commit(Segment(2, 2, 0, b""))
    assert not waits()


def test_a_delete_with_a_stale_guard_changes_nothing(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    etcd.put(POD + "a", b"2")
    assert etcd.delete(POD + "a", expect=1) is None
    assert etcd.delete(POD + "b", expect=2) is None
    assert etcd.revision == 2
    held = etcd.delete(POD + "a", expect=2)
    assert held is not None and held.value == b"2" and etcd.get(POD + "a") is None


def test_a_page_goes_on_behind_a_key_that_is_gone(stored: Stored) -> None:
    etcd = stored.etcd
    for name in "abc":
        etcd.put(POD + name, b"")
    etcd.delete(POD + "b")
    assert [entry.key for entry in etcd.range(POD, after=POD + "b").entries] == [POD + "c"]
    assert [entry.key for entry in etcd.range(POD, after=POD + "c").entries] == []
    assert etcd.range(POD, after=POD + "c").total == 2


def test_one_key_of_the_past_is_not_those_that_begin_like_it(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    etcd.put(POD + "ab", b"2")
    assert etcd.get_at(POD + "a", 2).value == b"1"  # type: ignore[union-attr]
    stored.commit()
    assert etcd.get_at(POD + "a", 2).value == b"1"  # type: ignore[union-attr]


def test_the_log_says_how_large_a_part_of_it_is(stored: Stored) -> None:
    etcd = stored.etcd
    for number in range(10):
        etcd.put(f"{POD}{number}", b"x" * 100_000)
    etcd.delete(f"{POD}0")
    stored.commit()
    size = etcd.backend.size
    assert [size(0, 11), size(9, 11), size(10, 11), size(11, 20)] == [
        1_100_000,
        200_000,
        100_000,
        0,
    ]


def test_the_revision_of_a_compaction_can_still_be_read_and_watched(stored: Stored) -> None:
    etcd = stored.etcd
    for number in range(4):
        etcd.put(POD + "a", b"%d" % number)
    stored.commit()
    etcd.compact(3)
    assert [entry.value for entry in etcd.range_at(POD, 3).entries] == [b"2"]
    assert [event.revision for event in etcd.history(POD, 3)] == [4]
    for again in (2, 3):
        with pytest.raises(CompactedError):
            etcd.compact(again)
    for beyond in (etcd.compact, lambda at: etcd.history(POD, at)):
        with pytest.raises(FutureRevError):
            beyond(5)
    assert etcd.history(POD, 4) == []


def test_a_recreated_key_follows_on_its_delete_until_that_is_cleared(stored: Stored) -> None:
    etcd = stored.etcd
    for name in "ab":
        etcd.put(POD + name, b"")
        etcd.delete(POD + name)
    stored.commit()
    etcd.compact(2)
    etcd.clear(2)
    etcd.put(POD + "a", b"")
    etcd.put(POD + "b", b"")
    assert [row.prev_revision for row in etcd.pending] == [0, 4]


def test_a_key_follows_on_its_delete_however_many_were_deleted_since(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tombstones, "KEPT_MAX", 4)
    rand = random.Random(1)
    deleted: dict[str, int] = {}
    present: set[str] = set()
    for round_ in range(400):
        name = f"{POD}{rand.randrange(40)}"
        if name in present:
            stored.etcd.delete(name)
            present.remove(name)
            deleted[name] = stored.etcd.revision
        else:
            stored.etcd.put(name, b"")
            present.add(name)
            assert stored.etcd.pending[-1].prev_revision == deleted.pop(name, 0)
        if not rand.randrange(5):
            stored.commit()
        if round_ == 200:
            stored.commit()
            stored.etcd = stored.reopened()
        if round_ == 300:
            stored.commit()
            until = stored.etcd.revision - 20
            stored.etcd.compact(until)
            stored.etcd.clear(until)
            deleted = {key: at for key, at in deleted.items() if at > until}


def test_a_lease_loses_keys_that_are_deleted_or_move_to_another(stored: Stored) -> None:
    etcd = stored.etcd
    for name in "abc":
        etcd.put(POD + name, b"1", lease=7)
    etcd.put(POD + "a", b"2", lease=8)
    etcd.put(POD + "b", b"2")
    etcd.delete(POD + "c")
    etcd.put(POD + "c", b"3")
    assert etcd.lease_keys(7) == [] and etcd.lease_keys(8) == [POD + "a"]
    etcd.put(POD + "a", b"3", lease=8)
    assert etcd.lease_keys(8) == [POD + "a"]
    assert (etcd.revoke(7), etcd.revoke(8)) == (0, 1)
    assert [entry.key for entry in etcd.range(POD).entries] == [POD + "b", POD + "c"]


def test_who_stops_watching_is_told_no_more_and_the_others_are(stored: Stored) -> None:
    etcd = stored.etcd
    one: list[Event] = []
    other: list[Event] = []
    tell = one.append
    etcd.watch(POD, tell)
    etcd.watch(POD, other.append)
    etcd.unwatch(tell)
    etcd.put(POD + "a", b"1")
    assert (len(one), len(other)) == (0, 1)


def test_history_of_what_is_not_committed_yet_is_that_of_the_prefix(stored: Stored) -> None:
    etcd = stored.etcd
    etcd.put(POD + "a", b"1")
    etcd.put("/registry/minions/n", b"x")
    etcd.put(POD + "a", b"2")
    etcd.delete(POD + "a")
    etcd.put(POD + "a", b"3")
    events = etcd.history(POD, 1)
    assert [event.revision for event in events] == [3, 4, 5]
    held = [event.previous.value if event.previous else None for event in events[1:]]
    assert held == [b"2", None]
    stored.commit()
    assert etcd.history(POD, 3)[0].previous.value == b"2"  # type: ignore[union-attr]
