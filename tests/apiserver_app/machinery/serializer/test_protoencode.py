"""Objects in protobuf, against the decoder of request bodies."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import protobuf, protoencode
from apiserver_app.machinery.types import gofields
from apiserver_app.machinery.types.scheme import Types
from apiserver_app.registry.core.service import ranges
from lifecycle.hosting.scripted import Session

VERSION = Release.parse("v1.33.1")
SCALARS: dict[str, Any] = {"s": "x", "i": 7, "l": 1 << 40, "b": True, "d": 0.5, "y": "eA=="}
SPECIAL: dict[str, Any] = {
    "resource.Quantity": "100m",
    "intstr.IntOrString": "50%",
    "meta.v1.Time": "2025-01-02T03:04:05Z",
    "meta.v1.MicroTime": "2025-01-02T03:04:05.000006Z",
    "meta.v1.FieldsV1": {"f:spec": {}},
    "runtime.RawExtension": {"kind": "Any", "n": [1, {"a": None}]},
    "apiextensions.v1.JSON": [1, "a"],
    "apiextensions.v1.JSONSchemaPropsOrBool": True,
    "apiextensions.v1.JSONSchemaPropsOrArray": [{"type": "string"}],
    "apiextensions.v1.JSONSchemaPropsOrStringArray": ["a"],
}


def bare(value: Any) -> Any:
    """Without what is empty: protobuf does not tell it from what is not there."""
    if isinstance(value, dict):
        kept = {key: bare(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, {}, [])}
    return [bare(one) for one in value] if isinstance(value, list) else value


def full(message: str, depth: int = 0) -> Any:
    """A value with each field of a message."""
    if message in SPECIAL:
        return SPECIAL[message]
    fields = gofields.flat(message)
    if len(fields) == 1 and fields[0].name == "items" and fields[0].type == "[]s":
        return ["x"]
    return {
        field.name: of(field.type, depth + 1)
        for field in fields
        if depth < 14 and not (message.endswith("JSONSchemaProps") and depth > 4)
    }


def of(type_: str, depth: int) -> Any:
    if type_.startswith("[]"):
        return [of(type_[2:], depth)]
    if type_.startswith("{}"):
        return {"k": of(type_[2:], depth), "a": of(type_[2:], depth)}
    return SCALARS[type_] if type_ in SCALARS else full(type_[1:], depth)


@pytest.fixture(scope="module")
def types() -> Types:
    return Types(VERSION)


@pytest.mark.parametrize(
    "key", sorted(f"{one.key}/{one.version}" for one in kinds.Resources(VERSION).all)
)
def test_a_full_object_of_each_kind_survives_the_way_to_protobuf_and_back(
    key: str, types: Types
) -> None:
    infos = {f"{one.key}/{one.version}": one for one in kinds.Resources(VERSION).all}
    info = infos[key]
    obj = full(protobuf.message_of(info.api_version, info.kind))
    obj |= {"kind": info.kind, "apiVersion": info.api_version}
    normal = types.decode(info.definition, obj, "Ignore")[0]
    assert len(normal) > 2
    assert bare(protobuf.decode(protoencode.encode(normal))) == bare(normal)


def test_every_object_of_a_new_cluster_survives_the_way_to_protobuf_and_back() -> None:
    encoded = 0
    for entry in Session().cluster.store.range("/registry/").entries:
        obj = ranges.decode(entry) or orjson.loads(entry.value)
        data = protoencode.encode(obj)
        assert data.startswith(b"k8s\0") and data.endswith(b'\x1a\x00"\x00')
        assert bare(protobuf.decode(data)) == bare(obj), entry.key
        encoded += 1
    assert encoded > 200


def test_a_schema_with_each_of_its_unions_survives() -> None:
    schema = {
        "items": {"type": "string"},
        "additionalProperties": {"type": "integer"},
        "additionalItems": False,
        "dependencies": {"a": ["b"], "c": {"type": "object"}},
        "enum": ["a", 1],
        "default": {"a": [True]},
        "properties": {"self": {"properties": {"more": {"type": "object", "nullable": True}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "spec": {"group": "g", "versions": [version]},
    }
    found = protobuf.decode(protoencode.encode(crd))["spec"]["versions"][0]
    assert found["schema"]["openAPIV3Schema"] == schema


def test_the_bytes_are_those_of_upstreams_encoder() -> None:
    binding = {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": "a", "creationTimestamp": None},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": -1},
    }
    metadata = (  # name, generateName, namespace, selfLink, uid, resourceVersion, generation, time
        b"\x0a\x01a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"
    )
    spec = b"\x0a\x00\x10" + b"\xff" * 9 + b"\x01"
    raw = b"\x0a" + bytes([len(metadata)]) + metadata + b"\x12" + bytes([len(spec)]) + spec
    kind = b"\x0a\x16coordination.k8s.io/v1\x12\x05Lease"
    assert protoencode.encode(binding) == (
        b"k8s\0\x0a"
        + bytes([len(kind)])
        + kind
        + b"\x12"
        + bytes([len(raw)])
        + raw
        + b'\x1a\x00"\x00'
    )


def test_a_kind_without_a_message_is_not_encoded() -> None:
    assert not protoencode.knows("example.com/v1", "CronTab")
    with pytest.raises(protoencode.NotEncodable):
        protoencode.encode({"apiVersion": "example.com/v1", "kind": "CronTab"})


def test_names_that_do_not_fit_their_type_are_not_encoded() -> None:
    wrong = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": "x"}]}}
    with pytest.raises(protoencode.NotEncodable):
        protoencode.encode(wrong)
