"""The booted cluster of the controllers' tests, which the stories start from."""

from __future__ import annotations

from tests.controllers_app.controllers.conftest import booted, inputs

__all__ = ["booted", "inputs"]
