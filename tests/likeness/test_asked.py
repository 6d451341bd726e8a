"""Requests that were once answered otherwise, and what kube-apiserver 1.33.4 answered them.

`requests/asked.jsonl` has them in order, for some need what others made.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session

_ASKED = pathlib.Path(__file__).parent / "requests" / "asked.jsonl"
FACTS: list[dict[str, Any]] = list(map(json.loads, _ASKED.read_text().splitlines()))
_MASKS = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}"), "UID"),
    (re.compile(r"0x[0-9a-f]{9,}"), "ADDRESS"),
)


@pytest.fixture(scope="module")
def answers() -> list[tuple[int, str]]:
    session, out = Session(), []
    for fact in FACTS:
        verb, path = fact["request"].split(" ", 1)
        headers = {"content-type": fact.get("type", "application/json")}
        body = json.dumps(fact["body"]).encode()
        answer = session.request(verb, path, body, headers=headers)
        text = "" if answer.status < 400 else answer.json()["message"]
        for pattern, mask in _MASKS:
            text = pattern.sub(mask, text)
        out.append((answer.status, text))
    return out


@pytest.mark.parametrize("number", range(len(FACTS)), ids=lambda number: FACTS[number]["request"])
def test_it_is_answered_as_the_real_one_answered(
    number: int, answers: list[tuple[int, str]]
) -> None:
    fact = FACTS[number]
    assert answers[number] == (fact["code"], fact.get("message", ""))
