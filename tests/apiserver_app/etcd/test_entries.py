"""Values that have not changed for long are kept compressed, and nobody sees a difference."""

from __future__ import annotations

import random

import orjson
import pytest

from apiserver_app.etcd import entries, mvcc
from apiserver_app.etcd.backend import MemoryBackend
from apiserver_app.etcd.mvcc import Store

PODS = "/registry/pods/default/"
NODES = "/registry/minions/"


def body(number: int) -> bytes:
    rand = random.Random(number)
    return orjson.dumps(
        {
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}", "uid": f"{rand.getrandbits(128):x}"},
            "spec": {f"field-{at}": "the same in all pods" for at in range(60)},
        }
    )


def kept_bytes(store: Store, prefix: str) -> int:
    return sum(len(entry.kept) for entry in store.range(prefix).entries)


def test_an_old_value_takes_a_fraction_and_reads_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mvcc, "PLAIN", 10)
    store = Store(MemoryBackend())
    values = {f"{PODS}pod-{number}": body(number) for number in range(100)}
    for key, value in values.items():
        store.put(key, value)
    assert {entry.key: entry.value for entry in store.range(PODS).entries} == values
    assert store.bytes == sum(map(len, values.values()))
    assert kept_bytes(store, PODS) < store.bytes / 3

    changed = f"{PODS}pod-50"
    before = store.get(changed)
    assert before is not None and before.sample
    assert store.put(changed, b"new", expect=before.mod_revision)
    deleted = store.delete(f"{PODS}pod-51")
    assert deleted is not None and deleted.value == values[f"{PODS}pod-51"]
    assert store.pending[-1].old_value == values[f"{PODS}pod-51"]
    now = [entry.value for entry in store.range(PODS).entries]
    assert store.bytes == sum(map(len, now))


def test_what_changes_small_values_and_what_cannot_shrink_stay_plain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mvcc, "PLAIN", 10)
    store = Store(MemoryBackend())
    store.put(f"{PODS}small", b"x" * (entries.PACKED_MIN - 1))
    noise = random.Random(1).randbytes(2 * entries.SAMPLE_BYTES)
    for number in range(3):
        store.put(f"{NODES}noise-{number}", noise[number:])
    store.put(f"{NODES}other", random.Random(2).randbytes(5000))
    for number in range(100):
        store.put(f"{PODS}changing", body(number))
    plain = [f"{PODS}small", f"{PODS}changing", f"{NODES}noise-0", f"{NODES}other"]
    found = [store.get(key) for key in plain]
    assert [entry and entry.sample for entry in found] == [b"", b"", b"", b""]
    assert found[1] is not None and found[1].value == body(99)


def test_values_are_compressed_when_a_store_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mvcc, "PLAIN", 10)
    backend = MemoryBackend()
    store = Store(backend)
    for number in range(100):
        store.put(f"{PODS}pod-{number}", body(number))
    again = Store(backend)
    backend.rows.extend(store.pending)
    again.recover(store.revision, 0)
    assert again.range(PODS).entries[30].value == store.range(PODS).entries[30].value
    assert kept_bytes(again, PODS) < again.bytes / 2
