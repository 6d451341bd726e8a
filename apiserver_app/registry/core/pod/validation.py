"""Validation of a pod's spec, in pods and in templates.

The checks are in upstream's order, since a client sees all errors in one message. An absent field
costs one lookup.

Models kubernetes pkg/apis/core/validation/validation.go (ValidatePodSpec,
ValidatePodTemplateSpec).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core import resources
from apiserver_app.registry.core.pod import containers as podcontainers
from apiserver_app.registry.core.pod import (
    podlevel,
    scheduling,
    securitycontext,
    variables,
    windows,
)
from apiserver_app.registry.core.pod import volumes as podvolumes
from apiserver_app.registry.validation import checks, legacyaddresses, objectmeta

Spec = Mapping[str, Any]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_HOSTNAME_MAX = 64
_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
# when all of these fields are absent, the rare checks are skipped
_RARE = frozenset(
    """
    nodeSelector imagePullSecrets affinity dnsConfig readinessGates schedulingGates
    topologySpreadConstraints os hostUsers activeDeadlineSeconds hostname subdomain hostAliases
    priorityClassName runtimeClassName overhead resourceClaims ephemeralContainers hostNetwork
    resources
    """.split()
)


def validate(
    spec: Spec, pod_name: str, path: str, is_pod: bool, release: Release, errs: list[FieldError]
) -> None:
    """Validates the spec of a pod (`is_pod`, with `pod_name`) or of a template."""
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        errs.append(errors.required(f"{path}.terminationGracePeriodSeconds"))
    rare = not _RARE.isdisjoint(spec)
    _containers(spec, pod_name, path, is_pod, release, errs)
    if rare:
        _whole(spec, path, is_pod, release, errs)
    policy = spec.get("restartPolicy")
    if policy not in RESTART_POLICIES:
        checks.one_of(policy, f"{path}.restartPolicy", RESTART_POLICIES, errs)
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        checks.one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS_POLICIES, errs)
    if rare:
        _before_account(spec, path, release, errs)
    else:
        if spec.get("securityContext"):
            securitycontext.pod(spec, path, errs)
        if spec.get("dnsPolicy") == "None":
            _dns(spec, path, release, errs)
    windows.host_process(spec, path, errs)
    securitycontext.host_users(spec, path, release, errs)
    if spec.get("hostnameOverride") is not None:
        _hostname(spec, path, errs)
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            checks.named(spec[field], f"{path}.{field}", names.dns1123_subdomain_errors, errs)
    if rare:
        _after_node(spec, path, errs)
    if spec.get("tolerations"):
        scheduling.tolerations(spec["tolerations"], f"{path}.tolerations", release, errs)
    if rare:
        _after_tolerations(spec, path, release, errs)
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption != "PreemptLowerPriority":
        allowed = ("PreemptLowerPriority", "Never")
        checks.one_of(preemption, f"{path}.preemptionPolicy", allowed, errs)
    if rare:
        if spec.get("overhead"):
            limits = {"limits": spec["overhead"]}
            resources.validate(limits, f"{path}.overhead", set(), errs)
        securitycontext.operating_system(spec, path, errs)
    if release.has("EnvFiles"):
        variables.file_volumes(spec, path, errs)


def validate_template(
    template: Spec | None, path: str, release: Release, errs: list[FieldError]
) -> None:
    if template is None:
        errs.append(errors.required(path))
        return
    template_metadata(template, path, errs)
    spec = template.get("spec") or {}
    validate(spec, "", f"{path}.spec", False, release, errs)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errs.append(errors.forbidden_value(f"{path}.spec.ephemeralContainers", text))


def template_metadata(template: Spec, path: str, errs: list[FieldError]) -> None:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    if metadata.get("labels"):
        objectmeta.label_errors(metadata["labels"], f"{path}.labels", errs)
    annotations = metadata.get("annotations")
    if annotations:
        objectmeta.annotation_errors(annotations, f"{path}.annotations", errs)
        pod_annotations(annotations, spec, f"{path}.annotations", errs)


def pod_annotations(
    annotations: Mapping[str, str], spec: Spec, path: str, errs: list[FieldError]
) -> None:
    """Validates the annotations that have a meaning for pods."""
    if _MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errs.append(errors.invalid_value(f"{path}[{_MIRROR}]", annotations[_MIRROR], text))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        text = "must be a 32bit integer"
        errs.append(errors.invalid_value(f"{path}[{_DELETION_COST}]", cost, text))


# -- inside -------------------------------------------------------------------------------------


def _containers(
    spec: Spec, pod_name: str, path: str, is_pod: bool, release: Release, errs: list[FieldError]
) -> None:
    volumes = spec.get("volumes")
    good = (
        podvolumes.validate(volumes, pod_name, f"{path}.volumes", is_pod, errs) if volumes else {}
    )
    claims: set[str] = set()
    if spec.get("resourceClaims"):
        claims = _resource_claims(spec["resourceClaims"], f"{path}.resourceClaims", errs)
    within = podcontainers.PodContext(
        good,
        claims,
        spec.get("terminationGracePeriodSeconds"),
        spec.get("restartPolicy") or "",
        spec.get("hostUsers") is not False,
        release,
        errs,
    )
    regulars = spec.get("containers") or ()
    podcontainers.regular(regulars, f"{path}.containers", within)
    inits = spec.get("initContainers") or ()
    if inits:
        podcontainers.init(inits, regulars, f"{path}.initContainers", within)
    others = spec.get("ephemeralContainers")
    if others:
        at = f"{path}.ephemeralContainers"
        podcontainers.ephemeral(others, [*regulars, *inits], at, within)


def _whole(spec: Spec, path: str, is_pod: bool, release: Release, errs: list[FieldError]) -> None:
    """What follows the containers: resources of the whole pod, and the node's network."""
    if spec.get("resources") is not None and release.has("PodLevelResources"):
        podlevel.validate(spec, f"{path}.resources", errs)
    if spec.get("hostNetwork"):
        _host_network(spec.get("containers") or (), f"{path}.containers", is_pod, errs)


