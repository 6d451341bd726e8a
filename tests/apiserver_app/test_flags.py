"""The API server's flags: upstream's names, upstream's refusals."""

from __future__ import annotations

import pytest

from apiserver_app import flags


def read(name: str) -> str:
    if name == "missing":
        raise FileNotFoundError(2, "no such file or directory")
    return f"text of {name}"


def test_nothing_given_is_what_kubeadm_gives() -> None:
    found = flags.parse([], read)
    assert found.authorization_mode == ("Node", "RBAC")
    assert found.anonymous_auth is True


def test_flags_are_read_with_and_without_dashes_and_lists_grow() -> None:
    found = flags.parse(
        ["--anonymous-auth=false", "authorization-mode=ABAC,RBAC", "authorization-mode=Node"], read
    )
    assert found.anonymous_auth is False
    assert found.authorization_mode == ("ABAC", "RBAC", "Node")


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("no-such-flag=1", "unknown flag: --no-such-flag"),
        ("authorization-mode", "flag needs an argument: --authorization-mode"),
        (
            "anonymous-auth=maybe",
            'invalid argument "maybe" for "--anonymous-auth" flag: not a boolean',
        ),
    ],
)
def test_a_bad_flag_is_refused_by_name(argument: str, text: str) -> None:
    with pytest.raises(flags.FlagError) as caught:
        flags.parse([argument], read)
    assert str(caught.value) == text
