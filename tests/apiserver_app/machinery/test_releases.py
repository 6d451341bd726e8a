"""A release of Kubernetes, and which releases have a behaviour."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release


@pytest.mark.parametrize("text", ["1.33", "v1.33", "v1.33.1"])
def test_release_is_read_from_every_way_of_writing_it(text: str) -> None:
    assert Release.parse(text) == Release(33)
    assert str(Release.parse(text)) == "1.33"


def test_releases_are_ordered_by_number() -> None:
    assert Release.parse("1.9") < Release.parse("1.10") < Release.parse("1.33")


def test_behaviour_is_there_from_its_first_release_to_its_last() -> None:
    assert [Release(minor).has("ConsistentListFromCache") for minor in (30, 31)] == [False, True]
    assert [Release(minor).has("BasicAuthentication") for minor in (18, 19)] == [True, False]


def test_feature_gate_may_be_off_again_in_a_later_release() -> None:
    assert [Release(minor).has("WatchList") for minor in (31, 32, 33, 34)] == [
        False,
        True,
        False,
        True,
    ]


def test_unknown_behaviour_is_an_error() -> None:
    with pytest.raises(KeyError):
        Release(33).has("Anything")


def test_every_behaviour_is_asked_for_somewhere() -> None:
    product = Path(releases.__file__).parents[2]
    text = "".join(
        path.read_text()
        for root in ("apiserver_app", "controllers_app", "lifecycle")
        for path in sorted((product / root).rglob("*.py"))
        if path != Path(releases.__file__)
    )
    assert [name for name in releases.BEHAVIOURS if f'"{name}"' not in text] == []
