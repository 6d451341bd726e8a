"""What trust bundles, signing requests, candidates and attachments are refused for, word for word.

The rows are facts of kubernetes pkg/apis/{certificates,coordination,storage}/validation/*.go.
"""

from __future__ import annotations

import base64
import copy
import datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiserver_app.machinery.kinds import kinds as resources
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.registry import kinds
from apiserver_app.registry.strategy import Strategy
from apiserver_app.registry.validation import objectmeta, pemblocks
from tests.apiserver_app.registry.kinds import strategies

_ALL = kinds.strategies(resources.resources(Release(33), (("api/all", "true"),)))
BUNDLES = ("certificates.k8s.io", "v1beta1", "clustertrustbundles")
CANDIDATES = ("coordination.k8s.io", "v1beta1", "leasecandidates")
CLASSES = ("storage.k8s.io", "v1beta1", "volumeattributesclasses")
REQUESTS = "certificatesigningrequests.certificates.k8s.io"
ATTACHMENTS, DRIVERS = "volumeattachments.storage.k8s.io", "csidrivers.storage.k8s.io"


def certificate(*, authority: bool = True) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    day = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .serial_number(1)
        .public_key(key.public_key())
        .not_valid_before(day)
        .not_valid_after(day)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


CA, LEAF = certificate(), certificate(authority=False)
OTHER = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
HEADED = CA.replace("CERTIFICATE-----\n", "CERTIFICATE-----\na: b\n\n", 1)


def of(key: tuple[str, str, str]) -> Strategy:
    return _ALL[key]


def said(key: tuple[str, str, str], name: str, **fields: object) -> list[str]:
    strategy, ctx = of(key), strategies.context()
    namespace = "default" if strategy.info.namespaced else None
    obj = strategies.named(
        strategy.info.kind, strategy.info.api_version, name, namespace=namespace, **fields
    )
    strategy.default(obj)
    strategy.prepare_for_create(ctx, obj)
    found = objectmeta.validate_object_meta(obj, strategy.info.namespaced, strategy.name_rule)
    return [str(error) for error in [*found, *strategy.validate(ctx, obj)]]


@pytest.mark.parametrize(
    ("name", "spec", "messages"),
    [
        ("roots", {"trustBundle": CA}, []),
        ("example.com:a:roots", {"signerName": "example.com/a", "trustBundle": f"x\n{CA}"}, []),
        (
            "a:b",
            {"trustBundle": ""},
            ['metadata.name: Invalid value: "a:b": '
             'ClusterTrustBundle without signer name must not have ":" in its name',
             'spec.trustBundle: Invalid value: "<value omitted>": '
             "at least one trust anchor must be provided"],
        ),
        (
            "roots",
            {"signerName": "example.com/a", "trustBundle": CA + CA},
            ['metadata.name: Invalid value: "roots": ClusterTrustBundle for signerName '
             "example.com/a must be named with prefix example.com:a:",
             'spec.trustBundle: Invalid value: "<value omitted>": '
             "duplicate trust anchor (indices [0 1])"],
        ),
        (
            "com:a:roots",
            {"signerName": "com/a", "trustBundle": LEAF + OTHER + BROKEN + HEADED},
            ['spec.signerName: Invalid value: "com": '
             "should be a domain with at least two segments separated by dots",
             *(f'spec.trustBundle: Invalid value: "<value omitted>": {text}' for text in (
                 "entry 0 does not have the CA bit set",
                 "entry 1 has bad block type: PRIVATE KEY",
                 "entry 2 does not parse as X.509",
                 "entry 3 has PEM block headers"))],
        ),
    ],
)  # fmt: skip
def test_a_trust_bundle_is_told_what_is_wrong(
    name: str, spec: dict[str, Any], messages: list[str]
) -> None:
    assert said(BUNDLES, name, spec=spec) == messages


def test_a_chain_of_certificates_is_nothing_else() -> None:
    assert [
        pemblocks.certificate_error(text) for text in ("", CA, LEAF + CA, "x", OTHER, HEADED)
    ] == [
        "",
        "",
        "",
        "must contain at least one CERTIFICATE PEM block",
        'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"',
        "no PEM block headers are permitted",
    ]


def request(**status: object) -> Object:
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"
    spec = {
        "request": base64.b64encode(pem).decode(),
        "usages": ["client auth"],
        "signerName": "example.com/a",
    }
    obj = strategies.named(
        "CertificateSigningRequest", "certificates.k8s.io/v1", "c", namespace=None, spec=spec
    )
    return {**strategies.created(REQUESTS, obj), "status": status}


def decided(*kinds: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status} for kind in kinds]}


