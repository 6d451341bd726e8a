#!/usr/bin/env python3
"""Django's command line, with two commands that must start before Django is imported."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parent / ".venv"  # `make demo` makes it


def main() -> int:
    """Run the command that was asked for; its exit code."""
    if importlib.util.find_spec("django") is None:
        return _run_installed()
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "demo":
        from lifecycle.hosting import demo

        return demo.main(sys.argv[2:])
    if command == "demo-worker":
        from lifecycle.hosting.worker import process

        return process.main(sys.argv[2:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lifecycle.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
    return 0


def _run_installed() -> int:
    """Go on with the Python for which everything is installed, if there is one."""
    python = ENVIRONMENT / "bin" / "python"
    if python.exists() and Path(sys.prefix) != ENVIRONMENT:
        os.execv(python, [str(python), *sys.argv])
    sys.stderr.write("Django is not installed here: `make demo` installs it into .venv\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
