"""What is wrong with a store before anybody uses it, in one sentence.

A store may be damaged, emptied, or cut: a log that lost its end is a good database of an earlier
moment, which only its mark can tell.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from apiserver_app.etcd.backend import ERASED, FORK
from lifecycle.hosting.mark import SUFFIX, Mark

STORE = "store.sqlite3"


def check(data_dir: Path) -> dict[str, int]:
    """The clusters but forks, and their revisions. Raises ValueError with what can be done."""
    marked = {
        path.name.removesuffix(SUFFIX): Mark(data_dir, path.name.removesuffix(SUFFIX)).read()
        for path in sorted(data_dir.glob(f"*{SUFFIX}"))
    }
    file = data_dir / STORE
    clusters = read(file) if file.exists() and file.stat().st_size else {}
    for cluster, revision in marked.items():
        end = clusters.get(cluster, 0)
        if end >= revision:
            continue
        what = f"ends at revision {end}" if end else "holds nothing"
        raise ValueError(
            f"{file} {what}, but revision {revision} of the cluster was acknowledged: what was "
            f"written after is gone; {_remedy(data_dir)}, or remove {data_dir / cluster}{SUFFIX} "
            "to go on with what is there"
        )
    return clusters


def read(file: Path) -> dict[str, int]:
    """The clusters and their revisions in a store without damage. Raises ValueError."""
    try:
        with contextlib.closing(sqlite3.connect(file)) as database:
            damage = [row[0] for row in database.execute("PRAGMA quick_check(1)")]
            clusters = {} if damage != ["ok"] else _clusters(database)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        damage, clusters = [str(error)], {}
    if damage != ["ok"]:
        reason = " ".join(damage[0].removeprefix("*** in database main ***").split())
        raise ValueError(f"{file} is damaged ({reason}); {_remedy(file.parent)}")
    for cluster, (revision, rows, expected) in clusters.items():
        if rows != expected:
            raise ValueError(
                f"{file} is damaged (cluster {cluster} lacks {expected - rows} of its revisions up "
                f"to {revision}); {_remedy(file.parent)}"
            )
    return {cluster: revision for cluster, (revision, _, _) in clusters.items()}


def _clusters(database: sqlite3.Connection) -> dict[str, tuple[int, int, int]]:
    """By name: the revision, how many of the log's rows must be there, and how many are."""
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
    if "apiserver_app_cluster" not in tables:
        return {}
    return {
        name: (revision, rows, revision - compacted)
        for name, revision, compacted, rows in database.execute(
            "SELECT name, revision, compacted, (SELECT COUNT(*) FROM apiserver_app_logentry AS log "
            "WHERE log.cluster_id=cluster.id AND log.revision>cluster.compacted) "
            "FROM apiserver_app_cluster AS cluster WHERE name NOT LIKE ? AND name NOT LIKE ?",
            (f"{ERASED}%", f"%{FORK}%"),
        )
    }


def _remedy(data_dir: Path) -> str:
    return (
        f"restore a backup (python manage.py restore FILE --data-dir {data_dir}), or start over "
        "with another --data-dir"
    )
