"""One running demo for all tests that leave it running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lifecycle.hosting.running import Demo


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("demo") / "data") as running:
        yield running
