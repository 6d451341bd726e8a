"""What a class gets wrong, and the sentence that kubectl shows for it.

Each mistake of mistakes.yaml is applied by the real kubectl: a manifest that is refused, or one
that is refused over another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.conformance.kubectl import Kubectl, since

MISTAKES = yaml.safe_load((Path(__file__).parent / "mistakes.yaml").read_text())


@pytest.fixture(scope="module")
def here(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("mistakes") as within:
        yield within


@since(1, 25, "it validates by itself")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one["what"])
def test_a_mistake_is_told_in_upstreams_words(here: Kubectl, mistake: dict[str, str]) -> None:
    if "then" in mistake:
        assert here.run("apply", "-f", "-", given=mistake["given"]).code == 0

    said = here.run("apply", "-f", "-", given=mistake.get("then") or mistake["given"])

    if "then" in mistake:
        given = yaml.safe_load(mistake["given"])
        here("delete", given["kind"], given["metadata"]["name"], "--wait=false")
    assert (said.code, said.out) == (1, "")
    assert said.err.strip() == mistake["said"].strip()
