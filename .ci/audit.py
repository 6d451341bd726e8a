"""Asks OSV, the open database of vulnerabilities, about every package of the lock files.

    python3 .ci/audit.py

Names every locked version that has a known vulnerability. That fails what is about to land where
it changes a lock file. Where it changes none the vulnerability was published since, which is said
loudly and is no failure: whoever lands something else cannot help it. Where the database cannot be
reached nothing is known, which is said and is no failure either.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON_LOCKS = ("requirements.txt", "requirements-dev.txt")
NODE_LOCKS = ("tests/js/package-lock.json",)
DATABASE = os.environ.get("OSV", "https://api.osv.dev")
TIMEOUT = 20
WARNING = f"""{"!" * 80}
WARNING: no lock file is changed by what is about to land, so that it is let through.
Somebody has to lock other versions, in a change of its own: make lock
{"!" * 80}"""
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


def locks_are_changed(root: Path) -> bool:
    """Whether a lock file is not as it was before what is about to land; also where nothing tells
    what was before."""
    asked = _git(root, "diff", "--quiet", _before(root), "--", *PYTHON_LOCKS, *NODE_LOCKS)
    return asked.returncode != 0


def _before(root: Path) -> str:
    """The commit on which what is about to land stands: where HEAD left the branch of the place
    that this was cloned from, or, where HEAD is on it, the one before HEAD."""
    head = _git(root, "rev-parse", "HEAD").stdout.strip()
    left = _git(root, "merge-base", "HEAD", "origin/HEAD").stdout.strip()
    return left if left not in ("", head) else "HEAD~1"


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
    )


def main() -> int:
    packages = locked(ROOT)
    try:
        known = vulnerabilities(packages)
    except (urllib.error.URLError, TimeoutError) as error:
        print(f"NOT AUDITED: {DATABASE} cannot be reached ({error})")
        return 0
    print(f"{len(packages)} locked packages audited, {len(known)} known vulnerabilities")
    print("\n".join(known))
    if known and not locks_are_changed(ROOT):
        print(WARNING)
        return 0
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
