"""Protobuf bodies: recorded from the real kubectl, and made here by hand."""

from __future__ import annotations

import base64
import json
import pathlib
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery import errors
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import protobuf
from apiserver_app.machinery.types import scheme
from tests.fuzz.samples import examples

RECORDED = json.loads((pathlib.Path(__file__).parent / "kubectl_protobuf.json").read_text())
BODIES = [base64.b64decode(request["body"]) for request in RECORDED["requests"]]


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: Any) -> bytes:
    """One field: text, bytes or a message; a number or a bool; a float."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(int(value))
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*pairs: tuple[int, Any]) -> bytes:
    return b"".join(field(number, value) for number, value in pairs)


def body(version: str, kind: str, *pairs: tuple[int, Any]) -> bytes:
    type_meta = message((1, version), (2, kind))
    return b"k8s\0" + message((1, type_meta), (2, message(*pairs)), (3, ""), (4, ""))


def entry(key: str, value: Any) -> bytes:
    return message((1, key), (2, value))


def metadata(name: str, *pairs: tuple[int, Any]) -> bytes:
    """ObjectMeta as Go sends it: zero values included."""
    return message((1, name), (2, ""), (3, ""), (4, ""), (5, ""), (6, ""), (7, 0), (8, b""), *pairs)


def refusal(data: bytes) -> str:
    with pytest.raises(errors.ApiError) as caught:
        protobuf.decode(data)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


def recorded(kind: str, version: str = "") -> Object:
    for data in BODIES:
        obj = protobuf.decode(data)
        if obj["kind"] == kind and version in obj["apiVersion"]:
            return obj
    raise AssertionError(f"no {kind} was recorded")


def test_deployment_of_kubectl_is_what_it_prints_as_json() -> None:
    assert recorded("Deployment") == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [
                        {"name": "nginx", "image": "nginx", "ports": [{"containerPort": 80}]}
                    ]
                },
            },
        },
    }


def test_inlined_and_special_messages_of_kubectl_are_read() -> None:
    assert recorded("Service")["spec"]["ports"] == [
        {"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}
    ]
    assert recorded("PodDisruptionBudget")["spec"]["minAvailable"] == "50%"
    assert recorded("ResourceQuota")["spec"]["hard"] == {"cpu": "1", "pods": "2"}
    assert recorded("Secret")["data"] == {"p": "cQ=="}
    paths = recorded("Ingress")["spec"]["rules"][0]["http"]["paths"]
    assert paths[0]["backend"]["service"]["port"] == {"number": 80}
    assert recorded("HorizontalPodAutoscaler", "v2")["spec"]["metrics"][0]["resource"] == {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80},
    }


def test_reviews_and_token_requests_of_kubectl_are_read() -> None:
    assert recorded("SelfSubjectAccessReview")["spec"] == {
        "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}
    }
    assert recorded("TokenRequest")["spec"] == {"expirationSeconds": 3600}
    assert recorded("SelfSubjectRulesReview")["spec"] == {"namespace": "default"}
    assert "spec" not in recorded("SelfSubjectReview")


def test_every_recorded_body_is_of_the_type_its_url_serves() -> None:
    index, decoder = kinds.Resources(Release(33)), scheme.Types(Release(33))

    for data in BODIES:
        obj = protobuf.decode(data)
        group, _, version = obj["apiVersion"].rpartition("/")
        info = index.by_gvk(group, version, obj["kind"])
        assert info is not None
        assert decoder.decode(info.definition, obj)[1] == []


def test_namespace_with_labels_finalizers_and_time() -> None:
    data = body(
        "v1",
        "Namespace",
        (
            1,
            metadata(
                "team",
                (8, message((1, 1645026808), (2, 999_000_000))),
                (11, entry("a", "b")),
                (11, entry("c", "")),
            ),
        ),
        (2, message((1, "kubernetes"))),
        (3, message((1, ""))),
    )

    assert protobuf.decode(data) == {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": "team",
            "creationTimestamp": "2022-02-16T15:53:28Z",
            "labels": {"a": "b", "c": ""},
        },
        "spec": {"finalizers": ["kubernetes"]},
    }


def test_config_map_keeps_a_pointer_to_false_and_encodes_bytes() -> None:
    data = body(
        "v1",
        "ConfigMap",
        (1, metadata("cm")),
        (2, entry("k", "v")),
        (3, entry("bin", b"\x00\xff")),
        (4, False),
    )

    assert protobuf.decode(data) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "cm"},
        "immutable": False,
        "data": {"k": "v"},
        "binaryData": {"bin": "AP8="},
    }


def test_volume_sources_and_probe_handlers_are_inlined() -> None:
    port = message((1, 1), (2, 0), (3, "http"))
    probe = message((1, message((2, message((1, "/ok"), (2, port))))))
    container = message((1, "c"), (10, probe))
    volume = message((1, "v"), (2, message((19, message((1, message((1, "cm"))), (3, 420))))))
    pod = protobuf.decode(
        body("v1", "Pod", (1, metadata("p")), (2, message((1, volume), (2, container))))
    )

    assert pod["spec"] == {
        "volumes": [{"name": "v", "configMap": {"name": "cm", "defaultMode": 420}}],
        "containers": [
            {"name": "c", "livenessProbe": {"httpGet": {"path": "/ok", "port": "http"}}}
        ],
    }


def test_micro_times_raw_fields_and_negative_numbers() -> None:
    lease = protobuf.decode(
        body(
            "coordination.k8s.io/v1",
            "Lease",
            (1, metadata("l", (17, message((1, "kubectl"), (7, message((1, b'{"f:spec":{}}'))))))),
            (2, message((1, "me"), (2, -1), (4, message((1, 1645026808), (2, 123_456_789))))),
        )
    )

    assert lease["metadata"]["managedFields"] == [
        {"manager": "kubectl", "fieldsV1": {"f:spec": {}}}
    ]
    assert lease["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": -1,
        "renewTime": "2022-02-16T15:53:28.123456Z",
    }


def test_raw_extension_may_hold_json_or_protobuf_again() -> None:
    inner = body("v1", "Namespace", (1, metadata("in")))
    for raw, value in [
        (b'{"a":[1]}', {"a": [1]}),
        (inner, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "in"}}),
    ]:
        data = body("apps/v1", "ControllerRevision", (2, message((1, raw))), (3, 7))
        assert protobuf.decode(data)["data"] == value


@pytest.mark.parametrize("version", ["v1", "apps/v1", "meta.k8s.io/v1"])
def test_delete_options_are_of_every_group(version: str) -> None:
    data = body(version, "DeleteOptions", (1, 0), (4, "Foreground"), (5, "All"))

    assert protobuf.decode(data) == {
        "kind": "DeleteOptions",
        "apiVersion": version,
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
        "dryRun": ["All"],
    }


def test_extra_values_are_lists() -> None:
    review = protobuf.decode(
        body(
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            (
                2,
                message((3, "jane"), (4, "dev"), (5, entry("scopes", message((1, "a"), (1, "b"))))),
            ),
        )
    )

    assert review["spec"] == {"user": "jane", "groups": ["dev"], "extra": {"scopes": ["a", "b"]}}


def test_schemas_of_custom_resources_keep_their_two_forms() -> None:
    props = message(
        (4, "d"),
        (5, "object"),
        (24, message((1, message((5, "string"))))),
        (29, entry("a", message((8, message((1, b"[1]"))), (9, 1.5)))),
        (30, message((1, True))),
    )
    crd = protobuf.decode(
        body(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            (2, message((1, "g"), (7, message((1, "v1"), (4, message((1, props))))))),
        )
    )

    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "description": "d",
        "type": "object",
        "items": {"type": "string"},
        "properties": {"a": {"default": [1], "maximum": 1.5}},
        "additionalProperties": True,
    }


def test_fields_of_later_versions_are_skipped() -> None:
    data = body("v1", "Namespace", (1, metadata("x")), (99, "new"), (98, 7))

    assert protobuf.decode(data)["metadata"] == {"name": "x"}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "empty data"),
        (b"k8s\0", "empty body"),
        (b'{"kind":"Pod"}', "provided data does not appear to be a protobuf message, "
                            "expected prefix [107 56 115 0]"),
        (body("v1", "Pod")[:-1], "unexpected EOF"),
        (b"k8s\0\x0f", "proto: illegal wireType 7"),
        (b"k8s\0\x02\x00", "proto: illegal tag 0 (wire type 2)"),
        (b"k8s\0" + b"\xff" * 11, "proto: integer overflow"),
        (body("v1", "Pod", (1, 5)), "proto: wrong wireType = 0 for field Metadata"),
        (body("v1", "Pod", (1, message((1, b"\xff")))), "proto: invalid UTF-8 in a string"),
        (body("v9", "Pod"), 'no kind "Pod" is registered for version "v9" in scheme '
                            '"pkg/api/legacyscheme/scheme.go:30"'),
        (body("", ""), 'no kind "" is registered for version "" in scheme '
                       '"pkg/api/legacyscheme/scheme.go:30"'),
    ],
)  # fmt: skip
def test_malformed_body_is_refused(data: bytes, sentence: str) -> None:
    assert refusal(data) == sentence


def test_schema_nested_without_end_is_refused() -> None:
    props = message((5, "object"))
    for _ in range(500):
        props = message((28, props))
    version = message((1, "v1"), (4, message((1, props))))
    data = body("apiextensions.k8s.io/v1", "CustomResourceDefinition", (2, message((7, version))))

    assert refusal(data) == "proto: exceeded max depth"


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(BODIES),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3),
    st.integers(0, 400),
)
def test_damaged_and_truncated_bodies_raise_nothing_but_a_refusal(
    data: bytes, changes: list[tuple[int, int]], length: int
) -> None:
    damaged = bytearray(data)
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    try:
        protobuf.decode(bytes(damaged[: length + 1]))
    except errors.ApiError as error:
        assert error.code == 400
