"""Entries of metadata.managedFields that a client sent."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.patch import managedfields, sententries
from tests.apiserver_app.machinery.patch.test_managedfields import POD


def entry(**fields: Any) -> dict[str, Any]:
    return {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:nodeName": {}}},
        **fields,
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"operation": "Odd"}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": None}, "missing fieldsType in managed fields entry 0"),
        ({"fieldsType": "V2"}, 'invalid fieldsType "V2" in managed fields entry 0'),
        ({"fieldsV1": "text"}, "error decoding set: expect object"),
        ({"fieldsV1": {"f:a": {"f:b": 1}}}, "error decoding set: expect object"),
        ({"fieldsV1": {"": {}}}, "error decoding set: parsing key as path element: "),
        ({"fieldsV1": {"name": {}}}, "error decoding set: parsing key as path element: name"),
        ({"fieldsV1": {"i:x": {}}}, "error decoding set: parsing key as path element: i:x"),
        ({"fieldsV1": {"v:{": {}}}, "error decoding set: parsing key as path element: v:{"),
        ({"fieldsV1": {"k:[]": {}}}, "error decoding set: parsing key as path element: k:[]"),
    ],
)
def test_what_cannot_be_read_is_told(fields: dict[str, Any], message: str) -> None:
    assert sententries.finding([entry(**fields)]) == message


def test_what_can_be_read_is_written_as_the_server_writes_it() -> None:
    sent = {
        "f:b": None,
        'v: "x" ': {},
        'k:{"b": 1, "a":"<"}': {".": 5, "f:c": {}},
        "i:+07": {},
        "z:later": "anything",
    }
    [found] = sententries.decoded([entry(fieldsV1=sent)])
    assert found["fieldsV1"] == {
        "f:b": {},
        'v:"x"': {},
        'k:{"a":"\\u003c","b":1}': {".": {}, "f:c": {}},
        "i:7": {},
    }


def test_of_two_entries_of_one_manager_the_last_counts() -> None:
    applied = [entry(operation="Apply", apiVersion=version, time="t") for version in ("v1", "v2")]
    updated = [entry(apiVersion=version) for version in ("v1", "v2")]
    assert sententries.decoded([*updated, *applied]) == [applied[1], *updated]


def sent(entries: list[Any], versions: tuple[str, ...] = ()) -> list[Any]:
    """What becomes of an update that sends these entries and changes a label."""
    old = {"metadata": {"name": "a", "managedFields": [entry(manager="before")]}}
    new = {"metadata": {"name": "a", "labels": {"a": "b"}, "managedFields": entries}}
    tracked = managedfields.track(
        old, new, manager="me", api_version="v1", time="t", schema=POD, versions=versions
    )
    return [one.get("manager") for one in tracked]


def test_entries_that_say_nothing_of_the_object_go() -> None:
    assert sent([entry()]) == ["m", "me"]
    assert sent([entry(fieldsV1={})]) == ["me"]
    assert sent([entry(), entry(apiVersion="v9", manager="other")], ("v1",)) == ["m", "me"]
    assert sent([entry(apiVersion="v9")], ("v1",)) == ["me"]


def test_entries_that_cannot_be_read_leave_those_of_before() -> None:
    assert sent([entry(fieldsV1="text")]) == ["before", "me"]
    assert sent([]) == [], "an empty list gives up on all fields"
