"""Deletes what erased clusters left in the store, a little at a time.

A store of 1 GB takes half a minute: the worker goes on serving, and its commits, between the steps.
"""

from __future__ import annotations

import asyncio

from apiserver_app.etcd import log
from apiserver_app.etcd.errors import StoreError

STEP_SECONDS, FAILED_SECONDS = 0.2, 30.0  # between two steps, after one that failed


def start(loop: asyncio.AbstractEventLoop) -> None:
    """Sweeps until nothing is left."""

    def step() -> None:
        try:
            if log.sweep():
                loop.call_later(STEP_SECONDS, step)
        except StoreError:  # a full disk, a locked database: its alarm reports it
            loop.call_later(FAILED_SECONDS, step)

    loop.call_later(STEP_SECONDS, step)
