"""The naming controller: gives a definition the names it asks for, unless another has them.

It only ever looks at definitions of the same group. A definition that loses its names waits until
they are free.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/controller/status/
naming_controller.go.
"""

from __future__ import annotations

import json
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.apiextensions.definitions import DefinitionController
from controllers_app.runtime.controller import Result

_RESOURCE_NAMES = ("plural", "singular")
_KIND_NAMES = ("kind", "listKind")
_REASONS = {
    "plural": "PluralConflict",
    "singular": "SingularConflict",
    "kind": "KindConflict",
    "listKind": "ListKindConflict",
}


class NamingController(DefinitionController):
    """Reconciles definitions: `status.acceptedNames` and the condition NamesAccepted."""

    source = (
        "staging/src/k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go sync"
    )

    async def reconcile(self, key: str) -> Result | None:
        definition = self.definitions.get(key)
        if definition is None:
            self._others(key)
            return Result("is gone: its names are free")
        wanted = definition["spec"]["names"]
        accepted = (definition.get("status") or {}).get("acceptedNames") or {}
        if wanted == accepted:
            return Result("has the names it asks for")
        names, conflict = self._decide(definition, wanted, accepted)
        reason, message = conflict or ("NoConflicts", "no conflicts found")
        status = "False" if conflict else "True"
        changed = self.with_condition(definition, "NamesAccepted", status, reason, message)
        if names == accepted and changed == definition:
            return Result(f"still waits: {message}")
        changed = self._establishing(changed, not conflict)
        changed["status"] = {**changed["status"], "acceptedNames": names}
        if await self.write_status(changed) is None:
            return Result("changed meanwhile")
        self._others(key)
        return Result(f"{reason}: {message}")

    def _decide(
        self, definition: Object, wanted: Object, accepted: Object
    ) -> tuple[Object, tuple[str, str] | None]:
        """(the names it gets, why not all): as good a match as there can be."""
        resources, kinds = self._taken(definition)
        names: Object = dict(accepted)
        conflict: tuple[str, str] | None = None
        for field in _RESOURCE_NAMES:
            conflict = self._take(field, wanted, names, resources, conflict)
        if (wanted.get("shortNames") or []) != (accepted.get("shortNames") or []):
            mine = accepted.get("shortNames") or ()
            used = [
                name
                for name in wanted.get("shortNames") or ()
                if name not in mine and name in resources
            ]
            if used:
                conflict = ("ShortNamesConflict", errors.aggregate([_used(name) for name in used]))
            else:
                _put(names, "shortNames", wanted.get("shortNames"))
        for field in _KIND_NAMES:
            conflict = self._take(field, wanted, names, kinds, conflict)
        _put(names, "categories", wanted.get("categories"))
        return {name: names[name] for name in _ORDER if name in names}, conflict

    def _take(
        self,
        field: str,
        wanted: Object,
        names: Object,
        taken: set[str],
        conflict: tuple[str, str] | None,
    ) -> tuple[str, str] | None:
        name = wanted.get(field) or ""
        if name != (names.get(field) or "") and name in taken:
            return _REASONS[field], _used(name)
        _put(names, field, name)
        return conflict

    def _taken(self, definition: Object) -> tuple[set[str], set[str]]:
        """What the definitions of the group have: (names of resources, kinds)."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for other in self.definitions.list():
            if other["spec"]["group"] != definition["spec"]["group"]:
                continue
            names = (other.get("status") or {}).get("acceptedNames") or {}
            resources.update(names.get(field) or "" for field in _RESOURCE_NAMES)
            resources.update(names.get("shortNames") or ())
            kinds.update(names.get(field) or "" for field in _KIND_NAMES)
        return resources, kinds

    def _establishing(self, definition: Object, accepted: bool) -> Object:
        """Established begins as false; another controller makes it true."""
        old = next(
            (
                condition
                for condition in definition["status"].get("conditions") or ()
                if condition["type"] == "Established"
            ),
            None,
        )
        if old is not None and (old["status"] == "True" or not accepted):
            return definition
        if accepted:
            reason, message = "Installing", "the initial names have been accepted"
        else:
            reason, message = "NotAccepted", "not all names are accepted"
        return self.with_condition(definition, "Established", "False", reason, message)

    def _others(self, name: str) -> None:
        """Look at the rest of the group again: names may have become free."""
        group = name.partition(".")[2]
        for other in sorted(self.definitions.list(), key=meta.name_of):
            if other["spec"]["group"] == group and meta.name_of(other) != name:
                self.queue.add(meta.name_of(other), meta.revision_of(other))


_ORDER = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


def _put(names: Object, field: str, value: Any) -> None:
    if value:
        names[field] = value
    else:
        names.pop(field, None)


def _used(name: str) -> str:
    return f"{json.dumps(name)} is already in use"
