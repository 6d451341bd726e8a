"""Strategies of a 1.33 cluster over a reader in memory, for the tests of kinds."""

from __future__ import annotations

import copy
from typing import Any

from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.kinds import kinds as resources
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import scheme
from apiserver_app.registry import kinds
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import objectmeta
from tests import builders
from tests.apiserver_app.memory import MemoryReader

VERSION = Release(33)
NOW = 1_645_026_808_000_000
_RESOURCES = resources.resources(VERSION)
_STRATEGIES = kinds.strategies(_RESOURCES)
_TYPES = scheme.Types(VERSION)


def of(key: str, version: str = "") -> Strategy:
    """The strategy of a resource: "pods", "deployments.apps"."""
    for info in _RESOURCES:
        if info.key == key and version in ("", info.version):
            return _STRATEGIES[info.group, info.version, info.plural]
    raise LookupError(key)


def context(
    reader: MemoryReader | None = None, *, subresource: str = "", user: User | None = None
) -> Context:
    return Context(
        now=NOW,
        version=VERSION,
        rand=Rand(7),
        reader=reader or MemoryReader(),
        user=user or User("alice"),
        namespace="default",
        subresource=subresource,
    )


def decoded(key: str, obj: Object) -> Object:
    """As it is after decoding and defaulting."""
    strategy = of(key)
    out, unknown = _TYPES.decode(strategy.info.definition, copy.deepcopy(obj))
    assert unknown == []
    strategy.default(out)
    return out


def created(key: str, obj: Object, ctx: Context | None = None) -> Object:
    """As it is stored, whether valid or not."""
    out = decoded(key, obj)
    out["metadata"].setdefault("uid", "u-1")
    out["metadata"].setdefault("resourceVersion", "1")
    of(key).prepare_for_create(ctx or context(), out)
    return out


def create_errors(key: str, obj: Object, ctx: Context | None = None) -> list[str]:
    """What a create is refused for, in upstream's words and order."""
    ctx = ctx or context()
    strategy = of(key)
    try:
        out = created(key, obj, ctx)
    except ApiError as error:
        return [f"{cause['field']}: {cause['message']}" for cause in error.details["causes"]]
    found = objectmeta.validate_object_meta(out, strategy.info.namespaced, strategy.name_rule)
    found += strategy.validate(ctx, out)
    return [str(error) for error in found]


def updated(key: str, obj: Object, old: Object, ctx: Context | None = None) -> Object:
    out = copy.deepcopy(obj)
    of(key).default(out)
    of(key).prepare_for_update(ctx or context(), out, old)
    return out


def update_errors(key: str, obj: Object, old: Object, ctx: Context | None = None) -> list[str]:
    ctx = ctx or context()
    out = updated(key, obj, old, ctx)
    found = objectmeta.validate_object_meta_update(out, old)
    found += of(key).validate_update(ctx, out, old)
    return [str(error) for error in found]


def status_errors(key: str, obj: Object, old: Object) -> list[str]:
    ctx = context(subresource="status")
    out = copy.deepcopy(obj)
    of(key).prepare_for_status_update(ctx, out, old)
    return [str(error) for error in of(key).validate_status_update(ctx, out, old)]


def named(kind: str, api_version: str, name: str = "web", **fields: object) -> Object:
    """An object of the default namespace; cluster-wide kinds say `namespace=None`."""
    metadata: Object = {"name": name}
    if fields.pop("namespace", "default"):
        metadata["namespace"] = "default"
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata, **fields}


def pod(**spec: Any) -> Object:
    """A pod of one nginx container."""
    return builders.pod("web", container="nginx", namespace="default", **spec)


def template(**spec: object) -> Object:
    """A template labelled app=web."""
    return {"metadata": {"labels": {"app": "web"}}, "spec": pod(**spec)["spec"]}


def deployment(**spec: Any) -> Object:
    return builders.deployment("web", container="nginx", namespace="default", **spec)


def with_spec(obj: Object, **fields: object) -> Object:
    """A copy with fields of the spec replaced; None takes one away."""
    spec = {**obj["spec"], **fields}
    return {**obj, "spec": {key: value for key, value in spec.items() if value is not None}}
