"""Transactions: guards, the one list of requests or the other, and what is refused."""

from __future__ import annotations

import pytest

from apiserver_app.etcd import put, txn
from apiserver_app.etcd.backend import MemoryBackend
from apiserver_app.etcd.delete_range import Request as Delete
from apiserver_app.etcd.delete_range import Response as Deleted
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.etcd.keys import Keys, prefix_end
from apiserver_app.etcd.life import Life
from apiserver_app.etcd.members import Members
from apiserver_app.etcd.mvcc import Store
from apiserver_app.etcd.put import Request as Put
from apiserver_app.etcd.range import Request as Get
from apiserver_app.etcd.range import Response as Got
from apiserver_app.etcd.server import Decoded, Server
from apiserver_app.etcd.txn import Compare
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from lifecycle.trace.recorder import Recorder

KEY = "/registry/pods/default/a"


class PlainValues:
    """Values that are stored as they are put."""

    def encoded(self, entry: Entry) -> bytes:
        return entry.value

    def decoded(self, key: str, value: bytes, revision: int) -> Decoded:
        return Decoded(value)

    def object_of(self, entry: Entry) -> tuple[None, None]:
        return None, None


@pytest.fixture
def server() -> Server:
    kernel = Kernel(0)
    members = Members("test", kernel, lambda host: False)
    probe = Recorder(kernel, epoch=0)
    return Server(
        "test",
        Release(33),
        Store(MemoryBackend()),
        kernel,
        Rand(1),
        probe,
        PlainValues(),
        members,
        Life(kernel, probe),
    )


def test_a_transaction_does_the_one_or_the_other(server: Server) -> None:
    absent = Compare(KEY, "version", "=", 0)
    take, look = Put(KEY, b"me"), Get(Keys(KEY))
    assert txn.txn(server, [absent], [take], [look]).succeeded is True
    done = txn.txn(server, [absent], [take], [look])
    (got,) = done.responses
    assert done.succeeded is False and isinstance(got, Got)
    assert [entry.value for entry in got.entries] == [b"me"]


@pytest.mark.parametrize(
    ("target", "result", "wanted", "holds"),
    [
        ("version", "=", 2, True), ("version", "=", 1, False), ("version", "!=", 1, True),
        ("version", "!=", 2, False), ("mod_revision", ">", 1, True),
        ("mod_revision", ">", 2, False), ("create_revision", "<", 2, True),
        ("create_revision", "<", 1, False), ("value", "=", b"2", True),
        ("value", ">", b"1", True), ("value", "<", b"2", False), ("lease", "=", 0, True),
    ],
)  # fmt: skip
def test_a_guard_compares_as_it_says(
    server: Server, target: str, result: str, wanted: int | bytes, holds: bool
) -> None:
    server.store.put(KEY, b"1")
    server.store.put(KEY, b"2")
    assert txn.txn(server, [Compare(KEY, target, result, wanted)], [], []).succeeded is holds


def test_a_key_that_is_not_there_has_revision_0_and_no_value_to_compare(server: Server) -> None:
    assert txn.txn(server, [Compare(KEY, "mod_revision", "=", 0)], [], []).succeeded is True
    assert txn.txn(server, [Compare(KEY, "value", "=", b"")], [], []).succeeded is False


def test_a_transaction_deletes(server: Server) -> None:
    server.store.put(KEY, b"1")
    done = txn.txn(server, [], [Delete(Keys(KEY), prev_kv=True), Get(Keys(KEY))], [])
    deleted, got = done.responses
    assert isinstance(deleted, Deleted) and isinstance(got, Got)
    assert [one.value for one in deleted.previous] == [b"1"]
    assert (deleted.deleted, got.entries) == (1, [])


def test_each_write_of_a_transaction_has_a_revision_of_its_own(server: Server) -> None:
    txn.txn(server, [], [Put(f"{KEY}1", b"1"), Put(f"{KEY}2", b"2")], [])
    assert server.store.revision == 2


def test_what_is_refused_in_a_transaction_changes_nothing(server: Server) -> None:
    twice: list[txn.Request] = [Put(KEY, b"1"), Put(KEY, b"2")]
    both: list[txn.Request] = [Put(KEY, b"1"), Delete(Keys(KEY, prefix_end(KEY)))]
    for requests in (twice, both):
        with pytest.raises(EtcdError, match="duplicate key"):
            txn.txn(server, [], requests, [])
    many = [Put(f"{KEY}{number}", b"") for number in range(txn.OPERATIONS_MAX + 1)]
    with pytest.raises(EtcdError, match="too many operations"):
        txn.txn(server, [], [], many)
    with pytest.raises(EtcdError, match="too large"):
        txn.txn(server, [], [Put(KEY, b"x" * put.REQUEST_BYTES_MAX)], [])
    assert server.store.revision == 0
