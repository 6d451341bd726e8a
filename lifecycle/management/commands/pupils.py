"""manage.py pupils COUNT: a user with a namespace and a kubeconfig for each pupil of a class."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apiserver_app.auth import pki
from lifecycle.hosting import pupils

EXAMPLE = """\
examples:
  python manage.py pupils 30
  python manage.py pupils 30 --pods 10 --data-dir /tmp/class
  python manage.py pupils --remove

The demo must be running; for laptops on the network start it with --host ADDRESS. Each pupil may do
everything in a namespace of the same name, up to so many pods, and may read nodes, namespaces and
storage classes. Hand out one file to each: it holds a key. It can be called again, for more pupils
or after the demo has got another address.
"""


class Command(BaseCommand):
    help = "Make a user for each pupil of a class: a namespace, a quota, a kubeconfig."
    requires_system_checks = ()

    def add_arguments(self, parser: Any) -> None:
        parser.epilog = EXAMPLE
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("count", type=int, nargs="?", help=f"1 to {pupils.PUPILS_MAX}")
        what.add_argument(
            "--remove", action="store_true", help="delete them, and all in their namespaces"
        )
        parser.add_argument("--pods", type=int, default=20, help="for each (default %(default)s)")
        parser.add_argument("--data-dir", type=Path, default=Path("data"))

    def handle(self, *args: Any, **options: Any) -> None:
        count, pods = options["count"], options["pods"]
        if count is not None and not 1 <= count <= pupils.PUPILS_MAX:
            raise CommandError(f"the number of pupils must be 1 to {pupils.PUPILS_MAX}")
        if pods < 0:
            raise CommandError("--pods must not be below 0")
        try:
            room = pupils.Class(options["data_dir"])
            if options["remove"]:
                for name in room.remove():
                    self.stdout.write(f"{name} is being deleted")
            else:
                for file in room.add(count, pods):
                    self.stdout.write(str(file))
        except (pupils.PupilsError, pki.PkiError, OSError) as error:
            raise CommandError(str(error)) from error