def _hostname(spec: Spec, path: str, errs: list[FieldError]) -> None:
    at, name = f"{path}.hostnameOverride", spec["hostnameOverride"]
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            text = f"may not be specified when {field} is true"
            errs.append(errors.forbidden_value(at, text))
    if len(name.encode()) > _HOSTNAME_MAX:
        errs.append(errors.too_long(at, "", _HOSTNAME_MAX))
    checks.named(name, at, names.dns1123_subdomain_errors, errs)


def _before_account(spec: Spec, path: str, release: Release, errs: list[FieldError]) -> None:
    if spec.get("nodeSelector"):
        objectmeta.label_errors(spec["nodeSelector"], f"{path}.nodeSelector", errs)
    securitycontext.pod(spec, path, errs)
    if spec.get("affinity"):
        scheduling.affinity(spec["affinity"], f"{path}.affinity", release, errs)
    _dns(spec, path, release, errs)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        at = f"{path}.readinessGates[{index}].conditionType"
        checks.named(gate.get("conditionType") or "", at, names.qualified_name_errors, errs)
    if spec.get("schedulingGates"):
        scheduling.gates(spec["schedulingGates"], f"{path}.schedulingGates", errs)
    if spec.get("topologySpreadConstraints"):
        at = f"{path}.topologySpreadConstraints"
        scheduling.spread_constraints(spec["topologySpreadConstraints"], at, errs)


def _after_node(spec: Spec, path: str, errs: list[FieldError]) -> None:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= checks.MAX_INT32:
        text = f"must be between 1 and {checks.MAX_INT32}, inclusive"
        errs.append(errors.invalid_value(f"{path}.activeDeadlineSeconds", deadline, text))
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            checks.named(spec[field], f"{path}.{field}", names.dns1123_label_errors, errs)


def _after_tolerations(spec: Spec, path: str, release: Release, errs: list[FieldError]) -> None:
    rule = legacyaddresses.rule(release)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        at = f"{path}.hostAliases[{index}]"
        rule.ip(alias.get("ip") or "", f"{at}.ip", errs)
        for position, name in enumerate(alias.get("hostnames") or ()):
            checks.named(name, f"{at}.hostnames[{position}]", names.dns1123_subdomain_errors, errs)
    if spec.get("priorityClassName"):
        value = spec["priorityClassName"]
        checks.named(value, f"{path}.priorityClassName", names.dns1123_subdomain_errors, errs)
    if spec.get("runtimeClassName") is not None:
        value = spec["runtimeClassName"]
        checks.named(value, f"{path}.runtimeClassName", names.dns1123_subdomain_errors, errs)


def _dns(spec: Spec, path: str, release: Release, errs: list[FieldError]) -> None:
    config, at = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            text = "must provide `dnsConfig` when `dnsPolicy` is None"
            errs.append(errors.required(at, text))
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errs.append(errors.required(f"{at}.nameservers", text))
            return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > 3:
        text = "must not have more than 3 nameservers"
        errs.append(errors.invalid_value(f"{at}.nameservers", servers, text))
    legacy = legacyaddresses.rule(release)
    for index, server in enumerate(servers):
        legacy.ip(server, f"{at}.nameservers[{index}]", errs)
    if len(searches) > 32:
        text = "must not have more than 32 search paths"
        errs.append(errors.invalid_value(f"{at}.searches", searches, text))
    if len(" ".join(searches)) > 2048:
        text = "must not have more than 2048 characters (including spaces) in the search list"
        errs.append(errors.invalid_value(f"{at}.searches", searches, text))
    relaxed = release.has("RelaxedDNSSearchValidation")
    rule = names.search_domain_errors if relaxed else names.dns1123_subdomain_errors
    for index, search in enumerate(searches):
        if search != "." or not relaxed:
            checks.named(search.removesuffix("."), f"{at}.searches[{index}]", rule, errs)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errs.append(errors.required(f"{at}.options[{index}]", "must not be empty"))


def _host_network(
    containers: Sequence[Spec], path: str, is_pod: bool, errs: list[FieldError]
) -> None:
    for position, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (is_pod or host) and host != port.get("containerPort"):
                text = "must match `containerPort` when `hostNetwork` is true"
                at = f"{path}[{position}].ports[{index}].hostPort"
                errs.append(errors.invalid_value(at, host, text))


def _resource_claims(claims: Sequence[Spec], path: str, errs: list[FieldError]) -> set[str]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name") or ""
        if name in seen:
            errs.append(errors.duplicate(f"{at}.name", name))
        else:
            checks.label_name(name, f"{at}.name", errs)
        seen.add(name)
    return seen - {""}


def _is_int32(text: str) -> bool:
    digits = text.removeprefix("-")
    if not names.is_number(digits) or (len(digits) > 1 and digits[0] == "0"):
        return False
    return text != "-0" and -(2**31) <= int(text) <= checks.MAX_INT32
