"""Whether memory stays while deployments come and go for hours of virtual time.

One cluster in this process, in virtual time, with the worker's way of collecting garbage: each
minute a Deployment is made, runs and is deleted. The first hour and a bit is the start, in which
caches and windows fill: events stay for an hour.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from lifecycle.bench import lifecycle_pods, machine
from lifecycle.bench.attacks import making

PODS = 5
CYCLE_SECONDS = 60.0
WARM_CYCLES = 65
CYCLES_AN_HOUR = round(3600 / CYCLE_SECONDS)
_PATH = "/apis/apps/v1/namespaces/default/deployments"


def run(hours: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return _measure(hours, Path(folder))


def _measure(hours: float, folder: Path) -> dict[str, Any]:
    from apiserver_app.etcd.log import DatabaseBackend
    from lifecycle.hosting import memory, schema, scripted

    file = folder / "store.sqlite3"
    lifecycle_pods.point_store_at(file)
    schema.migrate_if_needed()
    session = scripted.Session(scripted.default_inputs(name="bench"), DatabaseBackend("bench"))
    collector = memory.Collector()
    collector.start()
    cycles = max(10, round(hours * 3600 / CYCLE_SECONDS))
    sizes: list[float] = []
    began = time.perf_counter()
    try:
        for number in range(cycles):
            _come_and_go(session, f"churn-{number}", collector)
            sizes.append(machine.rss_mib())
    finally:
        collector.stop()
    warm, last = sizes[min(WARM_CYCLES, cycles // 2)], max(sizes[-max(1, cycles // 10) :])
    return {
        "bench": "churn",
        "hours": round(cycles * CYCLE_SECONDS / 3600, 2),
        "deployments": cycles,
        "pods": cycles * PODS,
        "warm_rss_mib": warm,
        "rss_mib": last,
        "growth_percent": round((last / warm - 1) * 100, 1),
        "rss_mib_each_hour": sizes[CYCLES_AN_HOUR - 1 :: CYCLES_AN_HOUR],
        "store_mib": round(file.stat().st_size / 2**20, 1),
        "seconds": round(time.perf_counter() - began, 1),
        "machine": machine.describe(),
    }


def _come_and_go(session: Any, name: str, collector: Any) -> None:
    body = making.workload("Deployment", name, replicas=PODS)
    for method, path, sent in (("POST", _PATH, body), ("DELETE", f"{_PATH}/{name}", None)):
        answer = session.request(method, path, sent)
        if answer.status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {answer.status}")
        for _ in range(3):
            session.wait(CYCLE_SECONDS / 6)
            collector.tidy(idle=True)
