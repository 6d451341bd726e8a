#!/usr/bin/env python3
"""Django's command line, with two commands that must start before Django is imported."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command that was asked for; its exit code."""
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


if __name__ == "__main__":
    sys.exit(main())
