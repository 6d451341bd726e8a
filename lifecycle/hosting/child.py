"""Starting the worker process: one end of a socket pair, the options, and nothing else.

Imports little, so that the worker starts while the edge still imports its server.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec

from lifecycle.hosting.options import Options

PROJECT = Path(__file__).resolve().parents[2]
COMMAND = "demo-worker"
SOCKET_BUFFER_BYTES = 1 << 20
EXIT_SAID = 3  # the worker has already printed why it ends
EXIT_AGAIN = 4  # another one is to go on: the store began or ceased to take writes


class Child(msgspec.Struct, frozen=True):
    """A worker process and the edge's end of the pair."""

    process: subprocess.Popen[bytes]
    end: socket.socket


def spawn(options: Options, keep: tuple[int, ...], board: int) -> Child:
    """Start a worker. It inherits `keep` (the data directory's lock) and the board's descriptor
    beside its end of the pair."""
    edge_end, worker_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for end in (edge_end, worker_end):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
    with worker_end:
        process = subprocess.Popen(
            [
                sys.executable,
                str(PROJECT / "manage.py"),
                COMMAND,
                str(worker_end.fileno()),
                options.to_json(),
                str(board),
            ],
            stdin=subprocess.DEVNULL,
            pass_fds=(worker_end.fileno(), board, *keep),
            env=environment(options),
        )
    return Child(process, edge_end)


def environment(options: Options) -> dict[str, str]:
    """Returns the environment variables that the settings read, for worker and edge."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "lifecycle.settings",
        "LIFECYCLE_DATA_DIR": str(options.data_dir),
    }
