"""Keeps the condition of every FlowSchema: whether the priority level that it names is there.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go
(presyncFlowSchemaStatus).
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.flowcontrol.classify import LEVELS, SCHEMAS, level_of
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Reader

FOLLOWED = (SCHEMAS, LEVELS)
AGENT = "api-priority-and-fairness-config-consumer-v1"
_SAID = "This FlowSchema references the PriorityLevelConfiguration object named "


async def follow(resource: str, client: Client, reader: Reader, now: Callable[[], int]) -> None:
    """Reconcile whenever a schema, or a level, changes; both kinds are followed, each by one."""
    watch = await client.watch(resource)
    await reconcile(client, reader, now)
    while await watch.next() is not None:
        await reconcile(client, reader, now)


async def reconcile(client: Client, reader: Reader, now: Callable[[], int]) -> None:
    for schema in list(reader.list(SCHEMAS)):
        wanted = _condition(schema, reader)
        status = schema.get("status") or {}
        had = conditions.find(status, "Dangling") or {}
        if all(had.get(name) == value for name, value in wanted.items()):
            continue
        wanted["lastTransitionTime"] = meta.rfc3339(now())
        changed = {**schema, "status": conditions.put(status, wanted)}
        with errors.ignoring("Conflict", "NotFound"):  # its change comes by the watch
            await client.update(SCHEMAS, "", meta.name_of(schema), changed, subresource="status")


def _condition(schema: Object, reader: Reader) -> Object:
    level = level_of(schema)
    there = reader.get(LEVELS, "", level) is not None
    end = "and it exists" if there else "but there is no such object"
    return {
        "type": "Dangling",
        "status": "False" if there else "True",
        "reason": "Found" if there else "NotFound",
        "message": f'{_SAID}"{level}" {end}',
    }
