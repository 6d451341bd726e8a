"""The disk of a store: whether it takes writes, and what a worker does while it does not.

A worker whose commit fails answers its clients with the reason and ends; what it did since its last
commit is forgotten with it. The next one finds the disk as it is: with an alarm it serves reads and
watches, refuses every write by the alarm's words and keeps nothing. Once the disk takes writes
again that one ends, too, and the next goes on from the last commit.

Models the alarm NOSPACE of etcd (server/etcdserver/apply/uber_apply.go, applierV3Capped), where a
delete may still pass.
"""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from apiserver_app.etcd.errors import NO_SPACE, StoreError
from apiserver_app.etcd.log import DatabaseBackend

ROOM_BYTES = 2 << 20  # more than a slice writes
LOOK_SECONDS = 1.0
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def alarm(data_dir: Path, backend: DatabaseBackend) -> str:
    """Why the store takes no writes at present; "" if it does."""
    try:
        _check_room(data_dir)
        backend.check_writable()
    except StoreError as error:
        return str(error)
    return ""


def watch(
    loop: asyncio.AbstractEventLoop,
    data_dir: Path,
    backend: DatabaseBackend,
    over: Callable[[], None],
) -> None:
    """Calls `over` once the store takes writes again."""

    def look() -> None:
        if alarm(data_dir, backend):
            loop.call_later(LOOK_SECONDS, look)
        else:
            over()

    loop.call_later(LOOK_SECONDS, look)


def _check_room(data_dir: Path) -> None:
    """Raises StoreError if a file of ROOM_BYTES does not fit."""
    try:
        with tempfile.NamedTemporaryFile(dir=data_dir, prefix=".room-", buffering=0) as file:
            left = ROOM_BYTES
            while left:
                left -= os.write(file.fileno(), bytes(left))
    except OSError as error:
        if error.errno in _FULL:
            raise StoreError(NO_SPACE) from error
        raise StoreError(f"etcdserver: the store cannot be written: {error.strerror}") from error
