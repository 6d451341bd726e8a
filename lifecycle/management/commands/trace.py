"""manage.py trace record|validate|replay|export|import: traces as files."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from lifecycle.trace import archive, reading, story

EXAMPLE = """\
examples:
  python manage.py trace record --script lesson.yaml --seed 7 --out lesson.jsonl.gz
  python manage.py trace validate lesson.jsonl.gz
  python manage.py trace replay lesson.jsonl.gz --speed 10
  python manage.py trace export --data-dir data --out class.jsonl.gz
  python manage.py trace import lesson.jsonl.gz --data-dir data
"""

SCRIPT = """\
example of a script:
  seed: 7
  nodes: 3
  steps:
  - apply: |                 # as kubectl create -f sends it, one request a document
      apiVersion: v1
      kind: Pod
      metadata: {name: web}
      spec: {containers: [{name: web, image: nginx}]}
    as: teacher              # one of the cast; left out: the administrator
  - settle: true             # until nothing is left to do but housekeeping
  - request: {method: DELETE, path: /api/v1/namespaces/default/pods/web}
  - wait: 40                 # seconds of virtual time
  - until: "2025-01-01T00:02:00Z"  # by the clock of the cluster, which begins in 2025
  - restart: true            # the worker is killed and started again
  bookmarks:                 # moments with a title
  - {at: "2025-01-01T00:00:10Z", title: the pod starts}
"""


class Command(BaseCommand):
    help = "Record, check, replay, export and import traces."

    def add_arguments(self, parser: Any) -> None:
        parser.epilog = EXAMPLE
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        actions = parser.add_subparsers(dest="action", required=True)
        record = actions.add_parser(
            "record",
            help="run a script in virtual time, save its trace",
            epilog=SCRIPT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        record.add_argument("--script", required=True, type=Path, help="YAML file of inputs")
        record.add_argument("--seed", type=int, help="overrides the script's seed")
        record.add_argument("--out", required=True, type=Path, help="the file to write")
        validate = actions.add_parser("validate", help="check a trace file line by line")
        validate.add_argument("file", type=Path)
        replay = actions.add_parser("replay", help="tell a trace in the terminal")
        replay.add_argument("file", type=Path)
        replay.add_argument("--speed", default="max", help='a factor of real time, or "max"')
        replay.add_argument("--all", action="store_true", help="also reads and heartbeats")
        export = actions.add_parser("export", help="save the trace of a data directory's cluster")
        export.add_argument("--data-dir", type=Path, default=Path("data"))
        export.add_argument("--cluster", default="demo")
        export.add_argument("--out", required=True, type=Path)
        load = actions.add_parser("import", help="check a file and add it to the saved traces")
        load.add_argument("file", type=Path)
        load.add_argument("--data-dir", type=Path, default=Path("data"))
        load.add_argument("--name", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, "_" + options["action"])(options)
        except (reading.TraceError, OSError) as error:
            raise CommandError(_sentence(error)) from error

    def _record(self, options: dict[str, Any]) -> None:
        from lifecycle.hosting import scripted

        try:
            script = scripted.parse(options["script"].read_text())
            session = scripted.run(script, options["seed"])
        except (scripted.ScriptError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['script']}: {error}") from error
        header = session.header()
        if marks := scripted.bookmarks_of(script, session):
            header["bookmarks"] = marks
        archive.write_file(options["out"], header, session.records())
        self.stdout.write(f"{header['last']} records written to {options['out']}")

    def _validate(self, options: dict[str, Any]) -> None:
        with options["file"].open("rb") as file:
            checked = reading.Checked(file)
            count = sum(1 for _ in checked)
        _check_whole(checked)
        header = checked.header
        self.stdout.write(
            f"{options['file']}: good; {count} records of cluster {header['cluster']}, "
            f"Kubernetes {header['kubernetes']}"
        )

    def _replay(self, options: dict[str, Any]) -> None:
        speed = _speed(options["speed"])
        began, first = time.monotonic(), None
        with options["file"].open("rb") as file:
            checked = reading.Checked(file)
            for line in story.tell((orjson.loads(record) for record in checked), options["all"]):
                if speed:
                    first = line.t if first is None else first
                    due = began + (line.t - first) / 1e6 / speed
                    time.sleep(max(0.0, due - time.monotonic()))
                self.stdout.write(f"{line.t / 1e6:12.6f}  {line.where:<18} {line.text}")
                if speed:
                    sys.stdout.flush()
        _check_whole(checked)

    def _export(self, options: dict[str, Any]) -> None:
        from apiserver_app.machinery import meta
        from lifecycle.trace import storage

        backend, state = storage.open_store(options["data_dir"], options["cluster"])
        header = {
            "cluster": state.name,
            "epoch": meta.rfc3339(state.epoch),
            "kubernetes": state.version,
            "seed": state.seed,
            "profile": state.profile,
            "first": 1,
            "last": state.seq,
        }
        archive.write_file(options["out"], header, storage.read(backend, 1, state.seq))
        self.stdout.write(f"{state.seq} records written to {options['out']}")

    def _import(self, options: dict[str, Any]) -> None:
        with options["file"].open("rb") as file:
            name = options["file"].name.partition(".")[0]
            saved = archive.Archive(options["data_dir"]).take(options["name"], file, name)
        self.stdout.write(f"saved as {saved.id}")


def _check_whole(checked: reading.Checked) -> None:
    """Raises TraceError for a file that was cut, once it is read."""
    if checked.changes:
        last, promised = checked.changes["last"], checked.changes["cut"]
        raise reading.TraceError(f"the file was cut: it ends at record {last} of {promised}")


def _speed(text: str) -> float:
    from lifecycle.hosting.worker.clock import parse_speed

    try:
        mode, speed = parse_speed(text)
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0.0 if mode == "max" else speed


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
