"""Sets of fields as tries: the algebra, the order on the wire, paths in upstream's words."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver_app.machinery.types import fieldsets
from apiserver_app.machinery.types.fieldsets import LEAF, Trie

names = st.sampled_from(["f:a", "f:b", 'k:{"n":1}', 'v:"x"'])
members = st.frozensets(st.lists(names, min_size=1, max_size=3).map(tuple), max_size=8)


def trie(paths: Any) -> Trie | None:
    """A set holding exactly these paths."""
    out: Trie | None = None
    for path in sorted(paths):
        one: Trie = LEAF
        for element in reversed(path):
            one = {element: one}
        out = fieldsets.union(out, one)
    return out


def held(found: Trie | None) -> frozenset[tuple[str, ...]]:
    return frozenset(fieldsets.paths(found))


@given(members, members)
def test_tries_are_sets_of_paths(first: Any, second: Any) -> None:
    one, two = trie(first), trie(second)
    assert held(one) == first
    assert held(fieldsets.union(one, two)) == first | second
    assert held(fieldsets.subtract(one, two)) == first - second
    assert held(fieldsets.intersect(one, two)) == first & second
    assert (held(one), held(two)) == (first, second)


@given(members, members)
def test_what_adds_or_takes_nothing_gives_the_same_object(first: Any, second: Any) -> None:
    one = trie(first)
    assert fieldsets.union(one, trie(first & second)) is one
    assert fieldsets.subtract(one, trie(second - first)) is one


@given(members)
def test_has_answers_for_members_only(paths: Any) -> None:
    one = trie(paths)
    for path in paths:
        assert fieldsets.has(one, path)
    assert not fieldsets.has(one, ("f:z",))
    assert not fieldsets.has(None, ("f:a",))


def test_elements_are_ordered_as_on_the_wire() -> None:
    keys = ['v:"b"', 'k:{"p":80}', "f:b", 'k:{"p":443}', ".", "f:a", 'v:"a"', 'k:{"p":8080}']
    assert fieldsets.ordered(keys) == [
        ".",
        "f:a",
        "f:b",
        'k:{"p":80}',
        'k:{"p":443}',
        'k:{"p":8080}',
        'v:"a"',
        'v:"b"',
    ]


def test_paths_are_printed_as_upstream_prints_them() -> None:
    port = fieldsets.key_element(("containerPort", "protocol"), 80, "TCP")
    path = ("f:spec", "f:containers", fieldsets.key_element(("name",), "a"), "f:ports", port)
    text = '.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]'
    assert fieldsets.path_text(path) == text
    finalizer = ("f:metadata", "f:finalizers", fieldsets.value_element("x"))
    assert fieldsets.path_text(finalizer) == '.metadata.finalizers[="x"]'


def test_elements_are_written_in_gos_json() -> None:
    assert fieldsets.key_element(("name",), 'a"<é>') == 'k:{"name":"a\\"\\u003cé\\u003e"}'
    assert fieldsets.value_element(True) == "v:true"
    assert fieldsets.value_element(1) == "v:1"
