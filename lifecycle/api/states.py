"""A cluster's state as the page reads it: the worker's own, with the epoch as a date."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta


def shown(cluster: str, state: dict[str, Any]) -> dict[str, Any]:
    """`state` as the control action of that name answers it."""
    return {"cluster": cluster, **state, "epoch": meta.rfc3339(state["epoch"])}
