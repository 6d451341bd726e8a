"""What was being run when a worker had to be ended, written down in the data directory.

What stood on the board twice is not run again: a container's command, the work of a component for
one key, or a request. Whoever wants to try again removes the file and starts the demo anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from apiserver_app.machinery.kernel import WHERE

FILE = "quarantine.json"
TIMES = 2  # so often, and it is not run again
ENTRIES_MAX = 200


def note(data_dir: Path, label: str, stacks: str) -> int:
    """Writes down what stopped a worker; returns how often it has."""
    entries = read(data_dir)
    key = key_of(label)
    entry = entries.pop(key, {"times": 0})
    entry = {"times": entry["times"] + 1, "last": label, "stacks": stacks.splitlines()}
    entries[key] = entry
    while len(entries) > ENTRIES_MAX:
        del entries[next(iter(entries))]
    temporary = data_dir / f".{FILE}"
    temporary.write_text(json.dumps(entries, indent=1) + "\n")
    temporary.chmod(0o600)
    temporary.replace(data_dir / FILE)
    return int(entry["times"])


def read(data_dir: Path) -> dict[str, dict[str, Any]]:
    """By what is run; none when the file cannot be read."""
    try:
        entries = json.loads((data_dir / FILE).read_text())
        return {str(key): {**entry, "times": int(entry["times"])} for key, entry in entries.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def key_of(label: str) -> str:
    """What is the same the next time."""
    return label.partition(WHERE.decode())[0]
