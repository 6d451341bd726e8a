"""Which forks are refused before anything is made."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.hosting.worker.control import ControlError, Controls
from lifecycle.hosting.worker.forks import Forks
from tests.apiserver_app.cluster import bare_session


class NoFleet:
    """Nothing may come so far."""

    def join(self, host: ClusterHost) -> None:
        raise AssertionError

    leave = join

    def ask(self, cluster: str, role: str) -> None:
        raise AssertionError


def unbuilt(name: str) -> ClusterHost:
    raise AssertionError(name)


@pytest.fixture
def session() -> Session:
    return bare_session()


def refusal(session: Session, **args: Any) -> str:
    controls = Controls({"demo": session.host})
    controls.add(Forks(session.host, NoFleet(), unbuilt, lambda: None).actions)
    with pytest.raises(ControlError) as caught:
        controls.handle("demo", "fork", args)
    assert controls.handle("demo", "forks", {})["forks"] == []
    return str(caught.value)


def test_a_store_that_takes_no_writes_keeps_no_fork(session: Session) -> None:
    session.cluster.store.alarm = "etcdserver: mvcc: database space exceeded"
    assert refusal(session, seq=5) == (
        "no fork can be kept: etcdserver: mvcc: database space exceeded"
    )


@pytest.mark.parametrize("name", ["seq", "revision"])
def test_a_moment_that_was_compacted_or_forgotten_is_no_longer_kept(
    session: Session, name: str
) -> None:
    session.cluster.store.compacted = session.cluster.store.revision
    why = f"{name} 5 is no longer kept: the store is compacted up to revision "
    assert refusal(session, **{name: 5}).startswith(why)
    session.cluster.store.compacted = 0
    session.backend.forget(session.cluster.recorder.seq)
    assert refusal(session, **{name: 5}).startswith(f"{name} 5 is no longer kept: ")


@pytest.mark.parametrize("odd", ["x", None, -1, 0, 1.5, True, [], {}, 10**12])
@pytest.mark.parametrize("name", ["seq", "revision", "seed"])
def test_what_is_no_number_in_range_is_refused_in_words(
    session: Session, name: str, odd: Any
) -> None:
    if name == "seed" and odd in (None, 0, 10**12):
        return
    given = {"seq": 5, name: odd} if name == "seed" else {name: odd}
    why = refusal(session, **given)
    assert name in why or why == 'a moment is needed: either "seq" or "revision"'
