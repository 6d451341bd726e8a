"""The base strategy of the kinds that create pods from a template: its defaults, and the status.

A subclass names its status fields and adds the rules of its own spec.

Models kubernetes pkg/registry/apps/*/strategy.go and pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core.pod import defaults, disabled, validation
from apiserver_app.registry.core.pod import warnings as podwarnings
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, gosyntax, selectors

# the Go type of each kind's spec
_SPECS = {
    "Deployment": "apps.v1.DeploymentSpec",
    "ReplicaSet": "apps.v1.ReplicaSetSpec",
    "ReplicationController": "core.v1.ReplicationControllerSpec",
    "StatefulSet": "apps.v1.StatefulSetSpec",
    "DaemonSet": "apps.v1.DaemonSetSpec",
    "Job": "batch.v1.JobSpec",
}
NOT_MORE_THAN_REPLICAS = "cannot be greater than status.replicas"
NOT_MORE_THAN_READY = "cannot be greater than readyReplicas"


class WorkloadStrategy(Strategy):
    counts_generation = True
    # numbers of the status that are never left out, and those that must not be negative
    status_zero: ClassVar[Mapping[str, Any]] = {}
    status_numbers: ClassVar[tuple[str, ...]] = ()
    # (field, field that it must not exceed, upstream's sentence)
    status_limits: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    def default(self, obj: Object) -> None:
        spec = obj.get("spec")
        if spec is None:
            spec = obj["spec"] = {}
        size = len(spec)
        self.default_spec(obj, spec)
        defaults.template(spec)
        if len(spec) != size:
            gofields.arrange(spec, _SPECS[self.info.kind])
        if obj.get("status") is None:
            obj["status"] = dict(self.status_zero)

    def default_spec(self, obj: Object, spec: dict[str, Any]) -> None:
        """Sets the kind's own defaults, in addition to the template's."""

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = dict(self.status_zero)
        disabled.in_template(obj["spec"], None, ctx.version)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        obj["status"] = old.get("status") or dict(self.status_zero)
        if obj["spec"] is not old["spec"]:
            disabled.in_template(obj["spec"], old["spec"], ctx.version)
        generation = old["metadata"].get("generation") or 0
        if self.spec_changed(obj, old):
            generation += 1
        obj["metadata"]["generation"] = generation

    def spec_changed(self, obj: Object, old: Object) -> bool:
        """Whether the update increments the generation."""
        return obj["spec"] is not old["spec"] and bool(obj["spec"] != old["spec"])

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        status = obj.get("status")
        obj["status"] = {**self.status_zero, **status} if status else dict(self.status_zero)

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        status = obj["status"]
        checks.not_negatives(status, "status", self.status_numbers, errs)
        for field, limit, text in self.status_limits:
            value = status.get(field) or 0
            if value > (status.get(limit) or 0):
                errs.append(errors.invalid_value(f"status.{field}", value, text))
        before = (old.get("status") or {}).get("collisionCount")
        if before is not None and (status.get("collisionCount") or 0) < before:
            value = status.get("collisionCount") or 0
            text = "cannot be decremented"
            errs.append(errors.invalid_value("status.collisionCount", value, text))
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        template = obj["spec"].get("template") or {}
        if old is None or is_new_generation(obj, old):
            metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
            podwarnings.add(spec, metadata, "spec.template.spec", ctx.version, warnings)
        return warnings


class ReplicaStrategy(WorkloadStrategy):
    """The base strategy of ReplicaSets and ReplicationControllers."""

    status_zero: ClassVar[Mapping[str, Any]] = {"replicas": 0}
    status_numbers = (
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    )
    status_limits = (
        ("fullyLabeledReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("readyReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("availableReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("availableReplicas", "readyReplicas", NOT_MORE_THAN_READY),
    )

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        return [*name_warnings(obj, old), *super().warnings(ctx, obj, old)]


def is_new_generation(obj: Object, old: Object) -> bool:
    return bool(obj["metadata"].get("generation") != old["metadata"].get("generation"))


def name_warnings(obj: Object, old: Object | None) -> list[str]:
    """Warns at creation of a name that pods cannot use as a host name."""
    name = obj["metadata"].get("name") or ""
    messages = names.dns1123_label_errors(name) if name and old is None else []
    if not messages:
        return []
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in "
        f"surprising behavior; a DNS label is recommended: [{' '.join(messages)}]"
    ]


def selector(spec: Mapping[str, Any], path: str, word: str, errs: list[FieldError]) -> None:
    """Validates a required selector that must not be empty. `word` is upstream's name."""
    value = spec.get("selector")
    if value is None:
        errs.append(errors.required(f"{path}.selector"))
        return
    selectors.validate(value, f"{path}.selector", errs)
    if selectors.is_empty(value):
        text = f"empty selector is invalid for {word}"
        errs.append(errors.invalid_value("spec.selector", gosyntax.label_selector(value), text))


def template(
    spec: Mapping[str, Any], word: str, release: Release, errs: list[FieldError], refused: str = ""
) -> None:
    """Validates the template: the selector matches it and its pods always restart. `word` is the
    kind's name, `refused` the error for an invalid selector."""
    value, at = spec.get("selector"), "spec.template"
    if not selectors.is_valid(value):
        errs.append(errors.invalid_value("spec.selector", gosyntax.label_selector(value), refused))
        return
    inside = spec.get("template") or {}
    template_labels(value, inside, at, errs)
    validation.validate_template(inside, at, release, errs)
    always(inside, at, word, errs)


def template_labels(
    value: Mapping[str, Any] | None, inside: Mapping[str, Any], path: str, errs: list[FieldError]
) -> None:
    labels = (inside.get("metadata") or {}).get("labels")
    if not selectors.matches(value, labels):
        text = "`selector` does not match template `labels`"
        printed = gosyntax.string_map(labels)
        errs.append(errors.invalid_value(f"{path}.metadata.labels", printed, text))


def always(inside: Mapping[str, Any], path: str, word: str, errs: list[FieldError]) -> None:
    """Refuses templates whose pods end by themselves."""
    spec = inside.get("spec") or {}
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        at = f"{path}.spec.restartPolicy"
        errs.append(errors.not_supported(at, policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {word} is not Supported"
        errs.append(errors.forbidden_value(f"{path}.spec.activeDeadlineSeconds", text))


def immutable_selector(obj: Object, old: Object, errs: list[FieldError]) -> None:
    after, before = obj["spec"].get("selector"), old["spec"].get("selector")
    if after != before:
        printed = gosyntax.label_selector(after)
        errs.append(errors.invalid_value("spec.selector", printed, "field is immutable"))
