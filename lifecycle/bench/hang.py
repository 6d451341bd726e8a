"""Seconds from the moment at which a worker hangs until a plain GET is answered again."""

from __future__ import annotations

import http.client
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from lifecycle.bench import harness
from lifecycle.bench.attack import Bystander
from lifecycle.bench.demo_start import Demo

GAP_SECONDS = 0.02


def run(runs: int = harness.RUNS) -> dict[str, Any]:
    """Each run stops the worker of a demo of its own."""
    return harness.repeated("hang", _measure, runs)


def _measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(Path(folder))
        try:
            bystander = Bystander(demo)
            _until_answered(bystander)
            began = time.monotonic()
            os.kill(demo.worker, signal.SIGSTOP)
            refused = _until_answered(bystander)
            return {"serving_seconds": round(time.monotonic() - began, 2), "refused": refused}
        finally:
            demo.stop()


def _until_answered(bystander: Bystander) -> int:
    """Asks again and again; how often it was refused before."""
    refused = 0
    while True:
        try:
            bystander.get()
            return refused
        except (OSError, http.client.HTTPException):
            refused += 1
            time.sleep(GAP_SECONDS)
