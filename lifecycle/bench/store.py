"""The log of revisions in SQLite as the worker commits to it: single and joined writes, reads."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifecycle.bench import harness, lifecycle_pods
from lifecycle.bench.api_load import percentile

if TYPE_CHECKING:
    from apiserver_app.etcd.backend import LogRow

VALUE = b"x" * lifecycle_pods.ROW_BYTES
SINGLE, JOINED = 500, 50  # commits of one revision; revisions in a joined commit
KEYS = 10_000


def run(runs: int = harness.RUNS) -> dict[str, Any]:
    return harness.repeated("store", _measure, runs, keys=KEYS)


def _measure() -> dict[str, Any]:
    from apiserver_app.etcd.backend import ClusterState
    from apiserver_app.etcd.log import DatabaseBackend
    from lifecycle.hosting import schema

    with tempfile.TemporaryDirectory() as name:
        lifecycle_pods.point_store_at(Path(name) / "store.sqlite3")
        schema.migrate_if_needed()
        backend = DatabaseBackend("bench")
        state = ClusterState("bench", seed=1, version="1.33.4", profile="", epoch=0)

        def commit(count: int) -> float:
            first = state.revision + 1
            state.revision += count
            rows = [_row(at) for at in range(first, state.revision + 1)]
            began = time.perf_counter()
            backend.commit(state, rows, [], [])
            return time.perf_counter() - began

        singles = [commit(1) for _ in range(SINGLE)]
        began = time.perf_counter()
        for _ in range(KEYS // JOINED):
            commit(JOINED)
        joined = KEYS / (time.perf_counter() - began)
        began = time.perf_counter()
        newest = sum(1 for _ in backend.newest())
        load = time.perf_counter() - began
        began = time.perf_counter()
        gone = backend.clear(0, state.revision)
        compact = time.perf_counter() - began
        if newest != KEYS or gone != SINGLE:
            raise RuntimeError(f"{newest} keys and {gone} superseded rows are not {KEYS}, {SINGLE}")
        return {
            "commit_p50_ms": percentile(singles, 50),
            "commit_p99_ms": percentile(singles, 99),
            "joined_revisions_per_second": round(joined, 1),
            "load_seconds": round(load, 3),
            "compact_seconds": round(compact, 3),
        }


def _row(revision: int) -> LogRow:
    """A write of the next key, round and round."""
    from apiserver_app.etcd.backend import LogRow

    times, number = divmod(revision - 1, KEYS)
    return LogRow(
        revision,
        f"/registry/pods/default/{number}",
        VALUE,
        None,
        number + 1,
        revision - KEYS if times else 0,
        times + 1,
        0,
        False,
    )
