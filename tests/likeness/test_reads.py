"""Reads: answered as kube-apiserver 1.33.4 answered them, but for what is listed.

`reads/accepted.yaml` says which answers differ, and why. It may only become shorter. What no answer
is compared by stands in `reads/comparing.py` (LEFT_OUT).
"""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import pytest
import yaml

from lifecycle.hosting.scripted import Session
from tests.likeness.reads import record
from tests.likeness.reads.asking import Read
from tests.likeness.requests import record as requests
from tests.likeness.requests.madeup import Call, Subject

FACTS_MIN = 8000
EQUAL_SHARE_MIN = 0.97
_ACCEPTED = pathlib.Path(__file__).parent / "reads" / "accepted.yaml"


class Asked:
    """A cluster in memory, asked as a real one is."""

    def __init__(self) -> None:
        self._session = Session()
        requests.prepare(self._call)

    def _call(self, call: Call) -> tuple[int, Any]:
        answer = self._session.request(call.verb, call.path, call.body)
        return answer.status, answer.text

    def ask(self, one: Read) -> record.Answer:
        body = one.body.encode("latin-1") or None
        answer = self._session.request(
            one.verb,
            one.path,
            body,
            headers={k.lower(): v for k, v in one.headers.items()},
            settle=False,
        )
        if not answer.done:
            self._session.settle()
        if "watch" in one.path and answer.status == 200:
            answer.cancel()
            return 200, answer.headers, b""
        return answer.status, answer.headers, answer.text

    def settle(self, subject: Subject) -> None:
        self._session.settle()


@functools.cache
def accepted() -> dict[str, str]:
    """The answers that differ: what was asked -> why."""
    listed: dict[str, list[str]] = yaml.safe_load(_ACCEPTED.read_text())
    return {id_: why for why, ids in listed.items() for id_ in ids}


@pytest.fixture(scope="module")
def differing() -> dict[str, str]:
    """What is not answered as it was recorded, with both answers."""
    asked = Asked()
    found, known = dict(record.facts(asked.ask, asked.settle)), record.read()
    return {
        id_: f"{id_}\n  real {known.get(id_)}\n  ours {found.get(id_)}"
        for id_ in known | found
        if known.get(id_) != found.get(id_)
    }


def test_reads_are_answered_as_the_real_one_answered_them(differing: dict[str, str]) -> None:
    wrong = [both for id_, both in differing.items() if id_ not in accepted()]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_accepted_that_is_no_longer_different(differing: dict[str, str]) -> None:
    assert not accepted().keys() - differing.keys(), "take it out"


def test_there_are_facts_of_all_areas_and_nearly_all_are_equal() -> None:
    known = record.read()
    assert len(known) >= FACTS_MIN
    assert 1 - len(accepted()) / len(known) >= EQUAL_SHARE_MIN
