"""The pod-template-hash equals that of real clusters of each version."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from apiserver_app.apis import templatehash
from apiserver_app.machinery.releases import Release

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "podtemplate-spew-1.22.txt"


def template(**container: Any) -> dict[str, Any]:
    """nginx with the label app=nginx, defaulted."""
    return {
        "metadata": {"creationTimestamp": None, "labels": {"app": "nginx"}},
        "spec": {
            "containers": [
                {
                    "name": "nginx",
                    "image": "nginx",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "Always",
                    **container,
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        },
    }


def test_printed_template_equals_the_golden_text_of_1_22() -> None:
    assert templatehash.spew(template(), Release(22)) == GOLDEN.read_text()


@pytest.mark.parametrize(
    ("version", "hash_"),
    [
        ("1.22", "6799fc88d8"),
        ("1.23", "85b98978db"),
        ("1.33", "5869d7778c"),
        ("v1.33.4", "5869d7778c"),
        ("1.10", "6799fc88d8"),
    ],
)
def test_hash_is_that_of_a_real_cluster(version: str, hash_: str) -> None:
    assert templatehash.pod_template_hash(template(), Release.parse(version)) == hash_


def test_order_of_keys_and_empty_fields_do_not_count() -> None:
    shuffled = dict(reversed(template(env=[], command=None).items()))
    shuffled["metadata"] = {"labels": {"app": "nginx"}, "annotations": {}}
    assert templatehash.pod_template_hash(shuffled, Release(33)) == "5869d7778c"


def test_a_collision_gives_another_hash() -> None:
    found = {
        templatehash.pod_template_hash(template(), Release(33), count) for count in (None, 0, 1)
    }
    assert len(found) == 3


def test_quantity_is_printed_as_go_keeps_it_after_protobuf() -> None:
    limits = {"memory": "1024Mi", "cpu": "0.5", "odd": "1234567890123456789012"}
    text = templatehash.spew(template(resources={"limits": limits}), Release(33))
    assert (
        "Limits:(v1.ResourceList)map["
        "cpu:{i:(resource.int64Amount){value:(int64)500 scale:(resource.Scale)-3} "
        "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)500m "
        "Format:(resource.Format)DecimalSI} "
        "memory:{i:(resource.int64Amount){value:(int64)1073741824 scale:(resource.Scale)0} "
        "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)1Gi "
        "Format:(resource.Format)BinarySI} "
        "odd:{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} "
        "d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)false "
        "abs:(big.nat)["
    ) in text


def test_every_kind_of_field_is_printed_with_its_go_type() -> None:
    text = templatehash.spew(
        template(
            command=["sh", "-c"],
            ports=[{"containerPort": 80, "protocol": "TCP"}],
            livenessProbe={"httpGet": {"path": "/", "port": "http"}},
            env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            securityContext={"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
        ),
        Release(33),
    )
    for part in (
        "Command:([]string)[sh -c]",
        (
            "Ports:([]v1.ContainerPort)[{Name:(string) HostPort:(int32)0 ContainerPort:(int32)80 "
            "Protocol:(v1.Protocol)TCP HostIP:(string)}]"
        ),
        (
            "LivenessProbe:(*v1.Probe){ProbeHandler:(v1.ProbeHandler){Exec:(*v1.ExecAction)<nil> "
            "HTTPGet:(*v1.HTTPGetAction){Path:(string)/ Port:(intstr.IntOrString){"
            "Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)http}"
        ),
        (
            "SecretKeyRef:(*v1.SecretKeySelector){LocalObjectReference:(v1.LocalObjectReference)"
            "{Name:(string)s} Key:(string)k Optional:(*bool)<nil>}"
        ),
        "Drop:([]v1.Capability)[ALL]",
        "RunAsNonRoot:(*bool)true",
    ):
        assert part in text


def test_embedded_struct_is_read_from_the_object_around_it() -> None:
    changed = template()
    changed["spec"]["volumes"] = [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}]
    text = templatehash.spew(changed, Release(33))
    assert "[{Name:(string)data VolumeSource:(v1.VolumeSource){HostPath:" in text
    assert "SizeLimit:(*resource.Quantity){i:(resource.int64Amount){value:(int64)1073741824" in text
