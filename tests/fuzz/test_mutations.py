"""Objects of every kind that are right but for a few places: refused with a Status or stored, and
what is stored reads back.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from apiserver_app.machinery.meta import ResourceInfo
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import APPLY, MERGE, STRATEGIC, bare_session
from tests.conftest import FUZZ
from tests.fuzz import servererrors, whole
from tests.fuzz.samples import examples
from tests.fuzz.test_round_trips import KINDS, path_of

ROUNDS = examples(25)
ODD: tuple[Any, ...] = (
    None, "", "a", "A b", "-1", "0", "1.5", "1Gi", "/", "..", "$(a)", "*", "a/b/c", "\x00", "é",
    "x" * 300, "10.0.0.1", "::1", "10.0.0.0/8", "2025-01-01T00:00:00Z", "true", "a.example.com",
    0, 1, -1, 65536, 2**31, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, 1e300, True, False,
    [], [None], [[]], ["a", "a"], {}, {"a": None}, {"": ""}, {"a": {"a": {}}}, {"$patch": "delete"},
    {"matchLabels": {"a b": "c"}}, [{}], [{"name": "a"}, {"name": "a"}], {"name": "a"},
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    return bare_session()


def places(value: Any) -> list[tuple[Any, Any]]:
    """Everything inside: (what holds it, its name or number there)."""
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left:
        one = left.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        found += [(one, key) for key in keys]
        left += [one[key] for key in keys if isinstance(one[key], (dict, list))]
    return found


def spoil(chance: random.Random, obj: dict[str, Any]) -> None:
    """Put something odd in one to three places."""
    for _ in range(chance.randint(1, 3)):
        holder, key = chance.choice(places(obj))
        done = chance.randrange(4)
        if done == 0:
            del holder[key]
        elif done == 1 and isinstance(holder, list):
            holder += [copy.deepcopy(holder[key])] * chance.choice((1, 2, 40))
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD))
        if not obj:
            return


def check(session: Session, method: str, path: str, body: Any, headers: Any = None) -> int:
    answer = session.request(method, path, body, headers=headers)
    assert answer.done, (method, path, body)
    if answer.status >= 500:
        assert servererrors.is_upstreams(method, answer.text), (method, path, body, answer.text)
    found = answer.json()
    if answer.status >= 400:
        assert found["kind"] == "Status" and found["message"], (path, body, found)
    return answer.status


@pytest.mark.parametrize("info", KINDS, ids=lambda info: f"{info.plural}.{info.api_version}")
def test_an_object_that_is_a_little_wrong_is_refused_or_stored(
    session: Session, info: ResourceInfo
) -> None:
    chance = random.Random(f"{info.key} {FUZZ}")
    name = f"whole-{info.group}-{info.version}"
    good = whole.largest(session, info, path_of(info), name)
    path = f"{path_of(info)}/{good['metadata']['name']}"
    good["metadata"] = {
        name: value
        for name, value in good["metadata"].items()
        if name not in ("managedFields", "resourceVersion", "uid", "generation", "selfLink")
    }
    for number in range(ROUNDS * FUZZ):
        body = copy.deepcopy(good)
        spoil(chance, body)
        check(session, "POST", f"{path_of(info)}?dryRun=All", {**body, "metadata": {"name": "b"}})
        stored = check(session, "PUT", path, body) in (200, 201)
        part = {key: body[key] for key in chance.sample(list(body), min(2, len(body)))}
        headers = (MERGE, STRATEGIC)[number % 2]
        stored |= check(session, "PATCH", path, part, headers) in (200, 201)
        applied = {**body, "apiVersion": info.api_version, "kind": info.kind}
        check(session, "PATCH", f"{path}?fieldManager=a&force=true&dryRun=All", applied, APPLY)
        answer = session.request("GET", path)
        if answer.status == 404:  # what was stored ended it
            whole.largest(session, info, path_of(info), name)
        elif stored:
            assert session.request("PUT", path, answer.json()).status < 500
