"""What one user may have stored fits into the memory that all may take, whatever the objects."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apiserver_app.registry import limits, watchcache
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, configmap

MEMORY_MIB_MAX = 600
EMPTY_MIB = 170  # edge and worker with nothing to do


@pytest.mark.parametrize(
    "fill",
    [
        lambda: {"x": "x" * 900_000},
        lambda: {"x": "x" * 900_000 + "\N{GRINNING FACE}"},
        lambda: {f"k{number}": "" for number in range(50_000)},
    ],
    ids=["text", "text with one character of four bytes", "names"],
)
def test_a_namespace_full_of_the_costliest_objects_fits_into_memory(
    fill: Callable[[], dict[str, str]],
) -> None:
    session = bare_session()
    assert session.request("POST", CONFIGMAPS, configmap("a", **fill())).status == 201
    entry = session.cluster.store.get("/registry/configmaps/default/a")
    assert entry is not None
    stored = entry.value
    tracemalloc.start()
    try:
        kept: list[Any] = [orjson.loads(stored)]
        times = 1 + tracemalloc.get_traced_memory()[0] / len(stored)
    finally:
        tracemalloc.stop()
    assert kept
    held = limits.Limits().namespace_bytes + watchcache.WINDOW_BYTES
    assert EMPTY_MIB + held * times / 2**20 <= MEMORY_MIB_MAX
