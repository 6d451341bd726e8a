"""Defaults and checks of one PodSecurityPolicy.

Models kubernetes pkg/security/podsecuritypolicy/{provider.go,user,group,capabilities,selinux}
(1.19).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.apis.podresources import every_container
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError, GoText
from apiserver_app.machinery.meta import Object

MUST, NON_ROOT, MAY = "MustRunAs", "MustRunAsNonRoot", "MayRunAs"
_HOSTS = (("hostNetwork", "network"), ("hostPID", "PID"), ("hostIPC", "IPC"))


def fill(policy: Object, pod: Object) -> None:
    """Sets what the policy defaults and the pod leaves unset. Changes the pod."""
    spec = pod["spec"]
    context = dict(spec.get("securityContext") or {})
    group = policy.get("fsGroup") or {}
    if group.get("rule") == MUST and context.get("fsGroup") is None and group.get("ranges"):
        context["fsGroup"] = group["ranges"][0]["min"]
    groups = policy.get("supplementalGroups") or {}
    if groups.get("rule") == MUST and not context.get("supplementalGroups"):
        if groups.get("ranges"):
            context["supplementalGroups"] = [groups["ranges"][0]["min"]]
    linux = policy.get("seLinux") or {}
    if linux.get("rule") == MUST and context.get("seLinuxOptions") is None:
        if linux.get("seLinuxOptions"):
            context["seLinuxOptions"] = linux["seLinuxOptions"]
    if context:
        spec["securityContext"] = context
    for _, container in every_container(spec, ephemeral=False):
        _fill_container(policy, context, container)


def _fill_container(policy: Object, pod_context: Object, container: Object) -> None:
    own = dict(container.get("securityContext") or {})
    user = policy.get("runAsUser") or {}
    as_user = own.get("runAsUser", pod_context.get("runAsUser"))
    if user.get("rule") == MUST and as_user is None and user.get("ranges"):
        own["runAsUser"] = user["ranges"][0]["min"]
    non_root = own.get("runAsNonRoot", pod_context.get("runAsNonRoot"))
    if user.get("rule") == NON_ROOT and as_user is None and non_root is None:
        own["runAsNonRoot"] = True
    if policy.get("readOnlyRootFilesystem") and "readOnlyRootFilesystem" not in own:
        own["readOnlyRootFilesystem"] = True
    if "allowPrivilegeEscalation" not in own:
        default = policy.get("defaultAllowPrivilegeEscalation")
        if default is None and policy.get("allowPrivilegeEscalation") is False:
            default = False
        if default is not None:
            own["allowPrivilegeEscalation"] = default
    added = policy.get("defaultAddCapabilities") or ()
    dropped = policy.get("requiredDropCapabilities") or ()
    if added or dropped:
        have = dict(own.get("capabilities") or {})
        for field, names in (("add", added), ("drop", dropped)):
            capabilities = list(have.get(field) or ())
            capabilities += sorted(name for name in names if name not in capabilities)
            if capabilities:
                have[field] = capabilities
        own["capabilities"] = have
    if own:
        container["securityContext"] = own


def check(policy: Object, pod: Object) -> list[FieldError]:
    """Returns every violation of the policy by the pod."""
    spec = pod["spec"]
    context = spec.get("securityContext") or {}
    problems: list[FieldError] = []
    for field, rule in (("fsGroup", "fsGroup"), ("supplementalGroups", "supplementalGroups")):
        value = context.get(field)
        groups = [value] if isinstance(value, int) else list(value or ())
        problems += _groups(policy.get(rule) or {}, f"spec.securityContext.{field}", groups)
    for field, label in _HOSTS:
        if spec.get(field) and not policy.get(field):
            path, reason = (
                f"spec.securityContext.{field}",
                f"Host {label} is not allowed to be used",
            )
            problems.append(errors.invalid_value(path, True, reason))
    problems += _volumes(policy, spec.get("volumes") or ())
    for location, container in every_container(spec, ephemeral=False):
        field, index = location.split("/")
        problems += _container(policy, context, f"spec.{field}[{index}]", container)
    return problems


def _volumes(policy: Object, volumes: Sequence[Object]) -> list[FieldError]:
    allowed = policy.get("volumes") or ()
    prefixes = policy.get("allowedHostPaths") or ()
    problems: list[FieldError] = []
    for index, volume in enumerate(volumes):
        kind = next((key for key in volume if key != "name"), "emptyDir")
        if "*" not in allowed and kind not in allowed:
            reason = f"{kind} volumes are not allowed to be used"
            problems.append(errors.invalid_value(f"spec.volumes[{index}]", kind, reason))
            continue
        path = (volume.get("hostPath") or {}).get("path", "")
        if (
            kind == "hostPath"
            and prefixes
            and not any(_is_below(path, prefix.get("pathPrefix", "")) for prefix in prefixes)
        ):
            location = f"spec.volumes[{index}].hostPath.pathPrefix"
            problems.append(errors.invalid_value(location, path, "is not allowed to be used"))
    return problems


def _is_below(path: str, prefix: str) -> bool:
    prefix = prefix.rstrip("/")
    return path.rstrip("/") == prefix or path.startswith(f"{prefix}/")


def _container(
    policy: Object, pod_context: Object, path: str, container: Object
) -> list[FieldError]:
    own = container.get("securityContext") or {}
    context_path = f"{path}.securityContext"
    problems = _user(policy.get("runAsUser") or {}, context_path, pod_context, own)
    if own.get("privileged") and not policy.get("privileged"):
        reason = "Privileged containers are not allowed"
        problems.append(errors.invalid_value(f"{context_path}.privileged", True, reason))
    problems += _capabilities(policy, context_path, own.get("capabilities") or {})
    for port in container.get("ports") or ():
        number = port.get("hostPort") or 0
        ranges = policy.get("hostPorts") or ()
        if number and not any(
            port_range["min"] <= number <= port_range["max"] for port_range in ranges
        ):
            allowed = ",".join(
                f"{port_range['min']}-{port_range['max']}"
                if port_range["min"] != port_range["max"]
                else str(port_range["min"])
                for port_range in ranges
            )
            reason = f"Host port {number} is not allowed to be used. Allowed ports: [{allowed}]"
            problems.append(errors.invalid_value(f"{path}.hostPort", number, reason))
    if policy.get("readOnlyRootFilesystem") and not own.get("readOnlyRootFilesystem"):
        value = own.get("readOnlyRootFilesystem")
        reason = "ReadOnlyRootFilesystem must be set to true"
        if value is None:
            reason = "ReadOnlyRootFilesystem may not be nil and must be set to true"
        problems.append(
            errors.invalid_value(f"{context_path}.readOnlyRootFilesystem", value, reason)
        )
    if policy.get("allowPrivilegeEscalation") is False:
        if own.get("allowPrivilegeEscalation") is not False:
            reason = "Allowing privilege escalation for containers is not allowed"
            value = own.get("allowPrivilegeEscalation")
            problems.append(
                errors.invalid_value(f"{context_path}.allowPrivilegeEscalation", value, reason)
            )
    return problems


def _capabilities(policy: Object, context_path: str, have: Object) -> list[FieldError]:
    known = {
        *(policy.get("allowedCapabilities") or ()),
        *(policy.get("defaultAddCapabilities") or ()),
    }
    problems: list[FieldError] = []
    for name in have.get("add") or ():
        if "*" not in known and name not in known:
            path = f"{context_path}.capabilities.add"
            problems.append(errors.invalid_value(path, name, "capability may not be added"))
    for name in policy.get("requiredDropCapabilities") or ():
        if name not in (have.get("drop") or ()):
            reason = f"{name} is required to be dropped but was not found"
            dropped = list(have.get("drop") or ())
            problems.append(
                errors.invalid_value(f"{context_path}.capabilities.drop", dropped, reason)
            )
    return problems


def _user(rule: Object, context_path: str, pod_context: Object, own: Object) -> list[FieldError]:
    user = own.get("runAsUser", pod_context.get("runAsUser"))
    if rule.get("rule") == MUST:
        if user is None:
            return [errors.required(f"{context_path}.runAsUser")]
        return _in_ranges(rule, f"{context_path}.runAsUser", user, "must be in the ranges")
    if rule.get("rule") == NON_ROOT:
        non_root = own.get("runAsNonRoot", pod_context.get("runAsNonRoot"))
        if non_root is None and user is None:
            return [errors.required(f"{context_path}.runAsNonRoot", "must be true")]
        if non_root is False:
            return [errors.invalid_value(f"{context_path}.runAsNonRoot", False, "must be true")]
        if user == 0:
            reason = "running with the root UID is forbidden"
            return [errors.invalid_value(f"{context_path}.runAsUser", 0, reason)]
    return []


def _groups(rule: Object, path: str, groups: Sequence[int]) -> list[FieldError]:
    if rule.get("rule") not in (MUST, MAY):
        return []
    if rule["rule"] == MUST and not groups:
        reason = "unable to validate empty groups against required ranges"
        return [errors.invalid_value(path, GoText("[]int64(nil)"), reason)]
    printed: Any = GoText(f"[]int64{{{', '.join(map(str, groups))}}}")
    return [
        problem
        for group in groups
        for problem in _in_ranges(
            rule, path, group, f"group {group} must be in the ranges", printed
        )
    ]


def _in_ranges(
    rule: Object, path: str, value: int, reason: str, printed: Any = None
) -> list[FieldError]:
    ranges = rule.get("ranges") or ()
    if any(allowed["min"] <= value <= allowed["max"] for allowed in ranges):
        return []
    listed = " ".join(f"{{{allowed['min']} {allowed['max']}}}" for allowed in ranges)
    return [
        errors.invalid_value(path, value if printed is None else printed, f"{reason}: [{listed}]")
    ]
