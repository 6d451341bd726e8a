"""How many pods a second go from Pending to Running, traced and committed to SQLite in full.

One Deployment of N pods on enough nodes, in this process, with the durability the demo has. A loop
that only inserts rows of the same size into the same database runs beside it, so that the ratio
can be compared between machines.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from lifecycle.bench import demo_start, harness, machine
from lifecycle.bench.client import deployment

PODS_ON_A_NODE = 100
ROWS = 5000
ROW_BYTES = 3400
# what kept others waiting longest; processor time, which neighbours on the machine do not lengthen
LONGEST = ("longest_step_ms", "longest_step", "longest_slice_ms", "longest_commit_ms")


def run(pods: int, runs: int = harness.RUNS, in_memory: bool = False) -> dict[str, Any]:
    """Django must be set up; its store is pointed at new directories."""
    store = "memory" if in_memory else "sqlite, synchronous=FULL"
    return harness.repeated(
        "lifecycle",
        lambda: once(pods, in_memory),
        runs,
        pods=pods,
        nodes=nodes_for(pods),
        store=store,
    )


def once(pods: int, in_memory: bool = False) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return measure(pods, Path(folder), in_memory)


def measure(pods: int, folder: Path, in_memory: bool = False) -> dict[str, Any]:
    """One measurement, whose store stays in the folder."""
    from apiserver_app.etcd.backend import Backend, MemoryBackend
    from apiserver_app.etcd.log import DatabaseBackend
    from lifecycle.hosting import schema, scripted
    from lifecycle.hosting.worker.clock import MAX
    from lifecycle.hosting.worker.clusterhost import ClusterHost

    backend: Backend
    if in_memory:
        backend = MemoryBackend()
    else:
        point_store_at(folder / "store.sqlite3")
        schema.migrate_if_needed()
        backend = DatabaseBackend("bench")
    nodes = nodes_for(pods)
    limits = {name.replace("-", "_"): most for name, most in demo_start.LIMITS.items()}
    inputs = scripted.default_inputs(name="bench", nodes=nodes)
    inputs.options["limits"] = limits
    from lifecycle.cluster.composition import Cluster

    cluster = Cluster(inputs, backend)
    host = ClusterHost(cluster, time.monotonic, mode=MAX, speed=1.0)
    cluster.start()
    _drive(host)
    gc.collect()
    gc.freeze()
    gc.disable()
    first_seq, first_revision = cluster.recorder.seq, cluster.store.revision
    host.longest = 0.0
    began, cpu = time.perf_counter(), time.process_time()
    host.offer("create", [], lambda: cluster.kernel.spawn("create", _create(cluster, pods)))
    slice_, commit = _drive(host)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    gc.enable()
    running = sum(
        (pod.get("status") or {}).get("phase") == "Running" for pod in cluster.cache.list("pods")
    )
    if running != pods:
        raise RuntimeError(f"only {running} of {pods} pods are running")
    revisions = cluster.store.revision - first_revision
    floor = {} if in_memory else _beside_raw_inserts(revisions / seconds)
    return {
        "pods_per_second": round(pods / seconds, 1),
        "cpu_seconds": round(cpu, 3),
        "wall_seconds": round(seconds, 3),
        "records_per_pod": round((cluster.recorder.seq - first_seq) / pods, 1),
        "revisions_per_pod": round(revisions / pods, 2),
        "revisions_per_second": round(revisions / seconds, 1),
        **floor,
        "longest_step_ms": round(host.longest * 1000, 1),
        "longest_step": host.longest_task.name if host.longest_task else "",
        "longest_slice_ms": round(slice_ * 1000, 1),
        "longest_commit_ms": round(commit * 1000, 1),
        "rss_mib": machine.rss_mib(),
    }


def point_store_at(file: Path) -> None:
    """The store of this process is this file from now on."""
    from django.db import connection

    os.makedirs(file.parent, exist_ok=True)
    connection.close()
    connection.settings_dict["NAME"] = str(file)


def nodes_for(pods: int) -> int:
    return max(3, -(-pods // PODS_ON_A_NODE))


def _drive(host: Any) -> tuple[float, float]:
    """As the worker does: slices of a few milliseconds, a commit behind each. Seconds of the
    longest of both."""
    from lifecycle.hosting.worker.driver import SLICE_SECONDS

    longest = [0.0, 0.0]
    while True:
        began = time.thread_time()
        host.run_slice(SLICE_SECONDS)
        done = time.thread_time()
        host.commit()
        longest = [max(longest[0], done - began), max(longest[1], time.thread_time() - done)]
        gc.collect(0)
        if host.idle_seconds() != 0.0:
            return longest[0], longest[1]


async def _create(cluster: Any, pods: int) -> None:
    client = cluster.clients.client("kubernetes-admin", "kubectl", ("system:masters",))
    await client.create("deployments.apps", "default", deployment("bench", pods))


def _beside_raw_inserts(revisions_per_second: float) -> dict[str, float]:
    floor = _raw_rows_per_second()
    ratio = round(revisions_per_second / floor, 4)
    return {"raw_inserts_per_second": round(floor, 1), "ratio_to_raw_inserts": ratio}


def _raw_rows_per_second() -> float:
    """Rows of a pod's size into the same table, a commit for every fifty."""
    from django.db import connection, transaction

    value = b"x" * ROW_BYTES
    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_rows (id INTEGER PRIMARY KEY, key TEXT, value BLOB)")
        for start in range(0, ROWS, 50):
            rows = [(f"/registry/pods/default/{start + n}", value) for n in range(50)]
            with transaction.atomic():
                cursor.executemany("INSERT INTO bench_rows (key, value) VALUES (%s, %s)", rows)
        seconds = time.perf_counter() - began
        cursor.execute("DROP TABLE bench_rows")
    return ROWS / seconds
