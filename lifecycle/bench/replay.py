"""A recording of so many pods: how long it takes to save, to check and take in again, to read at
any place, and to make the state of its end.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

from lifecycle.bench import harness, lifecycle_pods
from lifecycle.bench.api_load import percentile

SEEKS, SEEK_RECORDS = 200, 500
SEED = 1


def run(pods: int, runs: int = harness.RUNS) -> dict[str, Any]:
    return harness.repeated("replay", lambda: _measure(pods), runs, pods=pods)


def _measure(pods: int) -> dict[str, Any]:
    from lifecycle.trace import archive, keyframes, storage

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lifecycle_pods.measure(pods, folder)
        backend, state = storage.open_store(folder, "bench")
        library = archive.Archive(folder)
        header = {
            "cluster": state.name,
            "kubernetes": state.version,
            "epoch": str(state.epoch),
            "first": 1,
            "last": state.seq,
        }

        def read(first: int, last: int) -> tuple[bytes, int]:
            return storage.read_bytes(backend, first, last)

        began = time.perf_counter()
        saved = library.save("bench", header, read)
        save = time.perf_counter() - began
        began = time.perf_counter()
        with library.file(saved.id).open("rb") as file:
            taken = library.take("again", file)
        take = time.perf_counter() - began
        chance, seeks = random.Random(SEED), []
        for _ in range(SEEKS):
            began = time.perf_counter()
            library.records(taken.id, chance.randrange(1, state.seq), SEEK_RECORDS)
            seeks.append(time.perf_counter() - began)
        began = time.perf_counter()
        keyframes.Keyframes(backend).at(state.seq)
        return {
            "records": state.seq,
            "file_mib": round(saved.size_bytes / 2**20, 2),
            "save_seconds": round(save, 3),
            "take_seconds": round(take, 3),
            "seek_p50_ms": percentile(seeks, 50),
            "seek_p99_ms": percentile(seeks, 99),
            "keyframe_seconds": round(time.perf_counter() - began, 3),
        }
