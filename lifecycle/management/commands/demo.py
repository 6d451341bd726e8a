"""`manage.py demo` for Django's own list of commands and its help.

`manage.py` runs the demo without coming here, because the edge must listen before Django is
imported. This class only tells what the command is.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lifecycle.hosting import demo, options


class Command(BaseCommand):
    help = "Run a simulated Kubernetes cluster with its page, until Ctrl-C."
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return options.parser()  # type: ignore[return-value]

    def run_from_argv(self, argv: list[str]) -> None:
        raise SystemExit(demo.main(argv[2:]))

    def handle(self, *args: Any, **given: Any) -> None:
        raise SystemExit(demo.main(list(args)))
