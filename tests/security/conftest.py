"""One running demo, with the stand-in for a cluster, for all tests here that leave it running."""

from __future__ import annotations

from tests.lifecycle.conftest import demo

__all__ = ["demo"]
