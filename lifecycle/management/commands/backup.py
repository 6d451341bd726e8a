"""manage.py backup FILE: one file with all that a data directory keeps, of a running demo too."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lifecycle.hosting import backup

EXAMPLE = """\
examples:
  python manage.py backup /backups/               (a new file in that directory)
  python manage.py backup class.tar.gz --data-dir /tmp/class

It may be done while the demo runs. The file holds the keys of the cluster: keep it to yourself.
"""


class Command(BaseCommand):
    help = "Back up the cluster, its keys and the saved traces of a data directory."

    def add_arguments(self, parser: Any) -> None:
        parser.epilog = EXAMPLE
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("target", type=Path, help="the file to write, or its directory")
        parser.add_argument("--data-dir", type=Path, default=Path("data"))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            file, clusters = backup.write(options["data_dir"], options["target"])
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        for cluster, revision in clusters.items():
            self.stdout.write(f"cluster {cluster} up to revision {revision} is in {file}")
