"""Moments of a trace: the record of a revision, and the oldest revision that is kept."""

from __future__ import annotations

import pytest

from lifecycle.hosting import scripted
from lifecycle.trace import moments
from tests.apiserver_app.cluster import started_session
from tests.sim.test_story import DEPLOYMENTS, deployment


@pytest.fixture
def session() -> scripted.Session:
    session = started_session()
    session.request("POST", DEPLOYMENTS, deployment(replicas=3))
    session.wait(30)
    return session


def written(session: scripted.Session) -> dict[int, int]:
    """Revision -> record of its write."""
    return {
        record["rev"]: record["seq"] for record in session.records() if record["kind"] == "write"
    }


def test_a_revision_is_found_at_the_record_of_its_write(session: scripted.Session) -> None:
    found = written(session)
    last = session.cluster.recorder.seq
    for revision in list(found)[::20]:
        moment = moments.at_revision(session.backend, revision, last)
        assert moment is not None
        assert (moment.seq, moment.revision) == (found[revision], revision)
    assert moments.oldest_revision(session.backend, last) == min(found)


def test_of_what_is_forgotten_the_oldest_that_is_kept_is_told_and_found(
    session: scripted.Session,
) -> None:
    found, last = written(session), session.cluster.recorder.seq
    session.backend.forget(last // 2)
    kept = next(iter(session.backend.segments(1, last))).first
    oldest = min(revision for revision, seq in found.items() if seq >= kept)

    assert moments.oldest_revision(session.backend, last) == oldest
    moment = moments.at_revision(session.backend, oldest, last)
    assert moment is not None and moment.seq == found[oldest]
    assert moments.at_revision(session.backend, oldest - 1, last) is None
