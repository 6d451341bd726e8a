"""A scheduler's policy: which predicates and priorities it asks, up to 1.22.

The names of predicates and priorities are older than plugins; each stands for one or more of
these. What is named twice runs once. Two predicates run whatever the policy says.

Models kubernetes 1.22 pkg/scheduler/factory.go (createFromPolicy), pkg/scheduler/scheduler.go
(initPolicyFromConfigMap), pkg/scheduler/framework/plugins/legacy_registry.go and
pkg/scheduler/apis/config/validation/validation.go (ValidatePolicy).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import yaml

from apiserver_app.machinery import errors
from controllers_app.scheduler.framework import Plugin

KEY = "policy.cfg"  # of the ConfigMap
MAX_WEIGHT = (2**63 - 1) // 100
# in the order in which they are asked; of limits of volumes there are none here
PREDICATES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "MaxEBSVolumeCount": (),
    "MaxGCEPDVolumeCount": (),
    "MaxCSIVolumeCountPred": (),
    "MaxAzureDiskVolumeCount": (),
    "MaxCinderVolumeCount": (),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
})  # fmt: skip
MANDATORY = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
DEFAULT_PREDICATES = (
    "NoVolumeZoneConflict", "MatchInterPodAffinity", "NoDiskConflict", "GeneralPredicates",
    "CheckVolumeBinding", "EvenPodsSpread", *MANDATORY,
)  # fmt: skip
# no pod is to be avoided by the annotation of a node here, so nobody scores that
PRIORITIES: Mapping[str, str] = MappingProxyType({
    "SelectorSpreadPriority": "PodTopologySpread",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesFit",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodePreferAvoidPodsPriority": "",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
    "EvenPodsSpreadPriority": "PodTopologySpread",
})  # fmt: skip
DEFAULT_PRIORITIES = {name: 2 if name.startswith("Even") else 1 for name in PRIORITIES}
EQUAL = "EqualPriority"
_ALIASES = {
    "PodFitsPorts": "PodFitsHostPorts",
    "ServiceSpreadingPriority": "SelectorSpreadPriority",
}
# what upstream knows and this scheduler does not
_MISSING = (
    "CheckNodeLabelPresence", "CheckServiceAffinity", "MostRequestedPriority",
    "RequestedToCapacityRatio", "NodeLabel", "ServiceAffinity",
)  # fmt: skip
_FIELDS = ("alwaysCheckAllPredicates", "extenders", "hardPodAffinitySymmetricWeight")


class PolicyError(ValueError):
    """The policy cannot be used; the message is kube-scheduler's where it has one."""


class Policy(msgspec.Struct, frozen=True):
    """The plugins that filter, in their order, and those that score, with their weights."""

    filters: tuple[str, ...]
    scores: Mapping[str, int]

    def pick(self, plugins: Iterable[Plugin]) -> tuple[Plugin, ...]:
        """The plugins that run, set up as the policy wants them."""
        known = {plugin.name: plugin for plugin in plugins}
        for plugin in known.values():
            plugin.filters = plugin.name in self.filters
            plugin.scores = plugin.name in self.scores
            plugin.weight = self.scores.get(plugin.name, plugin.weight)
        order = dict.fromkeys((*self.filters, *self.scores))
        others = [plugin for plugin in known.values() if plugin.post_filters]
        return (*(known[name] for name in order), *others)


def parse(text: str) -> Policy:
    """Raises PolicyError."""
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyError(f"invalid policy: {error}") from error
    if not isinstance(given, dict):
        raise PolicyError("invalid policy: it is no object")
    if (given.get("apiVersion"), given.get("kind")) != ("v1", "Policy"):
        raise PolicyError('invalid policy: its kind must be Policy, its apiVersion "v1"')
    for name in _FIELDS:
        if given.get(name):
            raise PolicyError(f"{name} of a policy is not simulated")
    predicates, priorities = (_named(given, name) for name in ("predicates", "priorities"))
    _check_weights(priorities or ())
    return Policy(_filters(predicates), _scores(priorities))


def _named(given: Mapping[str, Any], field: str) -> list[dict[str, Any]] | None:
    """The items of a list; None when it is left out."""
    items = given.get(field)
    if items is None:
        return None
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in items
    ):
        raise PolicyError(f"invalid policy: {field} must be a list of objects with a name")
    return items


def _check_weights(priorities: Iterable[Mapping[str, Any]]) -> None:
    wrong = []
    for priority in priorities:
        weight = priority.get("weight", 0)
        if not isinstance(weight, int) or not 0 < weight < MAX_WEIGHT:
            wrong.append(
                f"priority {priority['name']} should have a positive weight applied to it or it "
                "has overflown"
            )
    if wrong:
        raise PolicyError(errors.aggregate(wrong))


def _filters(predicates: list[dict[str, Any]] | None) -> tuple[str, ...]:
    if predicates is None:
        wanted = set(DEFAULT_PREDICATES)
    else:
        wanted = {_known("predicate", item, PREDICATES) for item in predicates} | {*MANDATORY}
    ordered = (plugin for name, found in PREDICATES.items() if name in wanted for plugin in found)
    return tuple(dict.fromkeys(ordered))


def _scores(priorities: list[dict[str, Any]] | None) -> dict[str, int]:
    if priorities is None:
        weights = DEFAULT_PRIORITIES
    else:
        weights = {
            _known("priority", item, PRIORITIES): item["weight"]
            for item in priorities
            if item["name"] != EQUAL
        }
    out: dict[str, int] = {}
    for name in sorted(weights):
        if plugin := PRIORITIES[name]:
            out.setdefault(plugin, weights[name])  # a second one changes nothing, as upstream
    return out


def _known(what: str, item: Mapping[str, Any], names: Mapping[str, Any]) -> str:
    name = _ALIASES.get(item["name"], str(item["name"]))
    if item.get("argument") is not None or name in _MISSING:
        raise PolicyError(f"the {what} {name} of a policy is not simulated")
    if name not in names:
        raise PolicyError(f'{what} type not found for "{name}"')
    return name
