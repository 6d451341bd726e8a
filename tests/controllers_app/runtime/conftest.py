"""The cast of the runtime's tests: a kernel, a probe that remembers, a tiny API."""

from __future__ import annotations

import pytest

from apiserver_app.machinery.kernel import Kernel
from tests.controllers_app.runtime.mini import START, MiniApi, RecordingProbe


@pytest.fixture
def kernel() -> Kernel:
    return Kernel(START)


@pytest.fixture
def probe(kernel: Kernel) -> RecordingProbe:
    return RecordingProbe(kernel)


@pytest.fixture
def api(kernel: Kernel) -> MiniApi:
    return MiniApi(kernel)
