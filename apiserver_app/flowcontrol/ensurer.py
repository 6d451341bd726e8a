"""Keeps the default flow schemas and priority levels: recreates missing ones within a minute.

A mandatory object always gets the server's spec; a suggested one keeps its users' changes, unless
its annotation says to follow the server, or it is unchanged.

Models kubernetes pkg/registry/flowcontrol/rest/storage_flowcontrol.go and
pkg/registry/flowcontrol/ensurer/strategy.go.
"""

from __future__ import annotations

import contextlib

from apiserver_app.auth import bootstrap
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


async def run(client: Client, reader: Reader, kernel: Kernel, version: Release, epoch: int) -> None:
    """Reconciles once a minute, for as long as the server runs."""
    desired = bootstrap.priority_and_fairness(version, epoch)
    while True:
        await kernel.sleep(ENSURE_SECONDS, background=True)
        for resource, _, obj in desired:
            await _ensure(client, resource, obj, reader.get(resource, "", meta.name_of(obj)))


async def _ensure(client: Client, resource: str, desired: Object, existing: Object | None) -> None:
    """Creates or updates one object; a refusal is retried a minute later."""
    with contextlib.suppress(errors.ApiError):
        if existing is None:
            await client.create(resource, "", desired)
            return
        changed = _updated(desired, existing)
        if changed is not existing:
            await client.update(resource, "", meta.name_of(desired), changed)


def _updated(desired: Object, existing: Object) -> Object:
    """Returns the object as it should be; `existing` itself when it is already so."""
    annotations = existing["metadata"].get("annotations") or {}
    annotated = _WORDS.get(str(annotations.get(AUTO_UPDATE, "")).lower())
    follows = meta.name_of(desired) in MANDATORY
    if not follows:
        follows = existing["metadata"].get("generation") == 1 if annotated is None else annotated
    changed = existing
    if annotated is not follows:
        updated_annotations = {**annotations, AUTO_UPDATE: "true" if follows else "false"}
        changed = {
            **changed,
            "metadata": {**existing["metadata"], "annotations": updated_annotations},
        }
    if follows and not _within(desired["spec"], existing["spec"]):
        changed = {**changed, "spec": desired["spec"]}
    return changed


def _within(desired: object, existing: object) -> bool:
    """Reports whether `desired` is contained in `existing`, ignoring added defaults."""
    if isinstance(desired, dict) and isinstance(existing, dict):
        return all(_within(value, existing.get(name)) for name, value in desired.items())
    if isinstance(desired, list | tuple) and isinstance(existing, list | tuple):
        return len(desired) == len(existing) and all(map(_within, desired, existing))
    return desired == existing
