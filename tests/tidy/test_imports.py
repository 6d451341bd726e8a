"""Who imports whom: the contracts in pyproject.toml hold, and what ships needs what is locked."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.tidy import sources

PYPROJECT = tomllib.loads((sources.ROOT / "pyproject.toml").read_text())
LOCKS = {"requirements.txt": (), "requirements-dev.txt": ("dev",)}
OPTIONAL = {"channels_redis"}  # many machines only; settings name it


def test_import_contracts_hold() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([program, "--no-cache"], cwd=sources.ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_what_ships_imports_only_locked_runtime_packages() -> None:
    locked = set(_pins("requirements.txt"))
    owners = importlib.metadata.packages_distributions()
    missing = {
        f"{sources.name(path)}: {top}"
        for path in sources.product()
        for module in sources.imported(path)
        if (top := module.partition(".")[0]) not in {*sources.PACKAGES, *OPTIONAL}
        and top not in sys.stdlib_module_names
        and not any(_normal(owner) in locked for owner in owners.get(top, ()))
        and not _of_the_tests(top, module)
    }
    assert sorted(missing) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pins_every_dependency_with_hashes(lock: str) -> None:
    wanted = list(PYPROJECT["project"]["dependencies"])
    for extra in LOCKS[lock]:
        wanted += PYPROJECT["project"]["optional-dependencies"][extra]
    pins = _pins(lock)
    names = {_normal(re.split(r"[\[~=<>!; ]", one)[0]) for one in wanted}
    assert names - set(pins) == set()
    assert [name for name, hashes in pins.items() if not hashes] == []


def test_both_locks_agree() -> None:
    runtime, everything = _versions("requirements.txt"), _versions("requirements-dev.txt")
    assert {name: everything.get(name) for name in runtime} == runtime


def test_locks_of_npm_pin_every_package_and_name_no_registry() -> None:
    for lock in sources.ROOT.glob("tests/*/**/package-lock.json"):
        if "node_modules" in lock.parts:
            continue
        packages = json.loads(lock.read_text())["packages"]
        assert [name for name, one in packages.items() if name and "integrity" not in one] == []
        assert [name for name, one in packages.items() if "resolved" in one] == []


def test_locks_name_no_package_index() -> None:
    for lock in LOCKS:
        assert "//" not in (sources.ROOT / lock).read_text()


def _pins(lock: str) -> dict[str, int]:
    """How many hashes each pinned package has."""
    pins: dict[str, int] = {}
    name = ""
    for line in (sources.ROOT / lock).read_text().splitlines():
        if found := re.match(r"([A-Za-z0-9._-]+)==", line):
            name = _normal(found[1])
            pins[name] = 0
        elif "--hash=sha256:" in line:
            pins[name] += 1
    return pins


def _versions(lock: str) -> dict[str, str]:
    text = (sources.ROOT / lock).read_text()
    return {_normal(name): version for name, version in re.findall(r"(?m)^(\S+)==(\S+)", text)}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _of_the_tests(top: str, module: str) -> bool:
    """Only a type checker sees it."""
    return top in ("django_stubs_ext", "_typeshed") or module.startswith("mypy")
