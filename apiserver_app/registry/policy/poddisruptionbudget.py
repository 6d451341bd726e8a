"""PodDisruptionBudgets: at least so many, or at most so many missing, but not both.

Models kubernetes pkg/apis/policy/validation/validation.go and
pkg/registry/policy/poddisruptionbudget/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, conditions, gosyntax, selectors

_ZERO = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


class PodDisruptionBudgetStrategy(Strategy):
    unconditional_update = False
    validates_metadata = False
    counts_generation = True

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        if obj.get("status") is None:
            obj["status"] = dict(_ZERO)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = dict(_ZERO)

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        obj["status"] = {**_ZERO, **(obj.get("status") or {})}
        gofields.arrange(obj["status"], "policy.v1.PodDisruptionBudgetStatus")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if least is not None and most is not None:
            fields = (
                ("MinAvailable", "intstr.IntOrString", least),
                ("Selector", "v1.LabelSelector", spec.get("selector")),
                ("MaxUnavailable", "intstr.IntOrString", most),
                (
                    "UnhealthyPodEvictionPolicy",
                    "policy.UnhealthyPodEvictionPolicyType",
                    spec.get("unhealthyPodEvictionPolicy"),
                ),
            )
            printed = gosyntax.pointers("policy.PodDisruptionBudgetSpec", fields)
            text = "minAvailable and maxUnavailable cannot be both set"
            errs.append(errors.invalid_value("spec", printed, text))
        for field, value in (("minAvailable", least), ("maxUnavailable", most)):
            if value is not None:
                checks.int_or_percent(value, f"spec.{field}", errs)
                checks.not_above_100_percent(value, f"spec.{field}", errs)
        selectors.validate(spec.get("selector"), "spec.selector", errs)
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _POLICIES:
            path = "spec.unhealthyPodEvictionPolicy"
            errs.append(errors.not_supported(path, policy, _POLICIES))
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        conditions.validate(obj["status"].get("conditions") or (), "status.conditions", errs)
        checks.not_negatives(obj["status"], "status", tuple(_ZERO), errs)
        return errs