def test_a_request_is_decided_once() -> None:
    ctx = strategies.context(subresource="approval")

    def told(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
        old, new = request(**before), request(**now)
        return [str(error) for error in strategies.of(REQUESTS).validate_update(ctx, new, old)]

    at = "status.conditions"
    assert told({}, decided("Approved")) == []
    assert told({}, decided("Approved", "Denied")) == [
        f'{at}[1].type: Invalid value: "Denied": '
        "Approved and Denied conditions are mutually exclusive"
    ]
    assert told({}, decided("Approved", status="False")) == [
        f'{at}[0].status: Unsupported value: "False": supported values: "True"'
    ]
    assert told({}, decided("", "Odd", "Odd", status="Maybe"))[:2] == [
        f"{at}[0].type: Required value",
        f'{at}[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    ]
    assert told(decided("Failed"), {}) == [
        f'{at}: Forbidden: updates may not remove a condition of type "Failed"'
    ]


def test_a_certificate_is_issued_once() -> None:
    strategy, ctx = strategies.of(REQUESTS), strategies.context(subresource="status")

    def told(before: str, now: str) -> list[str]:
        pair = [
            request(certificate=base64.b64encode(text.encode()).decode()) for text in (now, before)
        ]
        return [str(error) for error in strategy.validate_status_update(ctx, *pair)]

    assert told("", CA) == []
    assert told("", OTHER) == [
        'status.certificate: Invalid value: "<certificate data>": '
        'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"'
    ]
    assert told(CA, LEAF) == [
        "status.certificate: Forbidden: updates may not modify existing certificate content"
    ]


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({"leaseName": "a", "binaryVersion": "1.33.0", "emulationVersion": "1.32.0",
          "strategy": "OldestEmulationVersion"}, []),
        (
            {"binaryVersion": "1.3", "strategy": "Best"},
            ["spec.leaseName: Required value",
             'spec.binaryVersion: Invalid value: "1.3": must be a valid semantic version',
             'spec.strategy.strategy: Unsupported value: "Best": '
             'supported values: "OldestEmulationVersion"'],
        ),
        (
            {"leaseName": "a", "binaryVersion": "1.32.0", "emulationVersion": "1.33.0"},
            ['spec.binaryVersion: Invalid value: "1.32.0": '
             "must be greater than or equal to `emulationVersion`",
             "spec.strategy: Required value"],
        ),
        (
            {"leaseName": "a", "strategy": "OldestEmulationVersion"},
            ["spec.binaryVersion: Required value",
             "spec.emulationVersion: Required value: "
             "must be specified when `strategy` is 'OldestEmulationVersion'"],
        ),
    ],
)  # fmt: skip
def test_a_candidate_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    assert said(CANDIDATES, "c", spec=spec) == messages


def test_a_class_of_attributes_says_something_and_stays() -> None:
    strategy, ctx = of(CLASSES), strategies.context()
    assert said(CLASSES, "gold") == [
        "driverName: Required value",
        "parameters: Required value: must contain at least one key/value pair",
    ]
    old = {"driverName": "a.b", "parameters": {"iops": "1"}, "metadata": {"name": "gold"}}
    new = {**copy.deepcopy(old), "driverName": "c.d", "parameters": {"iops": "2"}}

    assert [str(error) for error in strategy.validate_update(ctx, new, old)] == [
        "driverName: Forbidden: updates to driverName are forbidden.",
        "parameters: Forbidden: updates to parameters are forbidden.",
    ]


def test_an_inline_volume_is_little_more_than_a_driver() -> None:
    inline = {
        "nfs": {"server": "a", "path": "/"},
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "persistentVolumeReclaimPolicy": "Delete",
        "volumeMode": "Block",
    }
    spec = {"attacher": "a.b", "nodeName": "n", "source": {"inlineVolumeSpec": inline}}
    obj = strategies.named("VolumeAttachment", "storage.k8s.io/v1", "a", namespace=None, spec=spec)
    at, end = "spec.source.inlineVolumeSpec", "in the context of inline volumes"

    assert strategies.create_errors(ATTACHMENTS, obj) == [
        f"{at}.capacity: Forbidden: may not be specified {end}",
        f"{at}.csi: Required value: has to be specified {end}",
        f"{at}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain {end}",
        f"{at}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem {end}",
    ]


def test_what_a_driver_tells_of_an_attachment_is_bounded() -> None:
    spec = {"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    obj = strategies.named("VolumeAttachment", "storage.k8s.io/v1", "a", namespace=None, spec=spec)
    old = strategies.created(ATTACHMENTS, obj)
    new = {
        **old,
        "status": {
            "attached": False,
            "attachmentMetadata": {"a": "b" * (256 * 1024)},
            "attachError": {"message": "m" * 1025},
        },
    }

    assert strategies.status_errors(ATTACHMENTS, new, old) == [
        "status.attachmentMetadata: Too long: may not be more than 262144 bytes",
        "status.attachError.message: Too long: may not be more than 262144 bytes",
    ]


def test_drivers_are_asked_anew_from_1_35_on() -> None:
    field, ctx = "nodeAllocatableUpdatePeriodSeconds", strategies.context()
    obj = strategies.named("CSIDriver", "storage.k8s.io/v1", "a", namespace=None, spec={field: 5})
    assert field not in strategies.created(DRIVERS, obj, ctx)["spec"]

    ctx.version = Release(35)
    assert strategies.create_errors(DRIVERS, obj, ctx) == [
        f"spec.{field}: Invalid value: 5: must be greater than or equal to 10 seconds"
    ]
