"""What releases answer differently: each as kube-apiserver of that release answered, but for what
is listed.

`releases/accepted.yaml` says which answers differ, and why. It may only become shorter.
"""

from __future__ import annotations

import functools
import pathlib

import pytest
import yaml

from lifecycle.hosting.scripted import Session, default_inputs
from tests.likeness.releases import record
from tests.likeness.test_requests import Asked

_ACCEPTED = pathlib.Path(__file__).parent / "releases" / "accepted.yaml"


@functools.cache
def accepted(version: str) -> set[str]:
    by_reason: dict[str, list[str]] = yaml.safe_load(_ACCEPTED.read_text())[version]
    return {id_ for ids in by_reason.values() for id_ in ids}


@pytest.mark.parametrize("version", record.VERSIONS)
def test_a_release_answers_as_the_real_one_of_that_release_answered(version: str) -> None:
    release = version.removeprefix("v").rpartition(".")[0]
    known, wrong, right = record.read(version), [], []
    for id_, answer in record.asked(Asked(Session(default_inputs(version=release)))):
        if answer == known[id_]:
            right.append(id_)
        elif id_ not in accepted(version):
            wrong.append(f"{id_}\n  real {known[id_]}\n  ours {answer}")
    assert not wrong, "\n".join(wrong)
    assert not accepted(version).intersection(right), "no longer different: take it out"
    assert accepted(version) <= set(known) == set(record.calls())
