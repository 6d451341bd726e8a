"""What a cluster answers to made-up requests, recorded and asked again.

It works in a namespace of its own, nearly always with dry runs, and deletes what it creates.
"""

from __future__ import annotations

import json
import lzma
import pathlib
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tests.likeness.requests import comparing, madeup
from tests.likeness.requests.madeup import Call, Subject

FILE = pathlib.Path(__file__).parent / "v1.33.4.jsonl.xz"
Ask = Callable[[Call], tuple[int, Any]]


class Fact(NamedTuple):
    """A request and its recorded answer."""

    id: str
    call: Call
    answer: dict[str, Any]


def read() -> dict[str, list[Fact]]:
    """The recorded facts of each kind."""
    found: dict[str, list[Fact]] = {}
    for line in lzma.decompress(FILE.read_bytes()).splitlines():
        id_, call, answer = json.loads(line)
        found.setdefault(id_.partition("/")[0], []).append(Fact(id_, Call(*call), answer))
    return found


def replay(
    subject: Subject, facts: Iterable[Fact], ask: Ask, settle: Callable[[Subject], None]
) -> Iterator[tuple[Fact, dict[str, Any]]]:
    """Each fact with the answer that is given now."""
    uid = madeup.UID
    for fact in facts:
        call = fact.call
        if call.body is not None and uid != madeup.UID:
            body = json.loads(json.dumps(call.body).replace(madeup.UID, uid))
            call = call._replace(body=body)
        yield fact, comparing.answer(*ask(call))
        if fact.id.endswith("/base"):
            settle(subject)
            uid = ask(Call("GET", subject.path, None))[1]["metadata"]["uid"]
    remove(subject, ask)


def remove(subject: Subject, ask: Ask) -> None:
    if subject.is_stored:
        ask(Call("DELETE", subject.path, {"gracePeriodSeconds": 0}))


def record(subject: Subject, ask: Ask, settle: Callable[[Subject], None], seed: int) -> list[Fact]:
    rng = random.Random(f"{seed} {subject.key}")
    out: list[Fact] = []

    def note(call: Call, name: str = "") -> None:
        id_ = f"{subject.key}/{name or len(out)}"
        out.append(Fact(id_, call, comparing.answer(*ask(_sent(call)))))

    def _sent(call: Call) -> Call:
        return call._replace(body=json.loads(json.dumps(call.body).replace(madeup.UID, uid)))

    uid = madeup.UID
    for call in madeup.creates(subject, rng):
        note(call)
    if not subject.is_stored:
        return out
    note(madeup.base(subject), "base")
    settle(subject)
    stored = ask(Call("GET", subject.path, None))[1]
    uid = stored["metadata"]["uid"]
    for call in madeup.changes(subject, comparing.sendable(stored), rng):
        note(call)
    remove(subject, ask)
    return out


def prepare(ask: Ask) -> None:
    """The namespace, and the account that pods in it need."""
    spaces = "/api/v1/namespaces"
    ask(Call("POST", spaces, {"metadata": {"name": madeup.NAMESPACE}}))
    account = {"metadata": {"name": "default"}}
    ask(Call("POST", f"{spaces}/{madeup.NAMESPACE}/serviceaccounts", account))


def asked_anew(ask: Ask, settle: Callable[[Subject], None]) -> Iterator[tuple[Fact, Any]]:
    """Each recorded fact with the answer that is given now."""
    known = read()
    for subject in madeup.subjects():
        yield from replay(subject, known[subject.key], ask, settle)


def write(ask: Ask, settle: Callable[[Subject], None], seed: int) -> int:
    """Records other requests in place of these; returns how many there are."""
    facts = [fact for subject in madeup.subjects() for fact in record(subject, ask, settle, seed)]
    lines = "\n".join(json.dumps(fact, separators=(",", ":")) for fact in facts)
    FILE.write_bytes(lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME))
    return len(facts)
