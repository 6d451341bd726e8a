"""Keeps the flow schemas and priority levels that every cluster has: what is missing is made again
within a minute.

A mandatory one always has the server's spec; a suggested one keeps what users made of it, unless
it is annotated to follow the server, or nobody has touched it.

Models kubernetes pkg/registry/flowcontrol/rest/storage_flowcontrol.go and
pkg/registry/flowcontrol/ensurer/strategy.go.
"""

from __future__ import annotations

import contextlib

from apiserver_app.auth import bootstrap
from apiserver_app.flowcontrol.classify import LEVELS, SCHEMAS
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.releases import Release

AGENT = "api-priority-and-fairness-config-producer-v1"
ENSURE_SECONDS = 60
MANDATORY = ("exempt", "catch-all")
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
_WORDS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


async def keep(
    client: Client, reader: Reader, kernel: Kernel, version: Release, epoch: int
) -> None:
    """Reconcile once a minute, for as long as the server runs."""
    wanted = [
        (resource, obj)
        for resource, _, obj in bootstrap.objects(version, epoch)
        if resource in (SCHEMAS, LEVELS)
    ]
    while True:
        await kernel.sleep(ENSURE_SECONDS, background=True)
        for resource, obj in wanted:
            await _ensure(client, resource, obj, reader.get(resource, "", meta.name_of(obj)))


async def _ensure(client: Client, resource: str, wanted: Object, there: Object | None) -> None:
    """A refusal is tried again a minute later."""
    with contextlib.suppress(errors.ApiError):
        if there is None:
            await client.create(resource, "", wanted)
            return
        changed = _updated(wanted, there)
        if changed is not there:
            await client.update(resource, "", meta.name_of(wanted), changed)


def _updated(wanted: Object, there: Object) -> Object:
    """The object as it should be; itself when it is that already."""
    annotations = there["metadata"].get("annotations") or {}
    said = _WORDS.get(str(annotations.get(AUTO_UPDATE, "")).lower())
    follows = meta.name_of(wanted) in MANDATORY
    if not follows:
        follows = there["metadata"].get("generation") == 1 if said is None else said
    changed = there
    if said is not follows:
        noted = {**annotations, AUTO_UPDATE: "true" if follows else "false"}
        changed = {**changed, "metadata": {**there["metadata"], "annotations": noted}}
    if follows and not _within(wanted["spec"], there["spec"]):
        changed = {**changed, "spec": wanted["spec"]}
    return changed


def _within(wanted: object, there: object) -> bool:
    """Whether all that is wanted is there; what defaults added makes no difference."""
    if isinstance(wanted, dict) and isinstance(there, dict):
        return all(_within(value, there.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list | tuple) and isinstance(there, list | tuple):
        return len(wanted) == len(there) and all(map(_within, wanted, there))
    return wanted == there
