"""The attacks of the benchmark are sent, and reach what they are about."""

from __future__ import annotations

import pytest

from lifecycle.bench import attacks
from lifecycle.bench.attacks import making
from lifecycle.hosting.edge import access
from lifecycle.hosting.scripted import Session

MISDIRECTED = (404, 405, 406, 415)


def test_there_are_as_many_as_were_promised() -> None:
    assert len(attacks.ATTACKS) >= 60


@pytest.fixture(scope="module")
def session() -> Session:
    return Session()


@pytest.mark.parametrize("name", sorted(set(attacks.ATTACKS) - {"paths that are not there"}))
def test_each_is_answered_as_what_it_is(session: Session, name: str) -> None:
    attack = attacks.ATTACKS[name]
    sends = [*attack.before[:1], *([attack.flood(0)] if attack.flood is not None else [])]
    assert sends or attack.held is not None
    for send in sends:
        if attack.port == making.PAGE:
            assert access.right_for(send.method, send.path.partition("?")[0]) != access.UNLISTED
            continue
        head, _, body = send.encode().partition(b"\r\n\r\n")
        assert head.startswith(f"{send.method} {send.path} ".encode())
        headers = dict(send.headers) | {"content-type": send.kind}
        answer = session.request(
            send.method, send.path, body, user="student", headers=headers, settle=False
        )
        assert answer.status not in MISDIRECTED or b"aim" in answer.text, answer.text[:300]
