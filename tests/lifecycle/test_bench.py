"""manage.py bench: one JSON object, alone on the last line."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from lifecycle.bench import harness, nodes
from lifecycle.management.commands import bench
from tests.suite import seeds

ROOT = Path(__file__).resolve().parents[2]


def test_the_last_line_is_one_json_object_with_figures_and_the_machine() -> None:
    out = io.StringIO()
    call_command(
        "bench", "lifecycle", "--pods", "3", "--runs", "1", "--memory", "--json", stdout=out
    )
    figures = json.loads(out.getvalue().splitlines()[-1])
    assert (figures["bench"], figures["pods"], figures["store"]) == ("lifecycle", 3, "memory")
    assert figures["pods_per_second"] > 0 and figures["revisions_per_pod"] > 5
    assert {"cpu", "cores", "memory_gib", "python", "system"} <= set(figures["machine"])


def measured(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("bench", *arguments, "--runs", "1", "--json", stdout=out)
    figures: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return figures


def test_nodes_are_ready_before_their_pods_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "PODS", 5)
    figures = measured("nodes", "--nodes", "4")
    assert (figures["nodes"], figures["pods"]) == (4, 5)
    assert figures["all_ready_seconds"] > 0 and figures["pods_ready_seconds"] > 0


@pytest.mark.long("of the benches that start something real `make test` runs a third each day")
def test_webernetes_and_this_run_the_same_in_turn() -> None:
    figures = measured("peers", "--pods", "2")
    theirs, ours = figures["webernetes_cpu_seconds"], figures["here_cpu_seconds"]
    assert figures["times_webernetes_cpu_seconds"] == round(theirs / ours, 2) > 0


def test_a_recording_is_saved_taken_in_and_read() -> None:
    """In a process of its own: this one's database is in memory."""
    command = [sys.executable, "manage.py", "bench", "replay", "--pods", "2", "--runs", "1"]
    done = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["records"] > 100 and figures["seek_p50_ms"] > 0


@pytest.mark.parametrize("name", bench.BENCHES)
def test_every_bench_can_be_called_with_its_options(name: str) -> None:
    module, function, taken = bench.BENCHES[name]
    measure = getattr(importlib.import_module(f"lifecycle.bench.{module}"), function)
    inspect.signature(measure).bind(*taken)


# the smallest of each that starts something real: constants of its modules, and options; four of
# them run each day
SMALLEST: dict[str, tuple[dict[str, int], tuple[str, ...]]] = {
    "latency": ({}, ("--pods", "2")),
    "joining": ({}, ("--pods", "2")),
    "viewers": (
        {"viewers.VIEWERS": 3, "viewers.JOINERS": 3, "viewers.JOINED_PODS": 2, "viewers.PODS": 2},
        (),
    ),
    "startup": ({}, ()),
    "memory": ({}, ("--pods", "2")),
    "api": (
        {
            "api_load.CONNECTIONS": 2,
            "api_load.CREATES": 20,
            "api_load.READS": 5,
            "api_load.WATCHES": 3,
            "api_load.WRITES": 2,
        },
        (),
    ),
    "scheduling": ({"scheduling.MANY": 150, "scheduling.DECISIONS": 3}, ()),
    "timeline": ({"timeline.PODS": 4, "timeline.NODES": 2}, ()),
    "store": ({"store.SINGLE": 5, "store.JOINED": 5, "store.KEYS": 50}, ()),
    "attack": ({"attack.SECONDS": 1}, ("--only", "logs")),
    "hang": ({}, ()),
    "churn": ({"churn.WARM_CYCLES": 2, "churn.CYCLES_AN_HOUR": 2}, ("--hours", "1")),
}
SMALL = """
import importlib, json, runpy, sys
for name, value in json.loads(sys.argv.pop(1)).items():
    module, _, constant = name.partition(".")
    module = importlib.import_module(f"lifecycle.bench.{module}")
    assert hasattr(module, constant), name
    setattr(module, constant, value)
runpy.run_path("manage.py", run_name="__main__")
"""


@pytest.mark.parametrize("name", seeds.draw("benches", list(SMALLEST), 4))
def test_every_bench_comes_to_its_end(name: str) -> None:
    """In a process of its own, as its store is."""
    sizes, options = SMALLEST[name]
    command = [sys.executable, "-c", SMALL, json.dumps(sizes), "bench", name, "--runs", "1"]
    done = subprocess.run([*command, *options, "--json"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["bench"] == name and not figures.get("join_failures")


def test_no_bench_is_left_out() -> None:
    others = {"lifecycle", "nodes", "peers", "replay"}  # above
    assert {*SMALLEST, *others} == set(bench.BENCHES)


def test_all_measures_only_what_there_is() -> None:
    assert {name for name, _ in bench.ALL} <= set(bench.BENCHES)


def test_a_figure_is_the_median_of_its_runs_with_the_least_and_the_most() -> None:
    values = iter((3.0, 1.0, 2.0))
    figures = harness.repeated("it", lambda: {"seconds": next(values), "task": "a"}, 3, pods=5)
    assert (figures["seconds"], figures["seconds_min"], figures["seconds_max"]) == (2.0, 1.0, 3.0)
    assert (figures["bench"], figures["pods"], figures["runs"]) == ("it", 5, 3)
    assert figures["task"] == ["a", "a", "a"]


def test_no_pods_cannot_be_measured() -> None:
    with pytest.raises(CommandError, match="--pods must be at least 1"):
        call_command("bench", "lifecycle", "--pods", "0")
    with pytest.raises(CommandError, match="--runs must be at least 1"):
        call_command("bench", "latency", "--runs", "0")
