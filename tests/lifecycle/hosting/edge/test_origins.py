"""Which hosts are served, and which pages may act."""

from __future__ import annotations

import pytest

from lifecycle.hosting.edge import origins

NAMES = origins.own_names(["Class.example"])


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "10.0.0.7", "a.localhost",
     "class.example:80"],
)  # fmt: skip
def test_own_names_and_addresses_are_served(host: str) -> None:
    assert origins.host_allowed(host, NAMES)


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "[::1", "1.2.3"])
def test_other_names_are_not(host: str) -> None:
    assert not origins.host_allowed(host, NAMES)


@pytest.mark.parametrize(
    ("origin", "same"),
    [
        (None, True),
        ("http://localhost:8000", True),
        ("https://LOCALHOST:8000", True),
        ("http://localhost:8001", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
    ],
)
def test_only_our_own_page_or_no_page_is_the_same_origin(origin: str | None, same: bool) -> None:
    assert origins.same_origin(origin, "localhost:8000") is same
