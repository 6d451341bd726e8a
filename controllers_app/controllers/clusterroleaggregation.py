"""The cluster role aggregation controller: a role with an aggregationRule has the rules of all that
its selectors choose, each once, in the order of their names.

Models kubernetes pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.runtime.controller import Context, Controller, Result

ROLES = "clusterroles.rbac.authorization.k8s.io"
_AGGREGATED = "aggregated"


class ClusterRoleAggregationController(Controller):
    """Reconciles cluster roles that have an aggregationRule, by name."""

    resource = ROLES
    source = (
        "pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go syncClusterRole"
    )

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._roles = ctx.informers.informer(ROLES).index(_AGGREGATED, _is_aggregated)
        self._roles.handle(self._added, self._updated, self._gone)

    async def reconcile(self, key: str) -> Result | None:
        role = self._roles.get(key)
        if role is None:
            return Result("is gone")
        if not role.get("aggregationRule"):
            return Result("gathers nothing")
        rules = self._gathered(role)
        if rules == (role.get("rules") or []):
            return Result("has the rules of all it gathers")
        await self.client.update(ROLES, "", key, {**role, "rules": rules})
        return Result(f"gathers {len(rules)} rules")

    def _gathered(self, role: Object) -> list[Object]:
        rules: list[Object] = []
        for selector in _selectors(role):
            for one in sorted(self._roles.list(), key=meta.name_of):
                if one is not role and selector.matches(one["metadata"].get("labels")):
                    rules += [rule for rule in one.get("rules") or () if rule not in rules]
        return rules

    def _added(self, role: Object, revision: int) -> None:
        self._concerned((role,), revision)

    def _updated(self, old: Object, role: Object, revision: int) -> None:
        self._concerned((old, role), revision)

    def _gone(self, role: Object, revision: int) -> None:
        self._concerned((role,), revision)

    def _concerned(self, changed: Sequence[Object], revision: int) -> None:
        """The role itself, and whoever gathers it as it is or as it was."""
        if changed[-1].get("aggregationRule"):
            self.queue.add(meta.name_of(changed[-1]), revision)
        found = [one["metadata"].get("labels") for one in changed]
        if not any(found):
            return
        for name, role in self._roles.by(_AGGREGATED, "").items():
            if any(one.matches(these) for one in _selectors(role) for these in found):
                self.queue.add(name, revision)


def _is_aggregated(role: Object) -> tuple[str, ...]:
    return ("",) if role.get("aggregationRule") else ()


def _selectors(role: Object) -> list[labels.Selector]:
    listed = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    return [labels.from_label_selector(one) for one in listed]
