"""manage.py restore FILE: a data directory as it was when it was backed up."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lifecycle.hosting import backup

EXAMPLE = """\
examples:
  python manage.py restore class.tar.gz --data-dir /tmp/class
  python manage.py demo --data-dir /tmp/class

The cluster that was there is replaced. A running demo is refused: stop it first.
"""


class Command(BaseCommand):
    help = "Put a backup into a new data directory, or into one whose demo is stopped."

    def add_arguments(self, parser: Any) -> None:
        parser.epilog = EXAMPLE
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("file", type=Path, help="what manage.py backup wrote")
        parser.add_argument("--data-dir", type=Path, default=Path("data"))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            clusters = backup.restore(options["file"], options["data_dir"])
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        for cluster, revision in clusters.items():
            self.stdout.write(
                f"cluster {cluster} is at revision {revision} again, in {options['data_dir']}"
            )
