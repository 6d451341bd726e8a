"""Features of releases as requests, and what kube-apiserver of each release answered them.

`features.yaml` says what is asked; nothing of it is stored.
"""

from __future__ import annotations

import collections
import functools
import json
import lzma
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from apiserver_app.machinery import meta
from tests.likeness.requests import comparing, madeup
from tests.likeness.requests.madeup import Call
from tests.likeness.requests.record import Ask

FOLDER = pathlib.Path(__file__).parent
VERSIONS = ("v1.32.2", "v1.33.4", "v1.36.1")
_QUERY = "?dryRun=All&fieldValidation=Strict&fieldManager=likeness"
_PLAIN, _TABLE = "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"
_CLUSTER_WIDE = (
    "APIService", "CSIDriver", "CertificateSigningRequest", "ClusterTrustBundle",
    "CustomResourceDefinition", "DeviceClass", "FlowSchema", "IPAddress", "IngressClass",
    "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "Node", "PriorityClass",
    "PriorityLevelConfiguration",
    "ResourceSlice", "RuntimeClass", "ServiceCIDR", "StorageClass", "SubjectAccessReview",
    "TokenReview", "ValidatingAdmissionPolicy", "ValidatingWebhookConfiguration",
    "VolumeAttachment", "VolumeAttributesClass",
)  # fmt: skip
# what is of the machine, the build or the moment, in answers about the server itself
_OF_THE_BUILD = (
    "gitCommit", "gitTreeState", "gitVersion", "buildDate", "goVersion", "compiler", "platform",
    "serverAddressByClientCIDRs", "storageVersionHash",
)  # fmt: skip


class Fact(NamedTuple):
    """What was asked, and the recorded answer."""

    id: str
    answer: dict[str, Any]


@functools.cache
def calls() -> dict[str, Call]:
    """Everything that is asked, by a name for it."""
    wanted = yaml.safe_load((FOLDER / "features.yaml").read_text())
    out = {f"pod {name}": _create(_pod(more)) for name, more in wanted["pods"].items()}
    seen: collections.Counter[str] = collections.Counter()
    for body in wanted["objects"]:
        what = f"{body['apiVersion']} {body['kind']}"
        seen[what] += 1
        out[f"{what} {seen[what]}"] = _create(body)
    for line in wanted["reads"]:
        verb, path = line.split()
        out[line] = Call("GET", path, None, accept=_TABLE if verb == "TABLE" else _PLAIN)
    return out


def _pod(more: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "c", "image": "nginx:1.27", **more.get("container", {})}
    spec = {"containers": [container], "automountServiceAccountToken": False, **more.get("pod", {})}
    metadata = {"name": "x", **more.get("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _create(body: dict[str, Any]) -> Call:
    version, kind = body["apiVersion"], body["kind"]
    root = meta.api_root(version)
    inside = "" if kind in _CLUSTER_WIDE else f"/namespaces/{madeup.NAMESPACE}"
    return Call("POST", f"{root}{inside}/{_plural(kind)}{_QUERY}", body)


def _plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return word if word.endswith("points") else f"{word}es" if word.endswith("s") else f"{word}s"


def asked(ask: Ask) -> Iterator[Fact]:
    """Each with the answer that is given now."""
    for id_, call in calls().items():
        yield Fact(id_, _without_the_build(comparing.answer(*ask(call))))


def read(version: str) -> dict[str, dict[str, Any]]:
    lines = lzma.decompress((FOLDER / f"{version}.jsonl.xz").read_bytes()).splitlines()
    return dict(map(json.loads, lines))


def write(ask: Ask, version: str) -> int:
    facts = list(asked(ask))
    lines = "\n".join(json.dumps(fact, separators=(",", ":")) for fact in facts)
    packed = lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / f"{version}.jsonl.xz").write_bytes(packed)
    return len(facts)


def _without_the_build(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_the_build(item)
            for name, item in value.items()
            if name not in _OF_THE_BUILD
        }
    return list(map(_without_the_build, value)) if isinstance(value, list) else value
