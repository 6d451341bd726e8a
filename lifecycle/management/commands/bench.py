"""manage.py bench NAME: measure, and say on which machine."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

EXAMPLE = """\
examples:
  python manage.py bench lifecycle --pods 1000 --json
  python manage.py bench latency --pods 300 --runs 5 --json
  python manage.py bench demo --json
  python manage.py bench api --json
  python manage.py bench churn --hours 10 --json
  python manage.py bench attack --only "a fork bomb" --json
"""


class Command(BaseCommand):
    help = "Run a benchmark. With --json the last line is one JSON object."

    def add_arguments(self, parser: Any) -> None:
        parser.epilog = EXAMPLE
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument(
            "name",
            choices=("lifecycle", "latency", "demo", "api", "attack", "churn"),
            help="what to measure",
        )
        parser.add_argument(
            "--pods", type=int, default=1000, help="pods to start (lifecycle, latency)"
        )
        parser.add_argument("--runs", type=int, default=3, help="how often to measure (latency)")
        parser.add_argument(
            "--only", action="append", default=[], help="one attack of all (attack)"
        )
        parser.add_argument("--hours", type=float, default=10.0, help="of virtual time (churn)")
        parser.add_argument("--memory", action="store_true", help="store in memory (lifecycle)")
        parser.add_argument("--json", action="store_true", help="one JSON object, on one line")

    def handle(self, *args: Any, **options: Any) -> None:
        for name in ("pods", "runs"):
            if options[name] < 1:
                raise CommandError(f"--{name} must be at least 1")
        if options["name"] == "lifecycle":
            from lifecycle.bench import lifecycle_pods

            figures = lifecycle_pods.run(options["pods"], options["memory"])
        elif options["name"] == "latency":
            from lifecycle.bench import latency

            figures = latency.run(options["pods"], options["runs"])
        elif options["name"] == "attack":
            from lifecycle.bench import attack

            figures = attack.run(options["only"])
        elif options["name"] == "churn":
            from lifecycle.bench import churn

            figures = churn.run(options["hours"])
        elif options["name"] == "api":
            from lifecycle.bench import api_load

            figures = api_load.run()
        else:
            from lifecycle.bench import demo_start

            figures = demo_start.run()
        if options["json"]:
            self.stdout.write(json.dumps(figures))
            return
        for name, value in figures.items():
            self.stdout.write(f"{name:24} {value}")
