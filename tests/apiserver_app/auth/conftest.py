"""The cast of the authentication and authorization tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver_app.auth import pki
from tests.apiserver_app.memory import MemoryReader, bootstrapped

NOW = 1_760_000_000_000_000


@pytest.fixture
def reader() -> MemoryReader:
    return bootstrapped()


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    return pki.load(Path(tmp_path_factory.mktemp("data")), NOW, ["example.org"])
