"""Objects in protobuf as etcd holds them, against the decoder of request bodies."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app.machinery import protobuf, protoencode
from lifecycle.trace.scripted import Session


def bare(value: Any) -> Any:
    """Without what is empty: protobuf does not tell it from what is not there."""
    if isinstance(value, dict):
        kept = {key: bare(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, {}, [])}
    return [bare(one) for one in value] if isinstance(value, list) else value


def test_every_object_of_a_new_cluster_survives_the_way_to_protobuf_and_back() -> None:
    encoded = 0
    for entry in Session().cluster.store.range("/registry/").entries:
        obj = orjson.loads(entry.value)
        if obj["kind"] == "APIService":
            continue  # stored as JSON in a real cluster, too
        data = protoencode.encode(obj)
        assert data.startswith(b"k8s\0") and data.endswith(b'\x1a\x00"\x00')
        assert bare(protobuf.decode(data)) == bare(obj), entry.key
        encoded += 1
    assert encoded > 200


def test_a_kind_without_a_message_is_not_encoded() -> None:
    with pytest.raises(protoencode.NotEncodable):
        protoencode.encode({"apiVersion": "example.com/v1", "kind": "CronTab"})


def test_names_that_do_not_fit_their_type_are_not_encoded() -> None:
    wrong = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": "x"}]}}
    with pytest.raises(protoencode.NotEncodable):
        protoencode.encode(wrong)
