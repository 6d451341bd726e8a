"""`make likeness`: what it says of itself, and which cluster and user of a kubeconfig it asks."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import pytest

from tests.likeness import __main__ as command
from tests.likeness.remote import Remote

CONFIG: dict[str, Any] = {
    "current-context": "mine",
    "contexts": [
        {"name": "other", "context": {"cluster": "other", "user": "other"}},
        {"name": "mine", "context": {"cluster": "near", "user": "me"}},
    ],
    "clusters": [
        {"name": "other", "cluster": {"server": "https://192.0.2.1:6443"}},
        {"name": "near", "cluster": {"server": "https://127.0.0.1:1"}},
    ],
    "users": [{"name": "me", "user": {"token": "t"}}, {"name": "other", "user": {}}],
}


def test_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        command.main(["--help"])
    assert "--only {requests,reads}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "asked"),
    [((), "--help"), (("KUBECONFIG=file", "ARGS=--only reads"), "file --only reads")],
)
def test_make_passes_on_what_it_is_given(given: tuple[str, ...], asked: str) -> None:
    told = subprocess.run(
        ["make", "--dry-run", "VENV_DEV=v", "likeness", *given],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
        cwd=pathlib.Path(__file__).parents[2],
    ).stdout
    assert told.splitlines()[-1].strip() == f"v/bin/python -m tests.likeness {asked}"


def test_the_current_context_is_asked(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(CONFIG))
    remote = Remote(str(path))
    assert (remote.connection.host, remote.connection.port) == ("127.0.0.1", 1)
    assert remote.headers == {"Authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("context", "why"),
    [("other", "no client certificate and no token"), ("none", "no context 'none'")],
)
def test_a_kubeconfig_that_cannot_be_used_is_refused(
    tmp_path: pathlib.Path, context: str, why: str
) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps({**CONFIG, "current-context": context}))
    with pytest.raises(SystemExit, match=why):
        Remote(str(path))
