"""Every path and method of the server's own OpenAPI documents, with whatever fits them.

Schemathesis makes the requests. Most of them reach for one object in the namespace `default`, so
that bodies get past routing. Whatever is sent: no 5xx, an error is a Status, and the answer comes.
A fifth of the operations of each document is drawn each day; the long suite asks them all.
"""

from __future__ import annotations

import base64
import http.client
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
import yaml
from hypothesis import strategies as st

from tests.conftest import FUZZ
from tests.fuzz import servererrors
from tests.lifecycle.hosting.running import REAL, WAIT_SECONDS, Demo
from tests.suite import seeds, sizes

EXAMPLES = 3 * FUZZ
ONE_IN = 1 if FUZZ > 1 or sizes.is_long() else 5  # operations
ASKED_MIN = 1000 // ONE_IN
HEADERS_MAX = 200  # a hundred unknown fields are a hundred warnings, and Python reads no more
# what a stream would wait for is not what this asks about
STREAMS = ("watch", "follow")
WATCHES = "/watch/"  # nothing but a stream
QUIET = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.generate],
)


class Caller:
    """The admin's connection, and what was answered that must not be."""

    def __init__(self, demo: Demo, where: Path) -> None:
        config = yaml.safe_load((demo.data_dir / "kubeconfig").read_text())["users"][0]["user"]
        names = ("client-certificate-data", "client-key-data")
        chain = where / "admin.pem"
        chain.write_bytes(b"".join(base64.b64decode(config[name]) for name in names))
        self.base = demo.endpoints["https"]
        self.session = requests.Session()
        self.session.trust_env = False
        self._how: dict[str, Any] = {
            "verify": str(demo.data_dir / "pki" / "ca.crt"),
            "cert": str(chain),
            "timeout": WAIT_SECONDS,
        }

    def document(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self.session.get(self.base + path, **self._how).json()
        return found

    def send(self, case: Any, plain: bool) -> str:
        """Empty when the answer is as it must be."""
        case.query = {name: value for name, value in case.query.items() if name not in STREAMS}
        if plain:
            _aim(case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answer = case.call(base_url=self.base, session=self.session, **self._how)
            except requests.RequestException as error:
                return f"no answer: {error}"
        if answer.status_code >= 500 and not servererrors.is_upstreams(
            case.method.upper(), answer.content
        ):
            return f"{answer.status_code}: {answer.text[:500]}"
        if case.method.upper() == "HEAD":
            return f"a body: {answer.text[:500]}" if answer.text else ""
        if answer.status_code >= 400 and answer.json().get("kind") != "Status":
            return f"no Status: {answer.text[:500]}"
        return ""


def _aim(case: Any) -> None:
    """At one object in one namespace."""
    aimed = {"namespace": "default", "name": "fuzzed"}
    given = case.path_parameters or {}
    case.path_parameters = {name: aimed.get(name, value) for name, value in given.items()}
    metadata = case.body.get("metadata") if isinstance(case.body, dict) else None
    if isinstance(metadata, dict):
        for name in ("namespace", "resourceVersion", "uid"):
            metadata.pop(name, None)
        metadata["name"] = "fuzzed"
        case.query = {}


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    where = tmp_path_factory.mktemp("fuzzed")
    with (
        pytest.MonkeyPatch.context() as patch,
        Demo(where / "data", "--speed", "max", driver=REAL) as demo,
    ):
        patch.setattr(http.client, "_MAXHEADERS", HEADERS_MAX)
        yield Caller(demo, where)


@pytest.mark.seconds_max(1800)
def test_no_request_of_the_documents_is_answered_with_a_server_error(caller: Caller) -> None:
    asked = 0
    wrong: dict[str, str] = {}
    for entry in caller.document("/openapi/v3")["paths"].values():
        schema = schemathesis.openapi.from_dict(caller.document(entry["serverRelativeURL"]))
        found: list[Any] = [one.ok() for one in schema.get_all_operations()]
        operations = [one for one in found if WATCHES not in one.path]
        count = math.ceil(len(operations) / ONE_IN)
        for operation in seeds.draw(entry["serverRelativeURL"], operations, count):
            said = answers(caller, operation)
            asked += len(said)
            wrong |= {f"{operation.method} {operation.path}": why for why in said if why}
    assert asked > ASKED_MIN
    assert wrong == {}
    assert caller.document("/version")["major"] == "1"


def answers(caller: Caller, operation: Any) -> list[str]:
    """What was wrong with the answer to each of some requests; empty texts when nothing was."""
    said: list[str] = []

    @QUIET
    @hypothesis.given(case=operation.as_strategy(), plain=st.integers(0, 3))
    def ask(case: Any, plain: int) -> None:
        said.append(caller.send(case, plain > 0))

    ask()
    return said
