"""What a class gets wrong, and the sentence that kubectl shows for it.

Each mistake of mistakes.yaml is a manifest that is refused, or one that is refused over another.
What a server says of a new object is asked for in this process, worded as kubectl words a Status,
and some of it each day by the real kubectl; so is what only that can say: of two manifests, and
what it finds by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import bare_session
from tests.conformance.kubectl import Kubectl, since
from tests.suite import seeds

MISTAKES = yaml.safe_load((Path(__file__).parent / "mistakes.yaml").read_text())
OF_THE_CLIENT = [one for one in MISTAKES if "then" in one or one["said"].startswith("error: ")]
OF_THE_SERVER = [one for one in MISTAKES if one not in OF_THE_CLIENT]
# how many are applied by the real kubectl each day
DRAWN = seeds.draw("client", OF_THE_CLIENT, 5) + seeds.draw("server", OF_THE_SERVER, 5)


@pytest.fixture(scope="module")
def here(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("mistakes") as within:
        yield within


@since(1, 25, "it validates by itself")
@pytest.mark.parametrize("mistake", DRAWN, ids=lambda one: one["what"])
def test_a_mistake_is_told_in_upstreams_words(here: Kubectl, mistake: dict[str, str]) -> None:
    if "then" in mistake:
        assert here.run("apply", "-f", "-", given=mistake["given"]).code == 0

    said = here.run("apply", "-f", "-", given=mistake.get("then") or mistake["given"])

    if "then" in mistake:
        given = yaml.safe_load(mistake["given"])
        here("delete", given["kind"], given["metadata"]["name"], "--wait=false")
    assert (said.code, said.out) == (1, "")
    assert said.err.strip() == mistake["said"].strip()


@pytest.fixture(scope="module")
def server() -> Session:
    return bare_session()


@pytest.mark.parametrize("mistake", OF_THE_SERVER, ids=lambda one: one["what"])
def test_the_server_says_of_a_mistake_what_kubectl_shows(
    server: Session, mistake: dict[str, str]
) -> None:
    given = yaml.safe_load(mistake["given"])
    version, kind = given["apiVersion"], given["kind"]
    where = f"/apis/{version}" if "/" in version else f"/api/{version}"
    path = f"{where}/namespaces/default/{kind.lower()}s?fieldValidation=Strict"

    answer = server.request("POST", path, given)

    assert shown(answer.json()) == mistake["said"].strip()


def shown(status: dict[str, Any]) -> str:
    """A Status as kubectl's cmdutil words it (pkg/cmd/util/helpers.go)."""
    if status["reason"] != "Invalid":
        return f'Error from server ({status["reason"]}): error when creating "STDIN": ' + str(
            status["message"]
        )
    details = status["details"]
    head = f'The {details["kind"]} "{details["name"]}" is invalid: '
    causes = [f"{cause['field']}: {cause['message']}" for cause in details["causes"]]
    return head + (causes[0] if len(causes) == 1 else "".join(f"\n* {one}" for one in causes))
