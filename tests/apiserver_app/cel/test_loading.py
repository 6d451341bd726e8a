"""The language costs nothing until somebody writes an expression."""

from __future__ import annotations

import subprocess
import sys

ASK = """
import sys
import lifecycle.cluster.composition
loaded = [name for name in ("re2", "apiserver_app.cel.program", "apiserver_app.cel.syntax.parser")
          if name in sys.modules]
sys.exit(" ".join(loaded) or 0)
"""


def test_a_cluster_without_expressions_does_not_load_the_language() -> None:
    said = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, timeout=60, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")
