"""@kubernetes/client-node: `node/steps.mjs` does the steps, in one process."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.suite import waiting

HERE = Path(__file__).with_name("node")


class Node:
    """What the script said of each step."""

    name = (
        "client-node "
        + json.loads((HERE / "package.json").read_text())["dependencies"]["@kubernetes/client-node"]
    )

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        installed()
        ran = subprocess.run(
            ["node", "steps.mjs", kubeconfig, namespace],
            cwd=HERE,
            capture_output=True,
            text=True,
            timeout=waiting.seconds(),
        )
        assert ran.returncode == 0, ran.stderr
        found = [json.loads(line) for line in ran.stdout.splitlines()]
        self._said: dict[str, str] = {
            one["step"].replace(" ", "_").replace("-", "_"): one["why"] for one in found
        }

    def __getattr__(self, step: str) -> Callable[[], None]:
        if step not in self._said:
            raise AttributeError(step)

        def told() -> None:
            assert self._said[step] == ""

        return told


@functools.cache
def installed() -> None:
    """Its packages beside it, as the lock file names them; once a checkout."""
    lock = HERE / "package-lock.json"
    stamp = HERE / "node_modules" / ".installed"
    if stamp.exists() and stamp.read_text() == lock.read_text():
        return
    assert shutil.which("npm"), "these tests need npm on the PATH: tests/setup installs it"
    done = subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=waiting.seconds(600),
    )
    assert done.returncode == 0, done.stderr
    stamp.write_text(lock.read_text())
