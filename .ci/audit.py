"""Asks OSV, the open database of vulnerabilities, about every package of the lock files.

    python3 .ci/audit.py

Exits with 1 when one of the locked versions has a known vulnerability, and names it. Where the
database cannot be reached nothing is known, which is said and is no failure.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON_LOCKS = ("requirements.txt", "requirements-dev.txt")
NODE_LOCKS = ("tests/js/package-lock.json",)
DATABASE = os.environ.get("OSV", "https://api.osv.dev")
TIMEOUT = 20
_PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^]]*\])?==([^\s;]+)", re.MULTILINE)


def locked(root: Path) -> list[tuple[str, str, str]]:
    """Every package of the lock files: ecosystem, name and version."""
    packages = {
        ("PyPI", name.lower(), version)
        for file in PYTHON_LOCKS
        for name, version in _PINNED.findall((root / file).read_text())
    }
    for file in NODE_LOCKS:
        for path, entry in json.loads((root / file).read_text())["packages"].items():
            if path:
                name = path.rpartition("node_modules/")[2]
                packages.add(("npm", name, entry["version"]))
    return sorted(packages)


def vulnerabilities(packages: list[tuple[str, str, str]]) -> list[str]:
    """What the database knows against them, one line each."""
    queries = [
        {"package": {"ecosystem": ecosystem, "name": name}, "version": version}
        for ecosystem, name, version in packages
    ]
    request = urllib.request.Request(
        f"{DATABASE}/v1/querybatch",
        json.dumps({"queries": queries}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        results = json.load(answer)["results"]
    return [
        f"{name} {version} ({ecosystem}): {known['id']}"
        for (ecosystem, name, version), result in zip(packages, results, strict=True)
        for known in result.get("vulns") or ()
    ]


def main() -> int:
    packages = locked(ROOT)
    try:
        known = vulnerabilities(packages)
    except (urllib.error.URLError, TimeoutError) as error:
        print(f"NOT AUDITED: {DATABASE} cannot be reached ({error})")
        return 0
    print(f"{len(packages)} locked packages audited, {len(known)} known vulnerabilities")
    print("\n".join(known))
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
