"""How a cluster stood when its worker ended: paused, how fast, with which breakpoints.

It is stored with each commit. Another worker boots the cluster first and then has it stand so
again, by control actions that are logged and recorded as anybody's: the run can be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lifecycle.hosting.worker.clock import MAX, parse_speed

KEY = "standing"  # in the control of a cluster's state


class Standing(msgspec.Struct, frozen=True):
    """`paused` is also one that a breakpoint held: what it held is gone with its worker."""

    paused: bool
    speed: float | str
    breakpoints: list[dict[str, Any]]


def stored(control: Mapping[str, Any]) -> Standing | None:
    """None when nothing was stored that this version can read."""
    try:
        standing = msgspec.convert(control.get(KEY), Standing)
        parse_speed(standing.speed)
    except (msgspec.ValidationError, ValueError):
        return None
    return standing


def pace(stood: Standing | None, given: float | str | None, *, again: bool) -> float | str:
    """How fast it is to run: as the command line says, else as it was. `again`: the worker before
    heard the command line, and what somebody has changed since then counts."""
    if stood is not None and (again or given is None):
        return stood.speed
    return 1.0 if given is None else given


def sentence(stood: Standing, speed: float | str | None) -> str:
    """What to tell of it; empty when it runs as any. A speed that the command line gives is none of
    it, and None here."""
    said = ["paused"] if stood.paused else []
    if speed == stood.speed != 1.0:
        said.append(f"speed {speed}" if speed == MAX else f"speed {speed:g}")
    count = len(stood.breakpoints)
    if count:
        said.append(f"{count} breakpoint{'s' if count > 1 else ''}")
    return f"the cluster is as it was when it ended: {', '.join(said)}" if said else ""
