"""The generator: repeatable, restorable, well-formed."""

from __future__ import annotations

import re
import uuid

from apiserver_app.machinery.rand import ALPHANUMERICS, Rand


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert [Rand(7).uuid() for _ in range(2)] == [Rand(7).uuid()] * 2
    assert Rand(7).uuid() != Rand(8).uuid()


def test_a_restored_state_goes_on_where_it_stopped() -> None:
    first = Rand(1)
    first.bits()
    second = Rand(0)
    second.state = first.state
    assert [first.suffix() for _ in range(5)] == [second.suffix() for _ in range(5)]


def test_uuids_are_version_4() -> None:
    rand = Rand(3)
    for _ in range(200):
        found = uuid.UUID(rand.uuid())
        assert found.version == 4 and found.variant == uuid.RFC_4122


def test_suffixes_use_upstreams_letters() -> None:
    rand = Rand(4)
    assert all(re.fullmatch(f"[{ALPHANUMERICS}]{{5}}", rand.suffix()) for _ in range(200))


def test_below_stays_below_and_reaches_every_number() -> None:
    rand = Rand(5)
    assert {rand.below(6) for _ in range(500)} == set(range(6))


def test_uniform_stays_within_its_bounds() -> None:
    rand = Rand(6)
    assert all(0.8 <= rand.uniform(0.8, 1.2) <= 1.2 for _ in range(500))


def test_hex_has_the_length_asked_for() -> None:
    assert re.fullmatch("[0-9a-f]{64}", Rand(9).hex(64))
