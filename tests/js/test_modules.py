"""The page's model, tested by node: one test here for each tests/js/*.test.mjs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.js import recorded

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.test.mjs"))
SECONDS_MAX = 120


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    recorded.record(folder)
    return folder


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".test.mjs"))
def test_module(file: Path, traces: Path) -> None:
    node = shutil.which("node")
    assert node, "node is not here; the page's model is tested with it (Debian: nodejs)"
    ran = subprocess.run(
        [node, "--test", str(file)], capture_output=True, text=True, timeout=SECONDS_MAX,
        env={**os.environ, "TRACES": str(traces)},
    )  # fmt: skip
    assert ran.returncode == 0, f"\n{ran.stdout}{ran.stderr}"
