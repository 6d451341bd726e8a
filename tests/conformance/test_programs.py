"""What docs/programs.md tells a program to do works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.lifecycle.hosting.running import PROJECT, WAIT_SECONDS


def test_the_tests_of_the_document_pass(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (PROJECT / "docs/programs.md").read_text(), re.S)
    (tmp_path / "test_document.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", tmp_path, tmp_path],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        cwd=PROJECT,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
