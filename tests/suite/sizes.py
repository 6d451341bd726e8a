"""The three sizes of the suite, and which tests belong to which.

    make test-core   what the story of a pod stands on; no browser, no demo
    make test        all that proves the product; what README and CI run
    make test-long   that and the rest: whole samples, kill rounds by the hundred; twice under load

A test is of the long suite when it is marked `long`; CORE names the rest's inner part by folder.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest

VARIABLE = "SUITE"
SMALL, USUAL, LONG = "core", "usual", "long"
SIZES = (SMALL, USUAL, LONG)

TESTS = Path(__file__).resolve().parents[1]
# what one reads to understand a pod's way, tested in virtual time in one process
CORE = (
    "apiserver_app/admission", "apiserver_app/auth", "apiserver_app/etcd",
    "apiserver_app/handlers", "apiserver_app/http", "apiserver_app/machinery",
    "apiserver_app/registry", "apiserver_app/test_gates.py", "apiserver_app/test_life.py",
    "apiserver_app/test_metrics.py", "apiserver_app/test_pipeline.py",
    "apiserver_app/test_startup.py",
    "controllers_app/controllers/test_daemonset.py",
    "controllers_app/controllers/test_deployment.py",
    "controllers_app/controllers/test_endpoints.py",
    "controllers_app/controllers/test_garbagecollector.py",
    "controllers_app/controllers/test_job.py",
    "controllers_app/controllers/test_namespaces.py",
    "controllers_app/controllers/test_nodes.py",
    "controllers_app/controllers/test_podstate.py",
    "controllers_app/controllers/test_registration.py",
    "controllers_app/controllers/test_replicaset.py",
    "controllers_app/kubelet", "controllers_app/runtime", "controllers_app/scheduler",
    "controllers_app/test_consumers.py", "lifecycle/cluster",
    "lifecycle/trace/test_recorder.py", "lifecycle/trace/test_storage.py",
    "lifecycle/trace/test_story.py",
    "sim/test_determinism.py", "sim/test_start.py", "sim/test_steps.py", "sim/test_story.py",
)  # fmt: skip


def size() -> str:
    """Which of the sizes this run is; anything else in the variable is a mistake."""
    said = os.environ.get(VARIABLE, USUAL)
    if said not in SIZES:
        raise pytest.UsageError(f"{VARIABLE}={said}: one of {', '.join(SIZES)} is needed")
    return said


def is_long() -> bool:
    return size() == LONG


def is_core(path: PurePath) -> bool:
    """Whether a file is one of the core's tests."""
    if not path.is_relative_to(TESTS):
        return False
    within = path.relative_to(TESTS)
    return any(within.is_relative_to(part) for part in CORE)


def pytest_configure(config: pytest.Config) -> None:
    text = "long(why): left to `make test-long`; says what of it `make test` keeps"
    config.addinivalue_line("markers", text)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """What is not of the core is not even imported for it; None leaves it to pytest."""
    if size() != SMALL or not collection_path.is_relative_to(TESTS):
        return None
    within = collection_path.relative_to(TESTS)
    leads_there = any(PurePath(part).is_relative_to(within) for part in CORE)
    return None if leads_there or is_core(collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not of this size."""
    left_out = [item for item in items if not _belongs(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _belongs(item: pytest.Item) -> bool:
    if size() == SMALL:
        return is_core(item.path) and item.get_closest_marker("long") is None
    return is_long() or item.get_closest_marker("long") is None
