"""Requests that were once answered otherwise, and what kube-apiserver 1.33.4 answered them.

`requests/asked.jsonl` has them in order, for some need what others made; of an object that was
accepted it has the parts that were once stored otherwise.
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
def answers() -> list[tuple[int, str, Any]]:
    session, out = Session(), []
    for fact in FACTS:
        verb, path = fact["request"].split(" ", 1)
        headers = {"content-type": fact.get("type", "application/json")}
        body = json.dumps(fact["body"]).encode()
        answer = session.request(verb, path, body, headers=headers)
        obj = answer.json()
        text = "" if answer.status < 400 else obj["message"]
        for pattern, mask in _MASKS:
            text = pattern.sub(mask, text)
        out.append((answer.status, text, obj))
    return out


@pytest.mark.parametrize("number", range(len(FACTS)), ids=lambda number: FACTS[number]["request"])
def test_it_is_answered_as_the_real_one_answered(
    number: int, answers: list[tuple[int, str, Any]]
) -> None:
    fact = FACTS[number]
    code, text, obj = answers[number]
    assert (code, text) == (fact["code"], fact.get("message", ""))
    for path, value in fact.get("stored", {}).items():
        assert _part(obj, path) == value, path


def _part(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value[int(key) if isinstance(value, list) else key]
    return value
