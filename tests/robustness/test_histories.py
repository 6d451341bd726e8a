"""Nothing acknowledged is lost, histories are linearizable and watches whole, whatever dies.

`python -m tests.robustness` runs many more rounds.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.robustness import histories
from tests.robustness import linearizability as lin
from tests.robustness.histories import Run
from tests.robustness.linearizability import Operation

SEED = 7


def test_histories_through_kills_a_full_disk_and_a_stopped_worker_hold(tmp_path: Path) -> None:
    run = Run(tmp_path, SEED)
    for kind in histories.kinds(4, 1, 1):
        run.round(kind)
    run.end()
    assert run.problems() == []
    assert len(run.events) > 6 * histories.KEYS


def test_a_store_of_an_earlier_moment_is_found(tmp_path: Path) -> None:
    """The control: without its mark the store opens as it was before the round, and is noticed."""
    run = Run(tmp_path, SEED)
    store, earlier = tmp_path / "data" / "store.sqlite3", tmp_path / "earlier"
    with closing(sqlite3.connect(store)) as now, closing(sqlite3.connect(earlier)) as copy:
        now.backup(copy)
    run.round(histories.KILL)
    run.create(list(run.operations))
    assert all(map(lin.is_linearizable, run.operations.values()))
    run.kill_all()
    for log in (f"{store}-wal", f"{store}-shm", tmp_path / "data" / "demo.mark"):
        Path(log).unlink()
    earlier.replace(store)
    run.start()
    run.read(list(run.operations))
    run.close()
    assert not all(map(lin.is_linearizable, run.operations.values()))


def op(
    start: float,
    end: float,
    kind: str,
    outcome: str,
    value: str | None = None,
    expected: str | None = None,
) -> Operation:
    done = Operation(start, end, kind, outcome, value, expected)
    return lin.unknown(done) if outcome == lin.UNKNOWN else done


CREATED = op(0, 1, lin.CREATE, lin.OK, "a")


@pytest.mark.parametrize(
    ("history", "holds"),
    [
        ([CREATED, op(2, 3, lin.GET, lin.OK, "a")], True),
        ([CREATED, op(2, 3, lin.GET, lin.ABSENT)], False),  # lost
        ([CREATED, op(0.5, 3, lin.GET, lin.ABSENT)], True),  # at the same time
        ([CREATED, op(2, 3, lin.PUT, lin.OK, "b"), op(4, 5, lin.GET, lin.OK, "a")], False),  # stale
        ([CREATED, op(2, 3, lin.PUT, lin.UNKNOWN, "b"), op(4, 5, lin.GET, lin.OK, "a")], True),
        ([CREATED, op(2, 3, lin.PUT, lin.UNKNOWN, "b"), op(4, 5, lin.GET, lin.OK, "b"),
          op(6, 7, lin.GET, lin.OK, "a")], False),  # came, and went
        ([CREATED, op(2, 3, lin.DELETE, lin.OK), op(2, 3, lin.DELETE, lin.OK)], False),  # twice
        ([CREATED, op(2, 4, lin.CAS, lin.OK, "b", "a"), op(2, 4, lin.CAS, lin.OK, "c", "a")],
         False),
        ([CREATED, op(2, 4, lin.CAS, lin.OK, "b", "a"), op(2, 4, lin.CAS, lin.CONFLICT, "c", "a")],
         True),
    ],
)  # fmt: skip
def test_the_checker_tells_what_a_register_may_do(history: list[Operation], holds: bool) -> None:
    assert lin.is_linearizable(history) is holds
