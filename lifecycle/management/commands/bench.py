"""manage.py bench NAME: measure, and say on which machine."""

from __future__ import annotations

import argparse
import importlib
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

EXAMPLE = """\
examples:
  python manage.py bench lifecycle --pods 1000 --json
  python manage.py bench latency --pods 300 --runs 5 --json
  python manage.py bench startup --json
  python manage.py bench joining --pods 1000 --json
  python manage.py bench api --json
  python manage.py bench nodes --nodes 5000 --runs 1 --json
  python manage.py bench peers --pods 300 --kubeconfig ~/.kube/real --json
  python manage.py bench all --json
  python manage.py bench churn --hours 10 --json
  python manage.py bench attack --only "a fork bomb" --json
  python manage.py bench attack --results attacks.jsonl --json  # goes on where it was interrupted
"""


class Command(BaseCommand):
    help = "Run a benchmark. With --json the last line is one JSON object."

    def add_arguments(self, parser: Any) -> None:
        parser.epilog = EXAMPLE
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("name", choices=(*BENCHES, "all"), help="what to measure")
        parser.add_argument("--pods", type=int, default=1000, help="pods to start")
        parser.add_argument("--nodes", type=int, default=5000, help="of a large cluster (nodes)")
        parser.add_argument(
            "--kubeconfig", default="", help="of a real cluster's admin, to compare with (peers)"
        )
        parser.add_argument("--runs", type=int, default=3, help="how often to measure")
        parser.add_argument(
            "--only", action="append", default=[], help="one attack of all (attack)"
        )
        parser.add_argument(
            "--results",
            default="",
            help="file that keeps what was measured of each attack (attack)",
        )
        parser.add_argument("--hours", type=float, default=10.0, help="of virtual time (churn)")
        parser.add_argument("--memory", action="store_true", help="store in memory (lifecycle)")
        parser.add_argument("--json", action="store_true", help="one JSON object, on one line")

    def handle(self, *args: Any, **options: Any) -> None:
        for name in ("pods", "nodes", "runs"):
            if options[name] < 1:
                raise CommandError(f"--{name} must be at least 1")
        if options["name"] == "all":
            figures = {" ".join(map(str, name)): _measured(*name, options) for name in ALL}
        else:
            figures = _measured(options["name"], options["pods"], options)
        if options["json"]:
            self.stdout.write(json.dumps(figures))
            return
        for name, value in figures.items():
            self.stdout.write(f"{name:24} {value}")


# name -> module of lifecycle.bench, its function, and the options that it takes
BENCHES = {
    "lifecycle": ("lifecycle_pods", "run", ("pods", "runs", "memory")),
    "latency": ("latency", "run", ("pods", "runs")),
    "joining": ("viewers", "joining", ("pods", "runs")),
    "viewers": ("viewers", "run", ("runs",)),
    "startup": ("demo_start", "run", ("runs",)),
    "memory": ("memory", "run", ("pods", "runs")),
    "api": ("api_load", "run", ("runs",)),
    "store": ("store", "run", ("runs",)),
    "replay": ("replay", "run", ("pods", "runs")),
    "nodes": ("nodes", "run", ("nodes", "runs")),
    "scheduling": ("scheduling", "run", ("runs",)),
    "timeline": ("timeline", "run", ()),
    "peers": ("peers", "run", ("pods", "runs", "kubeconfig")),
    "attack": ("attack", "run", ("only", "results")),
    "hang": ("hang", "run", ("runs",)),
    "churn": ("churn", "run", ("hours",)),
}
# what `all` measures: the name, and how many pods
ALL = (
    ("latency", 100), ("latency", 300), ("latency", 1000), ("api", 0), ("viewers", 0),
    ("joining", 1000), ("memory", 100), ("memory", 10_000), ("startup", 0),
    ("store", 0), ("replay", 1000), ("scheduling", 0), ("timeline", 0), ("nodes", 0),
    ("peers", 100), ("peers", 300), ("peers", 1000),
)  # fmt: skip


def _measured(name: str, pods: int, options: dict[str, Any]) -> dict[str, Any]:
    module, function, taken = BENCHES[name]
    measure = getattr(importlib.import_module(f"lifecycle.bench.{module}"), function)
    figures: dict[str, Any] = measure(*({**options, "pods": pods}[result] for result in taken))
    return figures
