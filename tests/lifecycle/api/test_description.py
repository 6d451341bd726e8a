"""The description of the product API, asked for by many at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import RequestFactory
from drf_spectacular.generators import SchemaGenerator

from lifecycle.api import schema

MANY = 8


def test_whoever_asks_first_and_at_once_gets_the_one_description_that_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []
    make: Any = SchemaGenerator.get_schema

    def counted(self: Any, *arguments: Any, **more: Any) -> Any:
        begun.append(1)
        return make(self, *arguments, **more)

    monkeypatch.setattr(SchemaGenerator, "get_schema", counted)
    schema.generated.cache_clear()
    together = threading.Barrier(MANY)

    def ask(_: int) -> bytes:
        together.wait()
        view: Any = schema.Schema.as_view()
        answer = view(RequestFactory().get("/viz/v1/schema"))
        answer.render()
        assert answer.status_code == 200
        return bytes(answer.content)

    with ThreadPoolExecutor(MANY) as pool:
        assert len(set(pool.map(ask, range(MANY)))) == 1
    assert len(begun) == 1
