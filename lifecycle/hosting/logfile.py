"""The worker's log file: traces of stacks, which the terminal gets as one sentence.

It is DATA_DIR/worker.log, and rotates. A disk that does not take a line loses it.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

BYTES_MAX, FILES_MAX = 1 << 20, 3
_log = logging.getLogger("lifecycle.worker")
_log.propagate = False


def open_log(path: Path) -> None:
    logging.raiseExceptions = False
    handler = RotatingFileHandler(path, maxBytes=BYTES_MAX, backupCount=FILES_MAX, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(message)s"))
    _log.addHandler(handler)


def report(what: str, error: BaseException) -> None:
    """Says in one sentence what failed, and writes down where."""
    _log.error(what, exc_info=error)
    files = [
        handler.baseFilename
        for handler in _log.handlers
        if isinstance(handler, RotatingFileHandler)
    ]
    where = f"; {files[0]} says where" if files else ""
    reason = " ".join(str(error).split()) or type(error).__name__
    say(f"{what}: {reason}{where}")


def say(line: str) -> None:
    """Writes to the terminal of the demo; continues when nobody reads that any more."""
    with contextlib.suppress(OSError):
        print(f"demo: {line}", file=sys.stderr, flush=True)
