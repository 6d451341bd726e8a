"""The cluster role aggregation controller: a role with an aggregationRule has the rules of all that
its selectors choose, each once, in the order of their names.

Models kubernetes pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import Watches

ROLES = "clusterroles.rbac.authorization.k8s.io"
MANAGER = "clusterrole-aggregation-controller"
_AGGREGATED = "aggregated"


class ClusterRoleAggregationController(Controller):
    """Reconciles cluster roles that have an aggregationRule, by name."""

    resource = ROLES
    source = (
        "pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go syncClusterRole"
    )
    watches = (
        Watches(
            ROLES,
            index=(_AGGREGATED, lambda role: ("",) if role.get("aggregationRule") else ()),
            keys=lambda self, role: self._affected(role),
            update_keys=lambda self, old, role: self._affected(old, role),
        ),
    )

    async def reconcile(self, key: str) -> Result | None:
        role = self.caches[ROLES].get(key)
        if role is None:
            return Result("is gone")
        if not role.get("aggregationRule"):
            return Result("gathers nothing")
        rules = self._gathered(role)
        if rules == (role.get("rules") or []):
            return Result("has the rules of all it gathers")
        body = {
            "apiVersion": role["apiVersion"],
            "kind": role["kind"],
            "metadata": {"name": key},
            **({"rules": rules} if rules else {}),
        }
        await self.client.apply(ROLES, "", key, body, manager=MANAGER)
        return Result(f"gathers {len(rules)} rules")

    def _gathered(self, role: Object) -> list[Object]:
        rules: list[Object] = []
        for selector in _selectors(role):
            for candidate in sorted(self.caches[ROLES].list(), key=meta.name_of):
                if candidate is not role and selector.matches(candidate["metadata"].get("labels")):
                    rules += [rule for rule in candidate.get("rules") or () if rule not in rules]
        return rules

    def _affected(self, *states: Object) -> Iterator[str]:
        """The role itself, and the roles that select it as it is or as it was."""
        role = states[-1]
        if role.get("aggregationRule"):
            yield meta.name_of(role)
        label_sets = [state["metadata"].get("labels") for state in states]
        if not any(label_sets):
            return
        for name, aggregated in self.caches[ROLES].by(_AGGREGATED, "").items():
            selectors = _selectors(aggregated)
            if any(selector.matches(labels) for selector in selectors for labels in label_sets):
                yield name


def _selectors(role: Object) -> list[labels.Selector]:
    listed = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    return [labels.from_label_selector(rule) for rule in listed]
