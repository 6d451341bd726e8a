"""A Reader over a dict, for gates that decide from cluster state."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from apiserver_app.auth import bootstrap
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Mark


class MemoryReader:
    """Objects by resource, namespace and name. `put` and `drop` count the generation up."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self._generations: dict[str, int] = {}
        self._marks: dict[str, list[Mark]] = {}

    def put(self, resource: str, obj: Object) -> Object:
        metadata = obj["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        self._objects.setdefault(resource, {})[key] = obj
        self._changed(resource)
        return obj

    def drop(self, resource: str, namespace: str, name: str) -> None:
        del self._objects[resource][namespace, name]
        self._changed(resource)

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        return self._objects.get(resource, {}).get((namespace, name))

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        found = self._objects.get(resource, {})
        return [found[key] for key in sorted(found) if not namespace or key[0] == namespace]

    def generation(self, resource: str) -> int:
        return self._generations.get(resource, 0)

    def mark(self, resources: Iterable[str]) -> Mark:
        made = Mark()
        for resource in resources:
            self._marks.setdefault(resource, []).append(made)
        return made

    def _changed(self, resource: str) -> None:
        self._generations[resource] = self._generations.get(resource, 0) + 1
        for mark in self._marks.get(resource, ()):
            mark.revision += 1

    def pods_on(self, node: str) -> Iterable[Object]:
        return [pod for pod in self.list("pods") if pod["spec"].get("nodeName") == node]


def bootstrapped() -> MemoryReader:
    """A reader over everything a new cluster contains."""
    reader = MemoryReader()
    for resource, _, obj in bootstrap.objects():
        metadata = {**obj["metadata"], "uid": f"uid-{obj['metadata']['name']}"}
        reader.put(resource, {**obj, "metadata": metadata})
    return reader


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never has to wait."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the coroutine waits")
