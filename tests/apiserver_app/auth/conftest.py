"""The cast of the authentication and authorization tests."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from apiserver_app.auth import pki
from apiserver_app.auth.authn.union import Union
from apiserver_app.authprotocols import Try
from apiserver_app.machinery.meta import Credential, User
from tests.apiserver_app.memory import MemoryReader, bootstrapped

NOW = 1_760_000_000_000_000


@pytest.fixture
def reader() -> MemoryReader:
    return bootstrapped()


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    return pki.load(Path(tmp_path_factory.mktemp("data")), NOW, ["example.org"])


@pytest.fixture(scope="session")
def signing_key() -> bytes:
    return pki.new_signing_key()


def ask(union: Union, credential: Credential, now: int = NOW) -> tuple[User | None, list[Try]]:
    """What a union says that asks nobody outside."""
    answer: tuple[User | None, list[Try]] = result_of(union.authenticate(credential, now))
    return answer


def result_of(task: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives that never waits."""
    try:
        task.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")
