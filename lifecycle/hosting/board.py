"""What a worker runs just now, where the edge can read it when the worker answers no more.

Memory that both processes have open as a file: the label of the task that takes a step, then
whether the worker takes steps at all, and behind them the stacks of its threads, which the
interpreter writes there when the process is ended by SIGABRT or by a fault. It stays for all
workers of an edge.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import tempfile
from typing import NamedTuple

from apiserver_app.machinery.kernel import LABEL_BYTES

IDLE, STEP, COMMIT = 0, 1, 2  # the worker waits; takes steps; makes them durable, or tidies up
PHASE = LABEL_BYTES
STACKS = 4096  # where they begin
STACKS_BYTES_MAX = 8192


class Seen(NamedTuple):
    """What stands on the board; `label` is empty when no step was being taken."""

    label: str
    phase: int
    stacks: str


class Board:
    """The edge's end. `descriptor` is inherited by workers."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.descriptor = os.memfd_create("board")
        else:
            with tempfile.TemporaryFile() as file:
                self.descriptor = os.dup(file.fileno())
        self.clear()

    def clear(self) -> None:
        """Begins anew, for another worker."""
        os.ftruncate(self.descriptor, 0)
        os.ftruncate(self.descriptor, STACKS)

    def read(self) -> Seen:
        data = os.pread(self.descriptor, STACKS + STACKS_BYTES_MAX, 0)
        label = data[:LABEL_BYTES].rstrip(b"\0").decode("utf-8", "replace")
        phase = data[PHASE]
        stacks = data[STACKS:].decode("utf-8", "replace")
        return Seen(label if phase == STEP else "", phase, stacks)


def open_in_worker(descriptor: int) -> mmap.mmap:
    """The board as the worker writes it."""
    os.lseek(descriptor, STACKS, os.SEEK_SET)
    faulthandler.enable(descriptor)
    return mmap.mmap(descriptor, STACKS)
