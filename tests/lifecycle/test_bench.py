"""manage.py bench: one JSON object, alone on the last line."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


def test_the_last_line_is_one_json_object_with_figures_and_the_machine() -> None:
    out = io.StringIO()
    call_command("bench", "lifecycle", "--pods", "3", "--memory", "--json", stdout=out)
    figures = json.loads(out.getvalue().splitlines()[-1])
    assert (figures["bench"], figures["pods"], figures["store"]) == ("lifecycle", 3, "memory")
    assert figures["pods_per_second"] > 0 and figures["revisions_per_pod"] > 5
    assert {"cpu", "cores", "memory_gib", "python", "system"} <= set(figures["machine"])


def test_no_pods_cannot_be_measured() -> None:
    with pytest.raises(CommandError, match="--pods must be at least 1"):
        call_command("bench", "lifecycle", "--pods", "0")
    with pytest.raises(CommandError, match="--runs must be at least 1"):
        call_command("bench", "latency", "--runs", "0")
