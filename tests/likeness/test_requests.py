"""Made-up requests: answered as kube-apiserver 1.33.4 answered them, but for what is listed.

`requests/accepted.yaml` says which answers differ, and why. It may only become shorter.
"""

from __future__ import annotations

import functools
import json
import pathlib
from typing import Any

import pytest
import yaml

from lifecycle.hosting.scripted import Session
from tests.likeness.requests import madeup, record
from tests.likeness.requests.madeup import Call, Subject

FACTS_MIN = 3000
_ACCEPTED = pathlib.Path(__file__).parent / "requests" / "accepted.yaml"


@pytest.fixture(scope="module")
def asked() -> Asked:
    return Asked(Session())


class Asked:
    """A cluster in memory, asked as a real one is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        record.prepare(self)

    def __call__(self, call: Call) -> tuple[int, Any]:
        body = None if call.body is None else json.dumps(call.body, separators=(",", ":")).encode()
        headers = {"accept": call.accept, "content-type": call.type}
        answer = self._session.request(call.verb, call.path, body, headers=headers, settle=False)
        if not answer.done:
            self._session.settle()
        try:
            return answer.status, answer.json()
        except ValueError:
            return answer.status, answer.text.decode()

    def settle(self, subject: Subject) -> None:
        self._session.settle()


@functools.cache
def facts() -> dict[str, list[record.Fact]]:
    return record.read()


@functools.cache
def accepted() -> dict[str, str]:
    """The answers that differ: id -> why."""
    listed: dict[str, list[str]] = yaml.safe_load(_ACCEPTED.read_text())
    return {id_: why for why, ids in listed.items() for id_ in ids}


@pytest.mark.parametrize("subject", madeup.subjects(), ids=lambda subject: subject.key)
def test_requests_are_answered_as_the_real_one_answered_them(
    subject: Subject, asked: Asked
) -> None:
    wrong, right = [], []
    for fact, answer in record.replay(subject, facts()[subject.key], asked, asked.settle):
        if answer == fact.answer:
            right.append(fact.id)
        elif fact.id not in accepted():
            wrong.append(f"{fact.id}\n  real {fact.answer}\n  ours {answer}")
    assert not wrong, "\n".join(wrong)
    assert not [id_ for id_ in right if id_ in accepted()], "no longer different: take it out"


def test_there_are_facts_of_all_kinds_and_no_other_is_accepted() -> None:
    known = {fact.id for some in facts().values() for fact in some}
    assert len(known) >= FACTS_MIN
    assert set(facts()) == {subject.key for subject in madeup.subjects()}
    assert set(accepted()) <= known
